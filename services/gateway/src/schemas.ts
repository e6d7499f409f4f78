/** Pieces of the JSON Schemas that several routes share. */

/** Trimmed length and characters are checked by the owner of the label; here only what any string could be. */
export const label = { type: 'string', minLength: 1, maxLength: 1_000 } as const;
export const id = { type: 'string', minLength: 1, maxLength: 256 } as const;

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
