/** The types that a query can declare for a variable. Each can also be a list: `bigint[]`. */
export const variableTypes = [
  'string',
  'integer',
  'bigint',
  'number',
  'decimal',
  'boolean',
  'date',
  'timestamp',
  'uuid',
  'json',
] as const;

export type VariableType = (typeof variableTypes)[number];

export const declarableTypes: readonly string[] = variableTypes.flatMap((type) => [type, `${type}[]`]);
