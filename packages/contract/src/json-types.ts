/** The JSON types of a column's values in an answer, apart from null. */
export const jsonTypes = [
  'number',
  'string',
  /** Numbers that a double cannot represent exactly, NaN and the infinities are strings. */
  'number|string',
  'boolean',
  'object',
  'array',
  /** Any JSON, such as a JSON column. */
  'number|string|boolean|object|array',
] as const;

export type JsonType = (typeof jsonTypes)[number];

export const anyJson: JsonType = 'number|string|boolean|object|array';
