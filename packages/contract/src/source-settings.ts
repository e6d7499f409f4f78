/** Values that the connection settings of a PostgreSQL source can take; the first of each is the default. */

/** How the pooler in front of a source assigns its connections to clients. */
export const poolings = ['session', 'transaction'] as const;
export type Pooling = (typeof poolings)[number];

/** Which of several servers takes a connection, as libpq defines it. */
export const targetSessionAttrs = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const;
export type TargetSessionAttrs = (typeof targetSessionAttrs)[number];
