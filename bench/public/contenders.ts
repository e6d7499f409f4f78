/** Starts the contenders, each in one process. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { argumentsOf, root } from '../support/trees.ts';
import { type Case, cases, numbered, toQuery } from './cases.ts';
import { connectionsMax } from './limits.ts';

export interface Call {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
}

export interface Contender {
  name: string;
  pid: number;
  callOf(one: Case): Call;
  /** The rows of an answer. */
  rowsOf(answer: any): unknown[];
  stop(): Promise<void>;
}

const key = `bench-key-${randomBytes(16).toString('hex')}`;
const startTimeoutMs = 60_000;

interface Program {
  command: string;
  args: string[];
  cwd?: string;
}

async function startProcess({ command, args, cwd }: Program, env: Record<string, string>) {
  const child: ChildProcess = spawn(command, args, { cwd, stdio: 'ignore', env: { ...process.env, ...env } });
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  return { pid: child.pid as number, stop };
}

async function untilAnswering(url: string): Promise<void> {
  const deadline = performance.now() + startTimeoutMs;
  const answers = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  while (!(await answers())) {
    if (performance.now() > deadline) throw new Error(`Nothing answers at ${url}.`);
    await sleep(20);
  }
}

interface HubOptions {
  name?: string;
  tree?: string;
  /** Sends all cases by POST, because trees from before 2026-11-23 have no other route. */
  isPostOnly?: boolean;
}

/** The hub of a tree. */
export async function startHub(
  databaseUrl: string,
  { name = 'hub', tree = root, isPostOnly = false }: HubOptions = {},
): Promise<Contender> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = await argumentsOf(tree);
  const running = await startProcess(
    { command: process.execPath, args, cwd: tree },
    {
      PORT: String(port),
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_DEMO: '0',
      DATAHUB_API_KEY: key,
      DATAHUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'datahub-public-')),
    },
  );
  await untilAnswering(`${url}/healthz`);
  const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
  const queryIds = await storeQueries(url, headers, databaseUrl);
  return {
    name,
    ...running,
    rowsOf: ({ data }) => data,
    callOf: ({ name, method, values }) => {
      const queryId = queryIds.get(name);
      if (method === 'GET' && !isPostOnly)
        return { url: `${url}/v1/queries/${queryId}/data?${toQuery(values)}`, method, headers };
      const body = JSON.stringify({ queryId, context: values });
      return { url: `${url}/v1/queries/execute`, method: 'POST', headers, body };
    },
  };
}

async function storeQueries(url: string, headers: Record<string, string>, databaseUrl: string) {
  const post = async (path: string, body: object): Promise<any> => {
    const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
    return response.json();
  };
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const { hubId } = await post('/v1/hubs', { label: 'public' });
  const connectionSettings = {
    host: hostname,
    port: Number(port),
    user: username,
    password: decodeURIComponent(password),
    database: pathname.slice(1),
    tls: { mode: 'disable' },
    pool: { max: connectionsMax },
  };
  const body = { hubId, label: 'public', engine: 'postgres', connectionSettings };
  const { sourceId } = await post('/v1/sources', body);
  const queryIds = new Map<string, string>();
  for (const { name, sql, values } of cases) {
    const context = Object.entries(values).map(([variable, value]) => ({
      key: variable,
      type: typeof value === 'string' ? 'string' : 'json',
    }));
    const stored = await post('/v1/queries', { hubId, sourceId, label: name, query: sql, context });
    queryIds.set(name, stored.config.query.queryId);
  }
  return queryIds;
}

export async function startByHand(databaseUrl: string): Promise<Contender> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = fileURLToPath(new URL('by-hand.ts', import.meta.url));
  const running = await startProcess(
    { command: process.execPath, args: [program, databaseUrl, String(port), key] },
    {
      NODE_ENV: 'production',
    },
  );
  await untilAnswering(url);
  const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
  return {
    name: 'by hand',
    ...running,
    rowsOf: (rows) => rows,
    callOf: ({ name, method, values }) =>
      method === 'GET'
        ? { url: `${url}/${name}?${toQuery(values)}`, method, headers }
        : { url: `${url}/${name}`, method, headers, body: JSON.stringify(values) },
  };
}

/**
 * pREST 1.5.5: its scripts paste parameters into the statement, so they are in quotes here. It checks no key. It reads
 * parameters from the address alone, so the case `post` is a GET.
 */
export async function startPrest(binary: string, databaseUrl: string): Promise<Contender> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const scripts = mkdtempSync(join(tmpdir(), 'datahub-prest-'));
  mkdirSync(join(scripts, 'bench'));
  for (const { name, sql } of cases) {
    const text = sql.replace(/:([a-z]\w*)/g, (_, variable: string) => `'{{.${variable}}}'`);
    writeFileSync(join(scripts, 'bench', `${name}.read.sql`), text);
  }
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const running = await startProcess(
    { command: binary, args: [] },
    {
      PREST_HTTP_PORT: String(port),
      PREST_HTTP_HOST: '127.0.0.1',
      PREST_PG_HOST: hostname,
      PREST_PG_PORT: databasePort,
      PREST_PG_USER: username,
      PREST_PG_PASS: decodeURIComponent(password),
      PREST_PG_DATABASE: pathname.slice(1),
      PREST_SSL_MODE: 'disable',
      PREST_PG_SSL_MODE: 'disable',
      PREST_PG_MAXOPENCONN: String(connectionsMax),
      PREST_PG_MAXIDLECONN: String(connectionsMax),
      PREST_QUERIES_LOCATION: scripts,
      PREST_JWT_DEFAULT: 'false',
      PREST_CACHE_ENABLED: 'false',
      GOMAXPROCS: '1',
    },
  );
  await untilAnswering(url);
  return {
    name: 'pREST',
    ...running,
    rowsOf: (rows) => rows,
    callOf: ({ name, values }) => ({
      url: `${url}/_QUERIES/bench/${name}?${toQuery(values)}`,
      method: 'GET',
      headers: {},
    }),
  };
}

/** MCP Toolbox for Databases: each case is a tool, called over its MCP endpoint. It checks no key. */
export async function startToolbox(binary: string, databaseUrl: string): Promise<Contender> {
  const port = await freePort();
  const { hostname, port: databasePort, username, password, pathname } = new URL(databaseUrl);
  const source = {
    kind: 'source',
    name: 'public',
    type: 'postgres',
    host: hostname,
    port: databasePort,
    database: pathname.slice(1),
    user: username,
    password: decodeURIComponent(password),
    queryParams: { sslmode: 'disable', pool_max_conns: String(connectionsMax) },
  };
  const tools = cases.map(({ name, sql }) => {
    const { text, names } = numbered(sql);
    const parameters = names.map((variable) => ({ name: variable, type: 'string', description: variable }));
    const answers = { description: name, statement: text, parameters };
    return { kind: 'tool', name, type: 'postgres-sql', source: 'public', ...answers };
  });
  const config = join(mkdtempSync(join(tmpdir(), 'datahub-toolbox-')), 'tools.yaml');
  // JSON is YAML.
  writeFileSync(config, [source, ...tools].map((part) => JSON.stringify(part)).join('\n---\n'));
  const flags = ['--disable-reload', '--disable-version-check', '--log-level', 'WARN'];
  const running = await startProcess(
    { command: binary, args: ['--config', config, '--port', String(port), ...flags] },
    {
      GOMAXPROCS: '1',
    },
  );
  const url = `http://127.0.0.1:${port}`;
  await untilAnswering(url);
  return {
    name: 'Toolbox',
    ...running,
    rowsOf: ({ result }) => (result.isError ? [] : result.content),
    callOf: ({ name, values }) => {
      const texts = Object.entries(values).map(([variable, value]) => [
        variable,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]);
      const params = { name, arguments: Object.fromEntries(texts) };
      return {
        url: `${url}/mcp`,
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      };
    },
  };
}
