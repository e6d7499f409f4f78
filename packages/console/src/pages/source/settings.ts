/** The form of a source, and its conversion to and from settings. */

import type { EngineName } from '@datahub/contract/engines';
import {
  defaultSshPort,
  hasServerSetting,
  type ServerSetting,
  serverSettingNames,
  type serverSettings,
  textServerSettings,
} from '@datahub/contract/source-settings';
import { setMembers } from '../../api/change-document.ts';
import { call, callJson, part } from '../../api/client.ts';
import type { Answer, ConnectionSettings, Host, Source } from '../../api/types.ts';
import { isSame } from '../../ui/merged-form.ts';

/** `hosts` has one server per line. */
type ServerFields = {
  [S in ServerSetting]: (typeof serverSettings)[S]['kind'] extends 'flag' ? boolean : string;
};

export interface SourceForm extends ServerFields {
  label: string;
  engine: string;
  host: string;
  port: string;
  database: string;
  user: string;
  password: string;
  tlsMode: string;
  ca: string;
  cert: string;
  clientKey: string;
  poolMax: string;
  statementTimeoutMs: string;
  /** Empty without a bastion. */
  sshHost: string;
  sshPort: string;
  sshUser: string;
  sshHostKey: string;
  sshPrivateKey: string;
  sshPassword: string;
}

export const defaultPorts: Record<EngineName, string> = {
  postgres: '5432',
  mysql: '3306',
  mariadb: '3306',
  mongodb: '27017',
};

export const emptyForm: SourceForm = {
  label: '',
  engine: 'postgres',
  host: '',
  port: '5432',
  database: '',
  user: '',
  password: '',
  tlsMode: 'prefer',
  ca: '',
  cert: '',
  clientKey: '',
  poolMax: '',
  statementTimeoutMs: '',
  sshHost: '',
  sshPort: '22',
  sshUser: '',
  sshHostKey: '',
  sshPrivateKey: '',
  sshPassword: '',
  authSource: '',
  hosts: '',
  srv: false,
  replicaSet: '',
  readPreference: '',
  authMechanism: '',
  pooling: '',
  targetSessionAttrs: '',
  statementComments: '',
};

export function formOf({ label, engine, connectionSettings: settings }: Source): SourceForm {
  const { host, port, database, user, password, tls, pool, statementTimeoutMs, hosts, srv, ssh } = settings;
  const texts = textServerSettings.map((name) => [name, settings[name] ?? '']);
  return {
    ...emptyForm,
    ...Object.fromEntries(texts),
    hosts: hosts?.map(hostText).join('\n') ?? '',
    srv: srv ?? false,
    label,
    engine,
    host,
    port: String(port),
    database,
    user,
    password,
    tlsMode: tls?.mode ?? 'prefer',
    ca: tls?.ca ?? '',
    cert: tls?.cert ?? '',
    clientKey: tls?.key ?? '',
    poolMax: String(pool?.max ?? ''),
    statementTimeoutMs: String(statementTimeoutMs ?? ''),
    sshHost: ssh?.host ?? '',
    sshPort: String(ssh?.port ?? defaultSshPort),
    sshUser: ssh?.user ?? '',
    sshHostKey: ssh?.hostKey ?? '',
    sshPrivateKey: ssh?.privateKey ?? '',
    sshPassword: ssh?.password ?? '',
  };
}

/** What the form calls them. */
export const fieldNames: Readonly<Record<keyof SourceForm, string>> = {
  label: 'Name',
  engine: 'Engine',
  host: 'Host',
  port: 'Port',
  database: 'Database',
  user: 'User',
  password: 'Password',
  tlsMode: 'TLS',
  ca: 'Certificate authority (PEM)',
  cert: 'Client certificate (PEM)',
  clientKey: 'Client key (PEM)',
  poolMax: 'Maximum connections',
  statementTimeoutMs: 'Statement time limit, ms',
  sshHost: 'Bastion',
  sshPort: 'SSH port',
  sshUser: 'SSH user',
  sshHostKey: 'Host key',
  sshPrivateKey: 'Private key (OpenSSH)',
  sshPassword: 'SSH password',
  hosts: 'Further servers of the same database',
  srv: 'The host is a mongodb+srv name',
  targetSessionAttrs: 'Server to connect to',
  pooling: 'Pooling',
  replicaSet: 'Replica set',
  readPreference: 'Reads go to',
  authSource: 'Authentication database',
  authMechanism: 'Authentication mechanism',
  statementComments: 'Comments of statements',
};

const hostText = ({ host, port }: Host): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

/** Parses servers, one per line, as `name`, `name:port`, `[IPv6]:port` or an IPv6 address. */
export function hostsOf(
  text: string,
  defaultPort: number | string,
): { host: string; port: number | string }[] {
  const lines = text.split(/[\n,]/).map((line) => line.trim());
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [, bracketed, name = line, port] = server.exec(line) ?? [];
      return { host: bracketed ?? name, port: port === undefined ? defaultPort : (whole(port) ?? port) };
    });
}

/** A line with two or more colons and without brackets is an IPv6 address. */
const server = /^(?:\[([^\]]*)\]|([^:]*))(?::([^:]*))?$/;

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

/** Leaves out empty settings of a new source, and removes them from an existing one. */
function settingsOf(
  form: SourceForm,
  { existing }: { existing: boolean },
): Partial<ConnectionSettings> | object {
  const empty = existing ? null : undefined;
  const pem = (text: string) => (text.trim() === '' ? empty : text);
  return {
    host: form.host.trim(),
    port: whole(form.port) ?? form.port,
    database: form.database.trim(),
    user: form.user,
    password: form.password,
    tls: { mode: form.tlsMode, ca: pem(form.ca), cert: pem(form.cert), key: pem(form.clientKey) },
    ...(form.poolMax === ''
      ? existing
        ? { pool: { max: null } }
        : {}
      : { pool: { max: whole(form.poolMax) } }),
    statementTimeoutMs: whole(form.statementTimeoutMs) ?? empty,
    ...serverSettingsOf(form, empty),
    ssh: form.sshHost.trim() === '' ? empty : sshOf(form),
  };
}

const sshOf = (form: SourceForm): object => ({
  host: form.sshHost.trim(),
  port: whole(form.sshPort) ?? form.sshPort,
  user: form.sshUser.trim(),
  hostKey: form.sshHostKey.trim(),
  privateKey: form.sshPrivateKey.trim() === '' ? null : form.sshPrivateKey,
  password: form.sshPassword === '' ? null : form.sshPassword,
});

/** Returns the settings that the engine supports. If the engine changes, the hub removes the others. */
function serverSettingsOf(form: SourceForm, empty: null | undefined): object {
  const hosts = hostsOf(form.hosts, whole(form.port) ?? form.port);
  const values: Record<ServerSetting, unknown> = {
    ...form,
    hosts: hosts.length === 0 ? empty : hosts,
    srv: form.srv || empty,
  };
  const usable = serverSettingNames.filter((name) => hasServerSetting(form.engine, name));
  return Object.fromEntries(
    usable.map((name) => {
      const value = values[name];
      return [name, typeof value === 'string' ? value.trim() || empty : value];
    }),
  );
}

export type Tested = Answer<'POST /v1/sources/{sourceId}/test'>;

export const testSource = (sourceId: string, signal?: AbortSignal): Promise<Tested> =>
  callJson(`v1/sources/${part(sourceId)}/test`, { method: 'POST', signal, reads: true });

export async function createSource(hubId: string, form: SourceForm): Promise<string> {
  const { label, engine } = form;
  const connectionSettings = settingsOf(form, { existing: false });
  const body = { hubId, label: label.trim() || form.database.trim(), engine, connectionSettings };
  return (await callJson<{ sourceId: string }>('v1/sources', { body })).sourceId;
}

/** The hub only tests stored sources, so this deletes a source that does not connect. */
export async function createTested(
  hubId: string,
  form: SourceForm,
): Promise<{ sourceId: string; tested: Tested }> {
  const sourceId = await createSource(hubId, form);
  try {
    return { sourceId, tested: await testSource(sourceId) };
  } catch (err) {
    await call(sourcePath(sourceId), { method: 'DELETE' }).catch(() => undefined);
    throw err;
  }
}

/** The body of a change: the members that differ from the source as it is now. */
export function changeOf(form: SourceForm, now: Source): object {
  const before = formOf(now);
  const { label, engine } = form;
  const members = { label: label.trim(), engine };
  const connectionSettings = changed(
    settingsOf(form, { existing: true }),
    settingsOf(before, { existing: true }),
  );
  return {
    ...changed(members, { label: before.label, engine: before.engine }),
    ...(Object.keys(connectionSettings).length === 0 ? {} : { connectionSettings }),
  };
}

function changed(members: object, before: object): object {
  const old = new Map(Object.entries(before));
  return Object.fromEntries(Object.entries(members).filter(([name, value]) => !isSame(value, old.get(name))));
}

export const sourcePath = (sourceId: string): string => `v1/sources/${part(sourceId)}`;

export const setPooling = (sourceId: string, pooling: string): Promise<void> =>
  setMembers(sourcePath(sourceId), () => ({ connectionSettings: { pooling } }));
