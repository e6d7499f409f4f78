/** The connection settings of a source: their allowed values, and the engines that have each server setting. */

import { type EngineName, engines } from './engines.ts';

export const tlsModes = ['disable', 'prefer', 'require', 'verify-full'] as const;
export type TlsMode = (typeof tlsModes)[number];

/**
 * How the pooler in front of a PostgreSQL source assigns its connections to clients. The first value is the default.
 */
export const poolings = ['session', 'transaction'] as const;
export type Pooling = (typeof poolings)[number];

/** Whether the hub's statements carry a comment that names their query. The first value is the default. */
export const statementComments = ['on', 'off'] as const;
export type StatementComments = (typeof statementComments)[number];

/**
 * The kind of PostgreSQL server to connect to if there are several, as libpq defines it. The first value is the
 * default.
 */
export const targetSessionAttrs = [
  'any',
  'read-write',
  'read-only',
  'primary',
  'standby',
  'prefer-standby',
] as const;
export type TargetSessionAttrs = (typeof targetSessionAttrs)[number];

/** The members of a MongoDB replica set that reads go to. The first value is the default. */
export const readPreferences = [
  'primary',
  'primaryPreferred',
  'secondary',
  'secondaryPreferred',
  'nearest',
] as const;
export type ReadPreferenceName = (typeof readPreferences)[number];

/** The log-in mechanism at MongoDB. Without this setting, the client and the server negotiate a SCRAM mechanism. */
export const authMechanisms = ['SCRAM-SHA-1', 'SCRAM-SHA-256', 'MONGODB-X509', 'PLAIN'] as const;
export type AuthMechanism = (typeof authMechanisms)[number];

interface ServerSettingRow {
  /** `text` includes settings with a fixed set of values. */
  kind: 'text' | 'flag' | 'hosts';
  /** The engines that have the setting. */
  engines: readonly EngineName[];
}

/** The settings that name a source's servers and say how the hub selects one, logs in and shares connections. */
export const serverSettings = {
  /** The database that stores the user. Accepted for every engine, used by MongoDB. */
  authSource: { kind: 'text', engines: ['mongodb'] },
  /** Further servers besides `host`. */
  hosts: { kind: 'hosts', engines: ['postgres', 'mongodb'] },
  srv: { kind: 'flag', engines: ['mongodb'] },
  replicaSet: { kind: 'text', engines: ['mongodb'] },
  readPreference: { kind: 'text', engines: ['mongodb'] },
  authMechanism: { kind: 'text', engines: ['mongodb'] },
  pooling: { kind: 'text', engines: ['postgres'] },
  targetSessionAttrs: { kind: 'text', engines: ['postgres'] },
  statementComments: { kind: 'text', engines },
} as const satisfies Record<string, ServerSettingRow>;

type Table = typeof serverSettings;
export type ServerSetting = keyof Table;
export type TextServerSetting = {
  [S in ServerSetting]: Table[S]['kind'] extends 'text' ? S : never;
}[ServerSetting];

export const serverSettingNames = Object.keys(serverSettings) as ServerSetting[];
export const textServerSettings = serverSettingNames.filter(
  (name): name is TextServerSetting => serverSettings[name].kind === 'text',
);

export const hasServerSetting = (engine: string, name: ServerSetting): boolean =>
  serverSettings[name].engines.some((one) => one === engine);
