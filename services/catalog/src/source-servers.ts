/** Which servers a source of MongoDB has, and how it reads from and logs in at them. */

import { isIP } from 'node:net';
import type { EngineName } from '@datahub/contract/engines';
import { sourceLimits } from '@datahub/contract/limits';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { ConnectionSettings } from '@datahub/proto/catalog/v1/catalog';
import type { Checker } from './check.ts';
import type { SourceDoc, TlsMode } from './documents.ts';

const serverMembers = [
  'authSource',
  'hosts',
  'srv',
  'replicaSet',
  'readPreference',
  'authMechanism',
] as const;
export type ServerSettings = Pick<SourceDoc, (typeof serverMembers)[number]>;

const { hosts: hostCount, hostLength, port, replicaSetLength, authSourceLength } = sourceLimits;
const hostShape = new RegExp(`^[\\p{L}\\p{N}._%-]{${hostLength.min},${hostLength.max}}$`, 'u');
const readPreferences = ['primary', 'primaryPreferred', 'secondary', 'secondaryPreferred', 'nearest'];
const authMechanisms = ['SCRAM-SHA-1', 'SCRAM-SHA-256', 'MONGODB-X509', 'PLAIN'];
/** TLS that is never given up. */
const encrypted: readonly TlsMode[] = ['require', 'verify-full'];

const pathOf = (...names: (string | number)[]): FieldPath => ['connectionSettings', ...names];

/** What a change takes away must not stay. */
export function withoutServers(source: SourceDoc): Omit<SourceDoc, keyof ServerSettings> {
  const without = { ...source };
  for (const name of serverMembers) delete without[name];
  return without;
}

/** All of it as one text to compare. */
export const serversText = (source: ServerSettings) =>
  JSON.stringify(serverMembers.map((name) => source[name]));

/** True where secrets would be given to others than before, or in another way. */
export const isElsewhere = (before: ServerSettings, after: ServerSettings) =>
  JSON.stringify([before.hosts, before.srv, before.authMechanism]) !==
  JSON.stringify([after.hosts, after.srv, after.authMechanism]);

interface ServersInput {
  settings: ConnectionSettings;
  engine: EngineName;
  tlsMode: TlsMode;
  current: ServerSettings | undefined;
}

/** Only the shape; whether the address may be dialled is the executor's to say, at each connection. */
export function checkHost(check: Checker, text: string, path: FieldPath): string {
  const host = text.trim();
  if (!hostShape.test(host) && isIP(host) !== 6) {
    check.fault(path, 'must be a host name or an IP address, without a port or brackets');
  }
  return host;
}

/** An empty list, false or an empty text takes a member away; what is absent stays. */
export function checkServers(check: Checker, input: ServersInput): ServerSettings {
  const { settings, engine, tlsMode } = input;
  const authSource = settings.authSource ?? input.current?.authSource ?? '';
  const known =
    authSource === '' ? {} : { authSource: check.text(pathOf('authSource'), authSource, authSourceLength) };
  const current = engine === 'mongodb' ? (input.current ?? {}) : {};
  const hosts = settings.hosts?.hosts ?? current.hosts ?? [];
  const srv = settings.srv ?? current.srv ?? false;
  const set = settings.replicaSet ?? current.replicaSet ?? '';
  const preference = settings.readPreference ?? current.readPreference ?? '';
  const mechanism = settings.authMechanism ?? current.authMechanism ?? '';
  const given = {
    hosts: hosts.length > 0,
    srv,
    replicaSet: set,
    readPreference: preference,
    authMechanism: mechanism,
  };
  if (engine !== 'mongodb') {
    for (const [name, value] of Object.entries(given))
      if (value) check.fault(pathOf(name), 'is for MongoDB alone');
    return known;
  }
  if (hosts.length > hostCount.max) check.fault(pathOf('hosts'), `must have at most ${hostCount.max} hosts`);
  if (srv && hosts.length > 0)
    check.fault(pathOf('hosts'), 'must be empty with srv, whose name tells the hosts');
  if (mechanism === 'PLAIN' && tlsMode !== 'verify-full')
    check.fault(
      pathOf('authMechanism'),
      'PLAIN needs tls.mode verify-full, because it sends the password as it is',
    );
  if (mechanism === 'MONGODB-X509' && !encrypted.includes(tlsMode))
    check.fault(pathOf('authMechanism'), 'MONGODB-X509 needs tls.mode require or verify-full');
  return {
    ...known,
    ...(hosts.length === 0
      ? {}
      : {
          hosts: hosts.map((other, i) => ({
            host: checkHost(check, other.host, pathOf('hosts', i, 'host')),
            port: check.integer(pathOf('hosts', i, 'port'), other.port, port),
          })),
        }),
    ...(srv ? { srv } : {}),
    ...(set === '' ? {} : { replicaSet: check.text(pathOf('replicaSet'), set, replicaSetLength) }),
    ...(preference === ''
      ? {}
      : { readPreference: check.oneOf(pathOf('readPreference'), preference, readPreferences) }),
    ...(mechanism === ''
      ? {}
      : { authMechanism: check.oneOf(pathOf('authMechanism'), mechanism, authMechanisms) }),
  };
}
