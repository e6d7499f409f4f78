/** Fills the form of a source from a pasted address such as `postgres://user:password@host:5432/database`. */

import type { EngineName } from '@datahub/contract/engines';
import { authMechanisms, hasServerSetting, readPreferences } from '@datahub/contract/source-settings';
import { defaultPorts, type SourceForm } from './settings.ts';

const engines: Record<string, EngineName> = {
  postgres: 'postgres',
  postgresql: 'postgres',
  mysql: 'mysql',
  mariadb: 'mariadb',
  mongodb: 'mongodb',
  'mongodb+srv': 'mongodb',
};
/** `sslmode` of libpq, `ssl-mode` of MySQL, `tls` and `ssl` of MongoDB. */
const tlsModes: Record<string, string> = {
  disable: 'disable',
  disabled: 'disable',
  false: 'disable',
  prefer: 'prefer',
  preferred: 'prefer',
  allow: 'prefer',
  require: 'require',
  required: 'require',
  true: 'verify-full',
  'verify-ca': 'verify-full',
  verify_ca: 'verify-full',
  'verify-full': 'verify-full',
  verify_identity: 'verify-full',
};

/** `URL` does not accept several servers, which PostgreSQL and MongoDB have. */
const form = /^([a-z+]+):\/\/(?:([^/?#]*)@)?([^@/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/i;
const server = /^(\[[^\]]+\]|[^:]+)(?::(\d+))?$/;

/** Undefined if the text is no such address. What the address does not have stays. */
export function formOfAddress(text: string, before: SourceForm): SourceForm | undefined {
  const [, scheme = '', access = '', servers = '', database = '', query = ''] = form.exec(text.trim()) ?? [];
  const engine = engines[scheme.toLowerCase()];
  const [first = '', ...others] = servers.split(',');
  const [, host, port] = server.exec(first) ?? [];
  if (engine === undefined || host === undefined) return undefined;
  const parameters = new URLSearchParams(query);
  const mode = ['sslmode', 'ssl-mode', 'tls', 'ssl'].map((name) => parameters.get(name)).find(Boolean) ?? '';
  const [user = '', ...password] = access.split(':');
  const isSrv = scheme.toLowerCase() === 'mongodb+srv';
  return {
    ...before,
    engine,
    host: host.replace(/^\[(.*)\]$/, '$1'),
    port: port ?? defaultPorts[engine],
    database: decoded(database) || before.database,
    user: decoded(user) || before.user,
    password: decoded(password.join(':')) || before.password,
    // A name of srv implies TLS.
    tlsMode: tlsModes[mode.toLowerCase()] ?? (isSrv ? 'verify-full' : before.tlsMode),
    ...serversOf(engine, others, isSrv),
    ...(engine === 'mongodb' ? mongodbSettings(parameters) : {}),
  };
}

const serversOf = (engine: EngineName, others: string[], srv: boolean): Partial<SourceForm> => ({
  srv,
  ...(hasServerSetting(engine, 'hosts') && others.length > 0 ? { hosts: others.join('\n') } : {}),
});

function mongodbSettings(parameters: URLSearchParams): Partial<SourceForm> {
  const listed = (name: string, values: readonly string[]) =>
    values.find((value) => value.toLowerCase() === parameters.get(name)?.toLowerCase());
  const settings = {
    authSource: parameters.get('authSource') ?? undefined,
    replicaSet: parameters.get('replicaSet') ?? undefined,
    readPreference: listed('readPreference', readPreferences),
    authMechanism: listed('authMechanism', authMechanisms),
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
