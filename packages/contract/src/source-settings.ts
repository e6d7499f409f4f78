/** The connection settings of a source: their allowed values, the engines that have each server setting, and bastions. */

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

/** The port of a bastion: an SSH server whose connection carries those to the database. */
export const defaultSshPort = 22;

/** Where the bastion is, who logs in, and how the hub recognizes it. */
export interface SshAddress {
  host: string;
  port: number;
  user: string;
  /** See `readHostKey`. */
  hostKey: string;
}

export interface HostKey {
  /** The base64 of the SHA-256 of the key, without padding; undefined if the whole key is given. */
  fingerprint?: string | undefined;
  /** The algorithm of the whole key, such as ssh-ed25519. */
  type?: string | undefined;
  /** Base64. */
  key?: string | undefined;
}

/** The beginnings of the keys in base64, which name the algorithm. */
const keyTypes: Readonly<Record<string, string>> = {
  'ssh-ed25519': 'AAAAC3NzaC1lZDI1NTE5AAAA',
  'ecdsa-sha2-nistp256': 'AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY',
  'ecdsa-sha2-nistp384': 'AAAAE2VjZHNhLXNoYTItbmlzdHAzODQ',
  'ecdsa-sha2-nistp521': 'AAAAE2VjZHNhLXNoYTItbmlzdHA1MjE',
  'ssh-rsa': 'AAAAB3NzaC1yc2E',
};

/**
 * Reads `SHA256:…` as `ssh-keygen -l` writes it, or the line of a public key: `ssh-ed25519 AAAA…`, also with the host in
 * front, as `ssh-keyscan` writes it, and with a comment. Returns undefined for anything else.
 */
export function readHostKey(text: string): HostKey | undefined {
  const [, fingerprint] = /^SHA256:([A-Za-z0-9+/]{43})=?$/.exec(text) ?? [];
  if (fingerprint !== undefined) return { fingerprint };
  const [, type = '', key = ''] =
    /^(?:[^\s]+ )?([a-z0-9-]+) ([A-Za-z0-9+/]+={0,2})(?: [^\r\n]*)?$/.exec(text) ?? [];
  const start = Object.hasOwn(keyTypes, type) ? keyTypes[type] : undefined;
  return start !== undefined && key.startsWith(start) ? { type, key } : undefined;
}

/** One name for the spellings of a server's address: in lower case, without a dot at the end, and IP addresses as numbers. */
export function serverName(host: string, port: number): string {
  const plain = host
    .replace(/\.$/, '')
    .replace(/^::ffff:(?=\d+\.)/i, '')
    .toLowerCase();
  const url = URL.parse(`http://${plain.includes(':') ? `[${plain}]` : plain}`);
  return `${url?.hostname || plain}:${port}`;
}
