/** Values that the connection settings of a source can take. */

export const tlsModes = ['disable', 'prefer', 'require', 'verify-full'] as const;
export type TlsMode = (typeof tlsModes)[number];

/** How the pooler in front of a PostgreSQL source assigns its connections to clients. The default is the first. */
export const poolings = ['session', 'transaction'] as const;
export type Pooling = (typeof poolings)[number];

/** Which of several PostgreSQL servers takes a connection, as libpq defines it. The default is the first. */
export const targetSessionAttrs = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const;
export type TargetSessionAttrs = (typeof targetSessionAttrs)[number];

/** Which members of a MongoDB replica set are read from. The default is the first. */
export const readPreferences = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;
export type ReadPreferenceName = (typeof readPreferences)[number];

/** How the hub logs in at MongoDB. Without one the client and the server negotiate a SCRAM mechanism. */
export const authMechanisms = ['SCRAM-SHA-1', 'SCRAM-SHA-256', 'MONGODB-X509', 'PLAIN'] as const;
export type AuthMechanism = (typeof authMechanisms)[number];
