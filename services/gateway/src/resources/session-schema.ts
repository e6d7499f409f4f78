/** `session` of a source or a query in bodies and answers. The catalog checks what a schema cannot say. */

import {
  sessionBounds as bounds,
  type SessionSettings,
  toSessionJson,
} from '@datahub/contract/session-settings';
import { type FromSchema, object, record, text } from '../http/json-schema.ts';
import { JsonText } from '../response/json-splices.ts';

const bounded = ({ min, max }: { min: number; max: number }) =>
  ({ type: 'string', minLength: min, maxLength: max }) as const;

const settingValue = {
  type: 'object',
  additionalProperties: false,
  properties: {
    value: bounded(bounds.settingValueLength),
    claim: bounded(bounds.claimPathLength),
    claims: { const: true },
    variable: text,
  },
  minProperties: 1,
  maxProperties: 1,
} as const;

const settings = {
  type: 'object',
  maxProperties: bounds.settings.max,
  additionalProperties: settingValue,
} as const;
const roleName = bounded(bounds.roleBytes);
const members = { searchPath: bounded(bounds.searchPathLength), settings } as const;

/** What a body may have; null removes it. */
export const session = {
  ...object({
    ...members,
    role: {
      anyOf: [
        roleName,
        object(
          {
            claim: bounded(bounds.claimPathLength),
            among: { type: 'array', minItems: bounds.roles.min, maxItems: bounds.roles.max, items: roleName },
          },
          ['claim', 'among'],
        ),
      ],
    },
  }),
  type: ['object', 'null'],
} as const;

/** In answers. */
export const sessionOf = record(
  { ...members, role: { anyOf: [text, record({ claim: text, among: { type: 'array', items: text } })] } },
  ['searchPath', 'settings', 'role'],
);

type SessionBody = FromSchema<typeof session>;

/** An empty text removes the session. */
export const readSession = (body: SessionBody | undefined): string | undefined =>
  body === undefined ? undefined : body === null ? '' : (toSessionJson(body as SessionSettings) ?? '');

export const toSessionAnswer = (json: string | undefined) =>
  JsonText.ofStored<FromSchema<typeof sessionOf>>(json);
