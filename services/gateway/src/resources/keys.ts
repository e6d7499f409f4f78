/** Keys of the caller's account. */

import type { Complete } from '@datahub/contract/complete';
import {
  fieldOf,
  fromFields,
  type KeyLimit,
  type KeyLimitKind,
  type KeyLimitValues,
  keyLimitNames,
  keyLimits,
  toFields,
  withheldValue,
} from '@datahub/contract/key-limits';
import { pageItemsMax } from '@datahub/contract/limits';
import type { UserLimit } from '@datahub/contract/user-limit';
import { withheldOf } from '@datahub/contract/withheld';
import type { Key } from '@datahub/proto/catalog/v1/catalog';
import type { KeyLimits, Principal } from '@datahub/proto/common/v1/principal';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { exactMember } from '../http/json-body.ts';
import {
  count,
  createdAtOf,
  day,
  type FromSchema,
  list,
  nothing,
  record,
  signedIn,
  text,
  time,
  timeOrNull,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage } from '../http/pagination.ts';
import { type Fault, validationError } from '../http/request-error.ts';
import { type Handler, paged, type Route, required } from '../http/route.ts';
import { type ItemRule, isOrigin, nearestOrigin, requireItems, toInstant } from '../http/validation.ts';
import { JsonText, writeJson } from '../response/json-splices.ts';
import { sendList } from '../response/list-response.ts';
import { createKeyBody, rotateKeyBody, updateKeyBody } from './key-bodies.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function keyRoutes(deps: ResourceDeps): Route[] {
  const handlers = createKeyHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/keys', scope: 'keys:admin', summary: 'Create a key', audit: 'by catalog', body: createKeyBody, secretResponse: true, settledBy: 'audit', response: createdKey, handler: handlers.create },
    { method: 'GET', path: '/v1/keys', scope: 'keys:read', summary: 'List keys', query: paged, response: keys, handler: handlers.list },
    { method: 'GET', path: '/v1/keys/current', scope: undefined, summary: 'Get the id, the scopes and the names of the limits of the key of the request', response: currentKey, handler: handlers.current },
    { method: 'PUT', path: '/v1/keys/:keyId', scope: 'keys:admin', summary: 'Change a key', audit: 'by catalog', body: updateKeyBody, response: wholeKey, handler: handlers.update },
    { method: 'POST', path: '/v1/keys/:keyId/rotate', scope: 'keys:admin', summary: 'Replace a key', audit: 'by catalog', body: rotateKeyBody, bodyOptional: true, secretResponse: true, settledBy: 'audit', response: rotatedKey, handler: handlers.rotate },
    { method: 'DELETE', path: '/v1/keys/:keyId', scope: 'keys:admin', summary: 'Revoke a key', audit: 'by catalog', response: nothing, handler: handlers.revoke },
    { method: 'GET', path: '/v1/keys/:keyId/usage', largeAnswer: true, scope: 'keys:read', summary: 'Count the executions and the signed-in users of a key by day', response: keyUsage, handler: handlers.usage },
  ];
}

const paging = { limitMax: pageItemsMax };

const limits = record(
  {
    hubIds: list(text),
    queryIds: list(text),
    queries: { ...list(text), description: 'Queries as `hub path/path`, or ids of queries.' },
    classifierIds: list(text),
    origins: list(text),
    context: {
      type: 'object',
      description: `Has ${withheldValue} in place of values that are not shown.`,
    },
    ratePerMinute: count,
    maxRows: count,
    strict: { const: true },
    user: record(
      {
        issuer: text,
        audience: text,
        jwks: {
          oneOf: [text, { type: 'object' }],
          description: 'The address of the issuer’s keys, or the keys themselves.',
        },
        claims: { type: 'object', additionalProperties: text },
        ratePerMinute: count,
        public: list(text),
      },
      ['jwks', 'ratePerMinute', 'public'],
    ),
  } as const satisfies Record<KeyLimit, object>,
  keyLimitNames,
);
const createdMembers = {
  keyId: text,
  name: text,
  scopes: list(text),
  limits,
  createdAt: time,
  expiresAt: timeOrNull,
} as const;
const secret = { type: 'string', description: 'Shown here and never again.' } as const;
export const createdKey = record({ ...createdMembers, key: secret });
const state = { enum: ['active', 'expired', 'paused', 'ended'] } as const;
const members = {
  ...createdMembers,
  lastCharacters: text,
  lastUsedAt: timeOrNull,
  state,
  withheld: {
    ...list(record({ scope: text, limit: text, detail: text })),
    description: 'What the limits take from the scopes. Absent if they take nothing.',
  },
  madeBy: {
    ...record({ keyId: text, name: text }),
    description:
      'The key or person that created it, with the name at that time. Absent for keys of operators and of older hubs, and for keys limited to hubs or queries, which see only that of keys they created.',
  },
  personId: { ...text, description: 'The person with whom the key ends. Absent for keys of the hub.' },
} as const;
const wholeKey = record(members, ['withheld', 'madeBy', 'personId']);
/** A key that may do more than the caller's has only an id, a name and a state. */
const listedKey = record(members, [
  'scopes',
  'limits',
  'createdAt',
  'expiresAt',
  'lastCharacters',
  'lastUsedAt',
  'withheld',
  'madeBy',
  'personId',
]);
export const keys = list(listedKey);
/** Leaves out the limits, because users of a public key must not see the values that it pins. */
export const currentKey = record({ keyId: text, scopes: list(text), limitedBy: list(text) });
export const rotatedKey = record({ ...members, key: secret, previousExpiresAt: time }, [
  'withheld',
  'madeBy',
  'personId',
]);

const usageFigures = { count, failed: count, users: signedIn } as const;
const keyUsage = record(
  {
    keyId: text,
    from: day,
    to: day,
    ...usageFigures,
    days: list(record({ day, ...usageFigures })),
    truncated: { const: true, description: 'Set if the counts are of the last hours of today only.' },
  },
  ['truncated'],
);

type CreateKeyBody = FromSchema<typeof createKeyBody>;
type KeyJson = FromSchema<typeof wholeKey>;

const keyIdOf = (request: FastifyRequest) => (request.params as { keyId: string }).keyId;

function createKeyHandlers({ upstreams: { catalog, ml }, settings }: ResourceDeps) {
  return {
    create: async (request) => {
      const { name, scopes = [], limits: wanted, expiresAt } = request.body as CreateKeyBody;
      await requireClassifiers(ml, wanted?.classifierIds, request.context);
      const { key, secret } = await catalog.createKey(
        { name, scopes, limits: toLimits(request), expiresAt: toInstant(expiresAt, '/expiresAt') },
        request.context,
      );
      const { keyId, limits, createdAt, expiresAt: ends, ...rest } = toKeyJson(required(key));
      request.createdId = keyId;
      return { keyId, key: secret, name: rest.name, scopes: rest.scopes, limits, createdAt, expiresAt: ends };
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { keys, total } = await catalog.listKeys({ page }, request.context);
      return sendList(reply, { items: keys, toJson: toListedJson, page, total }, settings);
    },

    current: async ({ context: { principal } }) => toCurrentJson(principal),

    update: async (request) => {
      const { name, limits = {}, expiresAt, personId } = request.body as FromSchema<typeof updateKeyBody>;
      await requireClassifiers(ml, limits.classifierIds, request.context);
      // The message cannot tell `strict: false` from an absent limit.
      const isRemoved = (limit: KeyLimit) => limits[limit] === null || limits[limit] === false;
      const removedLimits = keyLimitNames.filter(isRemoved);
      const { key } = await catalog.updateKey(
        {
          keyId: keyIdOf(request),
          name,
          limits: toLimits(request),
          removedLimits,
          expiresAt: toInstant(expiresAt, '/expiresAt'),
          neverExpires: expiresAt === null,
          handOver: personId === null,
        },
        request.context,
      );
      return toKeyJson(required(key));
    },

    rotate: async (request) => {
      const { overlapSeconds } = request.body as FromSchema<typeof rotateKeyBody>;
      const { key, secret, previousExpiresAt } = await catalog.rotateKey(
        { keyId: keyIdOf(request), overlapSeconds },
        request.context,
      );
      const rotated = toKeyJson(required(key));
      request.createdId = rotated.keyId;
      return { ...rotated, key: secret, previousExpiresAt: toTimestamp(previousExpiresAt) };
    },

    revoke: async (request) => {
      await catalog.revokeKey({ keyId: keyIdOf(request) }, request.context);
      return {};
    },

    usage: async (request) => {
      const keyId = keyIdOf(request);
      const { truncated, ...usage } = await catalog.getKeyUsage({ keyId }, request.context);
      return { keyId, ...usage, ...(truncated ? { truncated } : {}) };
    },
  } satisfies Record<string, Handler>;
}

const toCurrentJson = (principal: Principal | undefined): FromSchema<typeof currentKey> => ({
  keyId: principal?.keyId ?? '',
  // Those of the person's highest role, in whichever hubs.
  scopes: principal?.person?.grants.at(-1)?.scopes ?? principal?.scopes ?? [],
  // Without their values: the key of a page is in many hands.
  limitedBy: limitsIn(fromFields(principal?.limits)).map(([limit]) => limit),
});

/** Refuses unknown ids, as the catalog does for those of hubs and queries. */
async function requireClassifiers(
  ml: ResourceDeps['upstreams']['ml'],
  ids: readonly string[] | null | undefined,
  ctx: CallContext,
): Promise<void> {
  const faults: Fault[] = [];
  for (const [at, classifierId] of (ids ?? []).entries()) {
    try {
      await ml.getClassifier({ classifierId }, ctx);
    } catch (err) {
      if (!(err instanceof HubError) || err.code !== 'NOT_FOUND') throw err;
      const detail = 'names a classifier that does not exist';
      faults.push({ pointer: `/limits/classifierIds/${at}`, detail });
    }
  }
  if (faults.length > 0) throw validationError(faults);
}

const browserOrigin: ItemRule = {
  isValid: (origin) => isOrigin(String(origin)),
  faultsOf: (origin, pointer) => [
    { pointer, detail: `must be written as browsers send it: ${nearestOrigin(String(origin))}` },
  ],
};

function toLimits(request: FastifyRequest): KeyLimits {
  const { limits: sent = {} } = request.body as FromSchema<typeof updateKeyBody>;
  const isSet = ([, value]: [string, unknown]) => value !== null;
  const limits = Object.fromEntries(Object.entries(sent).filter(isSet)) as NonNullable<
    CreateKeyBody['limits']
  >;
  requireItems(limits.origins ?? [], '/limits/origins', browserOrigin);
  const { context, user, ...values } = limits;
  const contextJson =
    request.parsed === undefined || context === undefined
      ? undefined
      : exactMember(request.parsed, ['limits', 'context']);
  return toFields({
    ...values,
    ...(context === undefined ? {} : { contextJson }),
    ...(user === undefined ? {} : { user: toUserLimit(user as UserJson) }),
  });
}

interface UserJson extends Pick<UserLimit, 'issuer' | 'audience' | 'ratePerMinute'> {
  jwks?: string | object;
  claims: Record<string, string>;
  public?: string[];
}

function toUserLimit({ jwks, claims, public: open = [], ...rest }: UserJson): Complete<UserLimit> {
  const { issuer, audience, ratePerMinute } = rest;
  return {
    ...{ issuer, audience, ratePerMinute },
    jwksUrl: typeof jwks === 'string' ? jwks : undefined,
    jwksJson: typeof jwks === 'object' ? JSON.stringify(jwks) : undefined,
    claims: Object.entries(claims).map(([variable, path]) => ({ variable, path })),
    public: open,
  };
}

function toUserJson({ jwksUrl, jwksJson, claims, public: open, ...rest }: UserLimit): Complete<UserJson> {
  const jwks = jwksJson === undefined ? jwksUrl : JSON.parse(jwksJson);
  const { issuer, audience, ratePerMinute } = rest;
  return {
    ...{ issuer, audience, ratePerMinute },
    jwks,
    claims: Object.fromEntries(claims.map(({ variable, path }) => [variable, path])),
    public: open.length === 0 ? undefined : open,
  };
}

const toListedJson = (key: Key): FromSchema<typeof listedKey> =>
  key.isStronger
    ? { keyId: key.keyId, name: key.name, state: key.state as KeyJson['state'] }
    : toKeyJson(key);

function toKeyJson(key: Key): Complete<KeyJson> {
  const withheld = withheldOf({ scopes: key.scopes, limits: fromFields(key.limits) });
  return {
    keyId: key.keyId,
    name: key.name,
    scopes: key.scopes,
    limits: toLimitsJson(key.limits),
    state: key.state as KeyJson['state'],
    withheld: withheld.length === 0 ? undefined : withheld,
    madeBy: key.madeBy,
    personId: key.personId,
    lastCharacters: key.lastCharacters,
    createdAt: createdAtOf(key),
    expiresAt: toTimestamp(key.expiresAt),
    lastUsedAt: toTimestamp(key.lastUsedAt),
  };
}

const unchanged = (value: unknown) => value;
const toJson: Record<KeyLimitKind, (value: unknown) => unknown> = {
  list: unchanged,
  upperBound: unchanged,
  flag: unchanged,
  pinned: (value) => JsonText.of(value as string),
  same: (value) => toUserJson(value as UserLimit),
};

/** Leaves out limits that are not set. */
const limitsIn = (values: KeyLimitValues): [KeyLimit, unknown][] =>
  keyLimitNames.flatMap((limit) => {
    const value = values[fieldOf(limit)];
    return value === undefined ? [] : [[limit, value] as [KeyLimit, unknown]];
  });

const toLimitsJson = (limits: KeyLimits | undefined): KeyJson['limits'] =>
  Object.fromEntries(
    limitsIn(fromFields(limits)).map(([limit, value]) => [limit, toJson[keyLimits[limit].kind](value)]),
  ) as KeyJson['limits'];

/** The JSON of the list, for keys that do not come from a request. */
export const writeKeys = (keys: readonly Key[]): string => writeJson(keys.map(toListedJson));
