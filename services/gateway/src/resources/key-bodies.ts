/** The bodies of requests about keys. */

import { type KeyLimit, keyLimitBounds, withheldValue } from '@datahub/contract/key-limits';
import { queryNameLength, queryNamePattern, rotationOverlapSeconds } from '@datahub/contract/limits';
import { userLimitBounds } from '@datahub/contract/user-limit';
import { id, label, object, orNull, readOnly } from '../http/json-schema.ts';
import { originPattern } from '../http/validation.ts';

const { entries, pinned, ratePerMinute, maxRows } = keyLimitBounds;
const ids = { type: 'array', minItems: entries.min, maxItems: entries.max, items: id } as const;

const name = {
  type: 'string',
  minLength: queryNameLength.min,
  maxLength: queryNameLength.max,
  pattern: queryNamePattern,
} as const;
const names = {
  type: 'array',
  minItems: entries.min,
  maxItems: entries.max,
  items: name,
  description: 'Queries as `hub path/path`, or ids of queries.',
} as const;

const { issuerLength, audienceLength, jwksUrlLength, claims, claimPathLength } = userLimitBounds;
const lengths = ({ min, max }: { min: number; max: number }) => ({ minLength: min, maxLength: max });
const user = object(
  {
    issuer: { type: 'string', ...lengths(issuerLength) },
    audience: { type: 'string', ...lengths(audienceLength) },
    jwks: {
      oneOf: [{ type: 'string', ...lengths(jwksUrlLength) }, { type: 'object' }],
      description: 'The address of the issuer’s keys, or the keys themselves.',
    },
    claims: {
      type: 'object',
      minProperties: claims.min,
      maxProperties: claims.max,
      additionalProperties: { type: 'string', ...lengths(claimPathLength) },
      description: 'The claim that each variable is pinned to.',
    },
    ratePerMinute: { type: 'integer', minimum: ratePerMinute.min, maximum: ratePerMinute.max },
    public: { ...ids, items: { ...id, maxLength: queryNameLength.max } },
  },
  ['issuer', 'audience', 'claims'],
);

const limitSchemas = {
  hubIds: ids,
  queryIds: ids,
  queries: names,
  classifierIds: ids,
  origins: {
    type: 'array',
    minItems: entries.min,
    maxItems: entries.max,
    items: { type: 'string', pattern: originPattern },
  },
  context: {
    type: 'object',
    maxProperties: pinned.max,
    description: `Pinned values of variables. ${withheldValue} keeps a value that is not shown.`,
  },
  ratePerMinute: { type: 'integer', minimum: ratePerMinute.min, maximum: ratePerMinute.max },
  maxRows: { type: 'integer', minimum: maxRows.min, maximum: maxRows.max },
  strict: { type: 'boolean' },
  user,
} as const satisfies Record<KeyLimit, object>;

const ends = { type: ['string', 'null'], maxLength: 40 } as const;

export const createKeyBody = object(
  {
    name: label,
    scopes: { type: 'array', minItems: 1, maxItems: 50, items: { type: 'string', maxLength: 64 } },
    limits: object(limitSchemas),
    expiresAt: ends,
    ...readOnly('keyId', 'lastCharacters', 'createdAt', 'lastUsedAt', 'madeBy', 'personId'),
  },
  ['name'],
);

/** Null removes a limit. */
const limitPatches = Object.fromEntries(
  Object.entries(limitSchemas).map(([limit, schema]) => [limit, orNull(schema)]),
) as { [L in keyof typeof limitSchemas]: ReturnType<typeof orNull<(typeof limitSchemas)[L]>> };

export const updateKeyBody = object({
  name: label,
  limits: object(limitPatches),
  expiresAt: ends,
  personId: {
    type: ['string', 'null'],
    description:
      'Null hands the key to the hub: it no longer ends with its person. Anything else is ignored.',
  },
  ...readOnly('keyId', 'lastCharacters', 'createdAt', 'lastUsedAt', 'madeBy'),
});

export const rotateKeyBody = object({
  overlapSeconds: {
    type: 'integer',
    minimum: rotationOverlapSeconds.min,
    maximum: rotationOverlapSeconds.max,
  },
});
