/** The form of a source and the settings that it stands for. */

import { call, callJson, part } from '../api/client.ts';
import type { ConnectionSettings, Source } from '../api/types.ts';

export interface SourceForm {
  label: string;
  engine: string;
  host: string;
  port: string;
  database: string;
  user: string;
  password: string;
  tlsMode: string;
  ca: string;
  poolMax: string;
  statementTimeoutMs: string;
  authSource: string;
}

export const defaultPorts: Record<string, string> = {
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
  poolMax: '',
  statementTimeoutMs: '',
  authSource: '',
};

export function formOf({ label, engine, connectionSettings: settings }: Source): SourceForm {
  const { host, port, database, user, password, tls, pool, statementTimeoutMs, authSource } = settings;
  return {
    label,
    engine,
    host,
    port: String(port),
    database,
    user,
    password,
    tlsMode: tls?.mode ?? 'prefer',
    ca: tls?.ca ?? '',
    poolMax: String(pool?.max ?? ''),
    statementTimeoutMs: String(statementTimeoutMs ?? ''),
    authSource: authSource ?? '',
  };
}

const whole = (text: string): number | undefined => (/^\d+$/.test(text.trim()) ? Number(text) : undefined);

/** What is empty is left out, or taken away where the source exists. */
function settingsOf(
  form: SourceForm,
  { existing }: { existing: boolean },
): Partial<ConnectionSettings> | object {
  const empty = existing ? null : undefined;
  const ca = form.ca.trim() === '' ? empty : form.ca;
  return {
    host: form.host.trim(),
    port: whole(form.port) ?? form.port,
    database: form.database.trim(),
    user: form.user,
    password: form.password,
    tls: { mode: form.tlsMode, ca },
    ...(form.poolMax === ''
      ? existing
        ? { pool: { max: null } }
        : {}
      : { pool: { max: whole(form.poolMax) } }),
    statementTimeoutMs: whole(form.statementTimeoutMs) ?? empty,
    ...(form.engine === 'mongodb' ? { authSource: form.authSource.trim() || empty } : {}),
  };
}

export interface Tested {
  latencyMs: number;
  serverVersion: string;
}

export const testSource = (sourceId: string, signal?: AbortSignal): Promise<Tested> =>
  callJson(`v1/sources/${part(sourceId)}/test`, { method: 'POST', signal });

export async function createSource(hubId: string, form: SourceForm): Promise<string> {
  const { label, engine } = form;
  const connectionSettings = settingsOf(form, { existing: false });
  const body = { hubId, label: label.trim() || form.database.trim(), engine, connectionSettings };
  return (await callJson<{ sourceId: string }>('v1/sources', { body })).sourceId;
}

/** The hub tests stored sources alone, so one that does not connect is removed again. */
export async function createTested(
  hubId: string,
  form: SourceForm,
): Promise<{ sourceId: string; tested: Tested }> {
  const sourceId = await createSource(hubId, form);
  try {
    return { sourceId, tested: await testSource(sourceId) };
  } catch (err) {
    await call(`v1/sources/${part(sourceId)}`, { method: 'DELETE' }).catch(() => undefined);
    throw err;
  }
}

export async function updateSource(sourceId: string, form: SourceForm): Promise<void> {
  const { label, engine } = form;
  const body = { label: label.trim(), engine, connectionSettings: settingsOf(form, { existing: true }) };
  await call(`v1/sources/${part(sourceId)}`, { method: 'PUT', body });
}
