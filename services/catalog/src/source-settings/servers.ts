/** The settings that name a source's servers and say how the hub selects one, logs in and shares connections. */

import type { Complete } from '@datahub/contract/complete';
import type { EngineName } from '@datahub/contract/engines';
import { sourceLimits } from '@datahub/contract/limits';
import { awsRegionShape, passwordProviders } from '@datahub/contract/password-from';
import {
  authMechanisms,
  hasServerSetting,
  poolings,
  readPreferences,
  type ServerSetting,
  serverSettingNames,
  serverSettings,
  statementComments,
  type TlsMode,
  targetSessionAttrs,
} from '@datahub/contract/source-settings';
import type { FieldPath } from '@datahub/contract/validation-error';
import type { ConnectionSettings, Host, PasswordFrom } from '@datahub/proto/catalog/v1/catalog';
import type { Checker } from '../check.ts';
import type { SourceDoc } from '../documents.ts';
import { checkHost } from './hosts.ts';
import { checkSshAddress, sshAddressOf } from './ssh.ts';

const memberNames = [...serverSettingNames, 'passwordFrom', 'ssh'] as const;
export type ServerSettings = Pick<SourceDoc, (typeof memberNames)[number]>;

const { hosts: hostCount, port, replicaSetLength, authSourceLength } = sourceLimits;
const choices = {
  readPreference: readPreferences,
  authMechanism: authMechanisms,
  pooling: poolings,
  targetSessionAttrs,
  statementComments,
};
/** Modes in which a connection is always encrypted. */
const encrypted: readonly TlsMode[] = ['require', 'verify-full'];

const pathOf = (...names: (string | number)[]): FieldPath => ['connectionSettings', ...names];

/** The settings that the secrets are bound to by encryption, besides address and TLS mode. */
export const bindingOf = ({ hosts, srv, authMechanism, passwordFrom, ssh }: ServerSettings) => ({
  hosts,
  srv,
  authMechanism,
  passwordFrom,
  ssh: ssh && sshAddressOf(ssh),
});

/** True if the secrets would be sent to other servers than before, or by another mechanism. */
export const isElsewhere = (before: ServerSettings, after: ServerSettings) =>
  JSON.stringify(bindingOf(before)) !== JSON.stringify(bindingOf(after));

interface ServersInput {
  settings: ConnectionSettings;
  engine: EngineName;
  tlsMode: TlsMode;
  current: ServerSettings | undefined;
}

const engineNames: Partial<Record<EngineName, string>> = { postgres: 'PostgreSQL', mongodb: 'MongoDB' };

/** An empty list, false or an empty string removes a setting; an absent one leaves it unchanged. */
export function checkServers(
  check: Checker,
  { settings, engine, tlsMode, current }: ServersInput,
): Complete<ServerSettings> {
  const authSource = settings.authSource ?? current?.authSource ?? '';
  const given = { ...settings, hosts: settings.hosts?.hosts };
  const effective = <N extends Exclude<ServerSetting, 'authSource'>>(name: N): ServerSettings[N] => {
    const usable = hasServerSetting(engine, name);
    const value = (given[name] ?? (usable ? current?.[name] : undefined)) as ServerSettings[N];
    const isSet = Array.isArray(value) ? value.length > 0 : Boolean(value);
    if (isSet && !usable) check.fault(pathOf(name), onlyFor(serverSettings[name].engines));
    return isSet && usable ? value : undefined;
  };
  const oneOf = <N extends keyof typeof choices>(name: N): ServerSettings[N] => {
    const value = effective(name);
    return value && check.oneOf<string>(pathOf(name), value, choices[name]);
  };
  const hosts = effective('hosts');
  const set = effective('replicaSet');
  const servers: Complete<Omit<ServerSettings, 'passwordFrom' | 'ssh'>> = {
    authSource:
      authSource === '' ? undefined : check.text(pathOf('authSource'), authSource, authSourceLength),
    hosts: hosts && checkHosts(check, hosts),
    srv: effective('srv') ? true : undefined,
    replicaSet: set && check.text(pathOf('replicaSet'), set, replicaSetLength),
    readPreference: oneOf('readPreference'),
    authMechanism: oneOf('authMechanism'),
    pooling: oneOf('pooling'),
    targetSessionAttrs: oneOf('targetSessionAttrs'),
    statementComments: oneOf('statementComments'),
  };
  if (hosts !== undefined && servers.srv)
    check.fault(pathOf('hosts'), 'must be empty with srv, because DNS lists the hosts of its name');
  if (servers.authMechanism === 'PLAIN' && tlsMode !== 'verify-full')
    check.fault(
      pathOf('authMechanism'),
      'PLAIN needs tls.mode verify-full, because it sends the password in clear text',
    );
  if (servers.authMechanism === 'MONGODB-X509' && !encrypted.includes(tlsMode))
    check.fault(pathOf('authMechanism'), 'MONGODB-X509 needs tls.mode require or verify-full');
  const passwordFrom = checkPasswordFrom(check, { settings, engine, tlsMode, current }, servers);
  return { ...servers, passwordFrom, ssh: checkSshAddress(check, settings.ssh, current?.ssh) };
}

/** An empty kind removes the setting. */
function checkPasswordFrom(
  check: Checker,
  { settings, engine, tlsMode, current }: ServersInput,
  { hosts }: Pick<ServerSettings, 'hosts'>,
): ServerSettings['passwordFrom'] {
  const given: PasswordFrom | undefined = settings.passwordFrom ?? current?.passwordFrom;
  if (given === undefined || given.kind === '') return undefined;
  const path = (name: string) => pathOf('passwordFrom', name);
  const kind = check.oneOf(path('kind'), given.kind, passwordProviders);
  if (!new RegExp(awsRegionShape).test(given.region))
    check.fault(path('region'), 'must be an AWS region such as eu-central-1');
  if (engine === 'mongodb') check.fault(pathOf('passwordFrom'), 'is not available for MongoDB');
  if (tlsMode !== 'verify-full' || hosts !== undefined)
    check.fault(pathOf('passwordFrom'), 'needs tls.mode verify-full, and hosts must be empty');
  return { kind, region: given.region };
}

const onlyFor = (engines: readonly EngineName[]) =>
  `is available only for ${engines.map((engine) => engineNames[engine]).join(' and ')}`;

function checkHosts(check: Checker, hosts: Host[]): Host[] {
  if (hosts.length > hostCount.max) check.fault(pathOf('hosts'), `must have at most ${hostCount.max} hosts`);
  return hosts.map((other, i) => ({
    host: checkHost(check, other.host, pathOf('hosts', i, 'host')),
    port: check.integer(pathOf('hosts', i, 'port'), other.port, port),
  }));
}
