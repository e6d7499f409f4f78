/** How bigint and decimal values are written; the values of the option `numbers`, in the order of the enum in proto. */
export const numbersForms = ['auto', 'string', 'number'] as const;

export type Numbers = (typeof numbersForms)[number];
