/** Creates and changes a source. All functions are pure; the caller passes the function that seals secrets. */

import { type Complete, withoutUndefined } from '@datahub/contract/complete';
import { type EngineName, engines } from '@datahub/contract/engines';
import { sourceLimits } from '@datahub/contract/limits';
import { type TlsMode, tlsModes } from '@datahub/contract/source-settings';
import type { ConnectionSettings, UpdateSourceRequest } from '@datahub/proto/catalog/v1/catalog';
import type { SecretField } from '@datahub/sealing/envelope';
import type { Seal } from '@datahub/sealing/sealer';
import { withoutEnd } from '@datahub/service-kit/without-end';
import { type Checker, checkSession, createChecker } from './check.ts';
import type { Secret, SourceDoc } from './documents.ts';
import type { MakeContext } from './hub.ts';
import { maskKey, maskPassword, maskUser } from './secret-mask.ts';
import { checkHost } from './source-settings/hosts.ts';
import {
  changedPassword,
  changedSecret,
  newPassword,
  newSecret,
  settingPath,
} from './source-settings/secrets.ts';
import { bindingOf, checkServers, isElsewhere, type ServerSettings } from './source-settings/servers.ts';
import { checkSshSecrets, type SshSecrets, sshFields } from './source-settings/ssh.ts';

type PlainSettings = Complete<
  Pick<SourceDoc, 'engine' | 'host' | 'port' | 'database' | 'tls' | 'pool' | 'statementTimeoutMs'> &
    ServerSettings &
    Pick<SourceDoc, 'sessionJson'>
>;

export interface NewSource {
  hubId: string;
  parentNodeId: string;
  label: string;
  engine: string;
  settings: ConnectionSettings;
}

export async function makeSource(
  input: NewSource,
  context: MakeContext & { seal: Seal },
): Promise<SourceDoc> {
  const check = createChecker();
  const { settings } = input;
  const label = check.label(['label'], input.label);
  const plain = checkPlain(check, { engine: input.engine, settings });
  const user = newSecret(check, 'user', { value: settings.user ?? '', engine: plain.engine });
  const isProvided = plain.passwordFrom !== undefined;
  const password = newPassword(check, settings.password, { engine: plain.engine, isProvided });
  const key = settings.tls?.key
    ? newSecret(check, 'tls.key', { value: pemOf(settings.tls.key), engine: plain.engine })
    : undefined;
  const sshSecrets = checkSshSecrets(check, { ssh: plain.ssh, given: settings.ssh, engine: plain.engine });
  check.done();
  const id = context.createId('src', context.nowMs);
  const seal = sealFor({ ...plain, id }, context.seal);
  const { tls, ...others } = plain;
  const source: Complete<SourceDoc> = {
    id,
    accountId: context.accountId,
    version: 1,
    hubId: input.hubId,
    parentNodeId: input.parentNodeId,
    label,
    ...others,
    user: await seal('user', user),
    password: await seal('password', password),
    tls: key === undefined ? tls : { ...tls, key: await seal('tls.key', key) },
    ssh: await sealSsh(plain.ssh, { secrets: sshSecrets, seal }),
    settingsVersion: 1,
    changesEngine: undefined,
    createdAt: context.nowMs,
    updatedAt: null,
  };
  return withoutUndefined<SourceDoc>(source);
}

/** Absent members stay unchanged. */
export interface SourcePatch
  extends Omit<UpdateSourceRequest, 'sourceId' | 'connectionSettings' | 'expectedVersion' | 'moreVersions'> {
  settings?: ConnectionSettings | undefined;
}

/** Returns the same document if the patch changes nothing. A secret whose value is its current mask stays unchanged. */
export async function patchSource(source: SourceDoc, patch: SourcePatch, seal: Seal): Promise<SourceDoc> {
  const check = createChecker();
  const label = patch.label === undefined ? source.label : check.label(['label'], patch.label);
  const parentNodeId = patch.parentNodeId ?? source.parentNodeId;
  const settings = patch.settings ?? {};
  const plain = checkPlain(check, { engine: patch.engine ?? source.engine, settings, current: source });
  const isLost = isLostBefore(source, settings);
  const fresh = {
    user: changedSecret(check, 'user', { value: settings.user, current: source.user, engine: plain.engine }),
    password: changedPassword(check, {
      value: settings.password,
      current: source.password,
      engine: plain.engine,
      isProvided: plain.passwordFrom !== undefined,
      isMoved: isMoved(source, plain) || isLost,
    }),
    key: changedSecret(check, 'tls.key', {
      value: settings.tls?.key && pemOf(settings.tls.key),
      current: source.tls.key,
      engine: plain.engine,
    }),
  };
  const sshSecrets = checkSshSecrets(check, {
    ...{ ssh: plain.ssh, given: settings.ssh, current: source.ssh, engine: plain.engine },
  });
  if (isMoved(source, plain))
    requireSecretsAgain(check, source, { ...fresh, ssh: plain.ssh && sshSecrets, reason: movedReason });
  else if (isLost)
    requireSecretsAgain(check, source, { ...fresh, ssh: plain.ssh && sshSecrets, reason: lostReason });
  check.done();

  const sealed = sealFor({ ...plain, id: source.id }, seal);
  const user = fresh.user === undefined ? source.user : await sealed('user', fresh.user);
  const password = fresh.password === undefined ? source.password : await sealed('password', fresh.password);
  const key =
    fresh.key === undefined
      ? source.tls.key
      : fresh.key === ''
        ? undefined
        : await sealed('tls.key', fresh.key);
  const { tls: certificates, ...others } = plain;
  const tls = { ...certificates, ...(key === undefined ? {} : { key }) };
  const changed: Complete<Pick<SourceDoc, Changeable>> = {
    label,
    parentNodeId,
    ...others,
    user,
    password,
    tls,
    ssh: await sealSsh(plain.ssh, { secrets: sshSecrets, current: source.ssh, seal: sealed }),
  };
  const next = withoutUndefined<SourceDoc>({ ...source, ...changed });
  const reconnects = connectionText(next) !== connectionText(source);
  if (!reconnects && label === source.label && parentNodeId === source.parentNodeId) return source;
  return reconnects ? { ...next, settingsVersion: source.version + 1 } : next;
}

/** What each member says. Connections depend on the `settings`. `record` members say which document it is. */
const parts = {
  engine: 'settings',
  host: 'settings',
  port: 'settings',
  database: 'settings',
  user: 'settings',
  password: 'settings',
  tls: 'settings',
  pool: 'settings',
  statementTimeoutMs: 'settings',
  authSource: 'settings',
  hosts: 'settings',
  srv: 'settings',
  replicaSet: 'settings',
  readPreference: 'settings',
  authMechanism: 'settings',
  pooling: 'settings',
  targetSessionAttrs: 'settings',
  statementComments: 'settings',
  passwordFrom: 'settings',
  ssh: 'settings',
  sessionJson: 'settings',
  label: 'place',
  parentNodeId: 'place',
  id: 'record',
  accountId: 'record',
  hubId: 'record',
  version: 'record',
  createdAt: 'record',
  updatedAt: 'record',
  settingsVersion: 'record',
  changesEngine: 'record',
} as const satisfies Record<keyof SourceDoc, 'settings' | 'place' | 'record'>;
type Changeable = {
  [M in keyof SourceDoc]-?: (typeof parts)[M] extends 'record' ? never : M;
}[keyof SourceDoc];
const settingNames = (Object.keys(parts) as (keyof SourceDoc)[]).filter((name) => parts[name] === 'settings');

/** All settings that a connection depends on, as one string to compare. */
const connectionText = (source: SourceDoc): string =>
  JSON.stringify(settingNames.map((name) => source[name] ?? null));

type SealField = (field: SecretField, plain: string) => Promise<Secret>;

function sealFor(
  source: Pick<SourceDoc, 'id' | 'engine' | 'host' | 'port' | 'tls'> & ServerSettings,
  seal: Seal,
): SealField {
  return async (field, plain) => ({
    sealed: await seal(plain, {
      sourceId: source.id,
      engine: source.engine,
      host: source.host,
      port: source.port,
      tlsMode: source.tls.mode,
      ...bindingOf(source),
      field,
    }),
    mask: field === 'user' ? maskUser(plain) : field === 'password' ? maskPassword(plain) : maskKey(),
  });
}

/** Sets new secrets, and keeps those that stay unchanged. */
async function sealSsh(
  address: SourceDoc['ssh'],
  { secrets, current, seal }: { secrets: SshSecrets; current?: SourceDoc['ssh']; seal: SealField },
): Promise<SourceDoc['ssh']> {
  if (address === undefined) return undefined;
  const kept = async (name: keyof SshSecrets): Promise<Secret | undefined> => {
    const fresh = secrets[name];
    if (fresh === undefined) return current?.[name];
    return fresh === '' ? undefined : seal(`ssh.${name}`, fresh);
  };
  return withoutUndefined<NonNullable<SourceDoc['ssh']>>({
    ...address,
    privateKey: await kept('privateKey'),
    password: await kept('password'),
  });
}

function isMoved(source: SourceDoc, next: PlainSettings): boolean {
  return (
    source.engine !== next.engine ||
    source.host !== next.host ||
    source.port !== next.port ||
    source.tls.mode !== next.tls.mode ||
    isElsewhere(source, next)
  );
}

/** True if the credentials were removed because their sealing key is lost, and some are now sent. */
const isLostBefore = (source: SourceDoc, { user, password, tls, ssh }: ConnectionSettings): boolean =>
  source.user.sealed === '' &&
  [user, password, tls?.key, ssh?.privateKey, ssh?.password].some((value) => value !== undefined);

const lostReason = 'must be sent again, because its sealing key was lost';
const movedReason =
  'must be sent again when engine, host, port, hosts, srv, authMechanism, passwordFrom, ssh or TLS mode change, because it is encrypted for the old ones';

interface Again extends Partial<Record<'user' | 'password' | 'key', string | undefined>> {
  /** Undefined without a bastion. */
  ssh: SshSecrets | undefined;
  reason: string;
}

function requireSecretsAgain(check: Checker, source: SourceDoc, { reason, ssh, ...fresh }: Again): void {
  if (fresh.user === undefined) check.fault(settingPath('user'), reason);
  if (fresh.password === undefined) check.fault(settingPath('password'), reason);
  if (fresh.key === undefined && source.tls.key) check.fault(settingPath('tls.key'), reason);
  for (const name of sshFields)
    if (ssh !== undefined && ssh[name] === undefined && source.ssh?.[name])
      check.fault(settingPath(`ssh.${name}`), reason);
}

function checkPlain(
  check: Checker,
  input: { engine: string; settings: ConnectionSettings; current?: SourceDoc },
): PlainSettings {
  const { settings, current } = input;
  const engine = check.oneOf<EngineName>(['engine'], input.engine, engines);
  const tls = checkTls(check, settings, current);
  return {
    engine,
    host:
      settings.host === undefined && current
        ? current.host
        : checkHost(check, settings.host ?? '', settingPath('host')),
    port: check.integer(settingPath('port'), settings.port ?? current?.port ?? 0, sourceLimits.port),
    database: check.text(
      settingPath('database'),
      settings.database ?? current?.database ?? '',
      sourceLimits.databaseLength,
    ),
    tls,
    pool: checkPool(check, settings, current),
    statementTimeoutMs:
      checkOptional(check, {
        name: 'statementTimeoutMs',
        value: effective(settings.statementTimeoutMs, current?.statementTimeoutMs),
        within: sourceLimits.statementTimeoutMs,
      }) ?? null,
    ...checkServers(check, { settings, engine, tlsMode: tls.mode, current }),
    sessionJson: checkSession(check, settings.sessionJson ?? current?.sessionJson, {
      path: settingPath('session'),
      engine,
    }),
  };
}

function checkTls(
  check: Checker,
  settings: ConnectionSettings,
  current: SourceDoc | undefined,
): SourceDoc['tls'] {
  const mode = settings.tls?.mode || current?.tls.mode || 'prefer';
  const ca = checkPem(check, 'tls.ca', settings.tls?.ca ?? current?.tls.ca);
  const cert = checkPem(check, 'tls.cert', settings.tls?.cert ?? current?.tls.cert);
  return {
    mode: check.oneOf<TlsMode>(settingPath('tls.mode'), mode, tlsModes),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
  };
}

/** PEM files that MySQL generates end with a NUL. */
const pemOf = (text: string) => withoutEnd(text, /\0/);

/** An empty string removes the certificate. */
function checkPem(check: Checker, name: string, given: string | undefined): string | undefined {
  const value = given && pemOf(given);
  if (value === undefined || value === '') return undefined;
  if (!value.includes('-----BEGIN ')) check.fault(settingPath(name), 'must be PEM');
  // Certificates are shown and exported. Some tools keep a certificate and its key in one file.
  if (/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(given ?? ''))
    check.fault(settingPath(name), 'contains a private key, which is a secret; send it as tls.key');
  return check.text(settingPath(name), value, sourceLimits.pemLength);
}

function checkPool(
  check: Checker,
  settings: ConnectionSettings,
  current: SourceDoc | undefined,
): SourceDoc['pool'] {
  const max = checkOptional(check, {
    name: 'pool.max',
    value: effective(settings.pool?.max, current?.pool.max),
    within: sourceLimits.poolConnections,
  });
  const idleTimeoutMs = checkOptional(check, {
    name: 'pool.idleTimeoutMs',
    value: effective(settings.pool?.idleTimeoutMs, current?.pool.idleTimeoutMs),
    within: sourceLimits.idleTimeoutMs,
  });
  return { ...(max === undefined ? {} : { max }), ...(idleTimeoutMs === undefined ? {} : { idleTimeoutMs }) };
}

/** Returns the new value of a setting. An absent number leaves it unchanged; 0 removes it. */
function effective(given: number | undefined, current: number | null | undefined): number | undefined {
  return given === 0 ? undefined : (given ?? current ?? undefined);
}

function checkOptional(
  check: Checker,
  { name, value, within }: { name: string; value: number | undefined; within: { min: number; max: number } },
): number | undefined {
  return value === undefined ? undefined : check.integer(settingPath(name), value, within);
}
