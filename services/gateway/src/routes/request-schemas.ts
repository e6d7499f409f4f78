/** Pieces of the JSON Schemas that several routes share. */

import { engines } from '@datahub/contract/engines';

/** Trimmed length and characters are checked by the owner of the label; here only what any string could be. */
export const label = { type: 'string', minLength: 1, maxLength: 1_000 } as const;
export const id = { type: 'string', minLength: 1, maxLength: 256 } as const;

export const engine = { type: 'string', enum: engines } as const;

export const object = <P extends Record<string, unknown>>(
  properties: P,
  required: (keyof P & string)[] = [],
) =>
  ({
    type: 'object',
    additionalProperties: false,
    properties,
    ...(required.length > 0 ? { required } : {}),
  }) as const;

/** Members of the same resource that only the hub sets: accepted and ignored, so that what GET answered can be PUT back. */
export const readOnly = (...names: string[]): Record<string, object> =>
  Object.fromEntries(names.map((name) => [name, { description: 'Read-only: ignored.' }]));

/** As browsers send it in the header Origin. */
export const origin = { type: 'string', pattern: '^https?://[^/?#\\s]+$' } as const;

/** What a text must be, where its schema can only say it as a pattern. */
export const patternWords = new Map<unknown, string>([
  [origin.pattern, 'must be an origin such as https://shop.example, without a path or a slash at its end'],
]);
