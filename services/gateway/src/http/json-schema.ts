/**
 * Parts of JSON Schemas. The schema of a body or an answer is written once, beside its routes. Ajv validates bodies
 * with it, /openapi.json contains it, and `FromSchema` derives its TypeScript type.
 */

import { engines } from '@datahub/contract/engines';
import {
  hubPathPattern,
  idCharacters,
  pathLength,
  queryPathPattern,
  untrimmedLabelCharacters,
} from '@datahub/contract/limits';
import type { FromSchema } from 'json-schema-to-ts';

export type { FromSchema };

type Members = Record<string, unknown>;

/** An object with these members and no others. */
export const object = <const P extends Members, const R extends keyof P & string = never>(
  properties: P,
  required: readonly R[] = [],
) =>
  ({
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 ? { required } : ({} as { required: readonly R[] })),
  }) as const;

/** The schema of an answer: all members are required, except those named in `optional`. */
export function record<const P extends Members, const O extends keyof P & string = never>(
  properties: P,
  optional: readonly O[] = [],
) {
  const required = Object.keys(properties).filter((name) => !(optional as readonly string[]).includes(name));
  return {
    type: 'object',
    additionalProperties: false,
    properties,
    required: required as unknown as readonly Exclude<keyof P & string, O>[],
  } as const;
}

export const list = <const S>(items: S) => ({ type: 'array', items }) as const;

export const orNull = <const S extends { type: string }>(schema: S) =>
  ({ ...schema, type: [schema.type, 'null'] }) as unknown as Omit<S, 'type'> & {
    readonly type: readonly [S['type'], 'null'];
  };

/**
 * Members of a resource that only the hub sets. They are accepted and ignored, so that the answer of a GET can be sent
 * back with PUT.
 */
export const readOnly = <const N extends string>(...names: N[]) =>
  Object.fromEntries(names.map((name) => [name, { description: 'Read-only: ignored.' }])) as Record<
    N,
    { readonly description: string }
  >;

/** The catalog or the ml service trims a label and checks its length and characters. */
export const label = {
  type: 'string',
  minLength: untrimmedLabelCharacters.min,
  maxLength: untrimmedLabelCharacters.max,
} as const;
export const id = { type: 'string', minLength: idCharacters.min, maxLength: idCharacters.max } as const;
const pathOf = <const P extends string>(pattern: P) =>
  ({ type: 'string', minLength: pathLength.min, maxLength: pathLength.max, pattern }) as const;
export const hubPath = pathOf(hubPathPattern);
export const queryPath = pathOf(queryPathPattern);
export const engine = { type: 'string', enum: engines } as const;

export const text = { type: 'string' } as const;
export const textOrNull = orNull(text);
export const count = { type: 'integer', minimum: 0 } as const;
export const signedIn = { ...count, description: 'An estimate of the number of signed-in users.' } as const;
export const day = { type: 'string', format: 'date' } as const;
export const time = { type: 'string', format: 'date-time' } as const;
export const timeOrNull = { type: ['string', 'null'], format: 'date-time' } as const;
export const nothing = record({});

export const toTimestamp = (date: Date | undefined): string | null => date?.toISOString() ?? null;

/** Every document has a creation time. */
export const createdAtOf = ({ createdAt }: { createdAt?: Date | undefined }): string =>
  toTimestamp(createdAt) as string;
