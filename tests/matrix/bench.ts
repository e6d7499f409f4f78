/** The tools of a check: a source of the running hub at one server, and functions that run statements there. */

import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { type Answer, type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { type Names, type Operator, openOperator } from './operator.ts';
import type { Target } from './targets.ts';

export interface RunningHub {
  url: string;
  key: string;
}

export interface AskOptions {
  context?: Record<string, unknown>;
  /** The types of variables by name. */
  types?: Record<string, string>;
  command?: string;
  options?: object;
  sourceId?: string;
  accept?: string;
}

/** SQL, or a command of MongoDB. */
export type Text = string | object;

export interface Bench extends Names {
  readonly target: Target;
  readonly hub: RunningHub;
  readonly api: Api;
  readonly operator: Operator;
  /** A key for locks that no other run uses. */
  readonly lock: number;
  /** Returns the text for this server's dialect. */
  pick<T>(texts: Partial<Record<Target['dialect'], T>>): T;
  /** Creates another source at the same server, with other settings. */
  source(change?: object): Promise<string>;
  test(sourceId?: string): Promise<Answer>;
  store(text: Text, asked?: AskOptions): Promise<Answer>;
  /** Stores a query and runs it. */
  ask(text: Text, asked?: AskOptions): Promise<Answer>;
  /** Resolves to the rows of a successful execution. */
  rows(text: Text, asked?: AskOptions): Promise<any[]>;
  /** Fails unless the answer has this status and code. */
  refused(answer: Promise<Answer>, status: number, code: string): Promise<Answer>;
  close(): Promise<void>;
}

export interface OpenOptions {
  hub: RunningHub;
  /** The environment with the URLs. */
  env: Record<string, string | undefined>;
}

function urlsOf(target: Target, env: OpenOptions['env'], mark: string): { url: URL; server: URL } {
  const url = new URL(env[target.variable] as string);
  if (target.dialect === 'mongodb') url.pathname = `/matrix_${mark}`;
  const server = target.serverVariable === undefined ? url : new URL(env[target.serverVariable] as string);
  return { url, server };
}

export async function openBench(target: Target, { hub, env }: OpenOptions): Promise<Bench> {
  const mark = randomBytes(4).toString('hex');
  const { url, server } = urlsOf(target, env, mark);
  const names = {
    items: `matrix_items_${mark}`,
    scratch: `matrix_scratch_${mark}`,
    numbers: `matrix_numbers_${mark}`,
    writer: `matrix_writer_${mark}`,
  };
  const operator = await openOperator(target.engine, server, names);
  const api = createApi(hub);
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: `matrix ${target.name}` }));
  const connectionSettings = settingsOf(target, url, env.TEST_CA);
  const source = async (change: object = {}): Promise<string> => {
    const settings = { ...connectionSettings, ...change };
    const body = { hubId, label: 's', engine: target.engine, connectionSettings: settings };
    return (await api.ok(api.post('/v1/sources', body))).sourceId;
  };
  const main = await source();
  const store = (text: Text, { types = {}, command, sourceId = main }: AskOptions = {}) => {
    const query = typeof text === 'string' ? text : JSON.stringify(text);
    const context = Object.entries(types).map(([key, type]) => ({ key, type }));
    const declared = context.length === 0 ? {} : { context };
    const body = { hubId, sourceId, label: 'q', query, ...(command ? { command } : {}), ...declared };
    return api.post('/v1/queries', body);
  };
  const ask = async (text: Text, asked: AskOptions = {}) => {
    const stored = await store(text, asked);
    if (stored.status !== 200) return stored;
    const { queryId } = stored.body.config.query;
    const { context = {}, options = {}, accept = 'application/json' } = asked;
    return api.post('/v1/queries/execute', { queryId, context, options }, { headers: { accept } });
  };
  return {
    ...names,
    target,
    hub,
    api,
    operator,
    lock: Number.parseInt(mark, 16) >>> 1,
    pick: (texts) => {
      const text = texts[target.dialect];
      if (text === undefined) throw new Error(`This check has no text for ${target.dialect}.`);
      return text;
    },
    source,
    test: (sourceId = main) => api.post(`/v1/sources/${sourceId}/test`),
    store,
    ask,
    rows: async (text, asked) => (await api.ok(ask(text, asked))).data,
    refused: async (answer, status, code) => {
      const { status: is, body, text } = await answer;
      assert.deepEqual([is, body?.code], [status, code], text.slice(0, 500));
      return answer;
    },
    close: () => operator.close(),
  };
}

function settingsOf(target: Target, url: URL, ca: string | undefined): object {
  return {
    ...accessOf(url),
    ...(target.tls && ca !== undefined ? { tls: { mode: 'verify-full', ca: readFileSync(ca, 'utf8') } } : {}),
    ...target.settings,
  };
}

/** Returns the version that the server reports to the hub, after the version of a pooler in front of it. */
export async function versionOf(bench: Bench, env: OpenOptions['env']): Promise<string> {
  const { serverVersion } = await bench.api.ok(bench.test());
  const { poolerVersion, variable } = bench.target;
  if (poolerVersion === undefined) return serverVersion;
  const url = new URL(env[variable] as string);
  if (poolerVersion.database !== undefined) url.pathname = `/${poolerVersion.database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const { rows } = await client.query(poolerVersion.command);
  await client.end();
  const [version] = /\d[\d.]*/.exec(String(Object.values(rows[0])[0])) ?? [];
  return `${bench.target.name.split(',')[0]} ${version} in front of ${serverVersion}`;
}
