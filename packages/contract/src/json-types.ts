/** What JSON a column of a database becomes in an answer, apart from null. */
export const jsonTypes = [
  'number',
  'string',
  /** A number whose digits a double cannot hold, or NaN or an infinity, is a string. */
  'number|string',
  'boolean',
  'object',
  'array',
  /** A document of the database, which may be any JSON. */
  'number|string|boolean|object|array',
] as const;

export type JsonType = (typeof jsonTypes)[number];

export const anyJson: JsonType = 'number|string|boolean|object|array';
