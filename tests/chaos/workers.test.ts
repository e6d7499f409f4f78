import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '@datahub/service-kit/process/free-port';
import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accessOf } from '../support/databases.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { processesOf } from '../support/worker-processes.ts';

const url = process.env.POSTGRES_URL as string;
const table = `workers_${randomBytes(4).toString('hex')}`;
const client = new pg.Client({ connectionString: url });

const clients = 8;

let hub: SpawnedHub;
let metricsPort: number;
let hubId: string;
let sourceId: string;
let insertId: string;
let readId: string;

beforeAll(async () => {
  await client.connect();
  await client.query(`CREATE TABLE ${table} (n int)`);
  metricsPort = await freePort();
  hub = await spawnHub({ DATAHUB_METRICS_PORT: String(metricsPort) }, ['--workers', '2']);
  // Served once all processes have started.
  while ((await metric('datahub_store_up').catch(() => 0)) !== 2) await sleep(50);
  const { api } = hub;
  hubId = (await api.ok(api.post('/v1/hubs', { label: 'workers' }))).hubId;
  const body = { hubId, label: 'source', engine: 'postgres', connectionSettings: accessOf(url) };
  sourceId = (await api.ok(api.post('/v1/sources', body))).sourceId;
  const number = { context: [{ key: 'n', type: 'integer' }] };
  insertId = await store(`INSERT INTO ${table} VALUES (:n)`, { command: 'INSERT', ...number });
  readId = await store('SELECT :n AS n', number);
});

afterAll(async () => {
  await hub?.close();
  await client.query(`DROP TABLE ${table}`);
  await client.end();
});

async function store(query: string, more: object): Promise<string> {
  const body = { hubId, sourceId, label: 'query', query, ...more };
  return (await hub.api.ok(hub.api.post('/v1/queries', body))).config.query.queryId;
}

/** One call over a connection of `agent`. Resolves with the status, or 0 if the connection was lost. */
function call(agent: Agent, queryId: string, n: number): Promise<number> {
  const body = JSON.stringify({ queryId, context: { n } });
  const headers = { 'x-service-api-key': hub.key, 'content-type': 'application/json' };
  return new Promise((resolve) => {
    const sent = request(`${hub.url}/v1/queries/execute`, { method: 'POST', agent, headers }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode as number));
      response.on('error', () => resolve(0));
    });
    sent.on('error', () => resolve(0)).end(body);
  });
}

/**
 * Calls from several clients, each with its own connection, until `stop`; `each` gets the number of the call, the status
 * and the number of the client.
 */
function startCalls(queryId: string, each: (n: number, status: number, client: number) => void) {
  let stopped = false;
  let n = 0;
  const runOne = async (client: number) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped) {
      n++;
      const mine = n;
      each(mine, await call(agent, queryId, mine), client);
    }
    agent.destroy();
  };
  const running = Promise.all(Array.from({ length: clients }, (_, client) => runOne(client)));
  return async () => {
    stopped = true;
    await running;
  };
}

/** Whether the hub accepts connections. */
function isListening(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

const workers = () => processesOf(hub.pid).workers;

/** The sum of a metric over its labels. */
async function metric(name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  const lines = text.split('\n').filter((line) => line.startsWith(name) && line.includes(labels));
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

it('serves on while a worker is killed, replaces it, and runs no call twice', async () => {
  const before = workers();
  expect(before).toHaveLength(2);
  const statuses = new Map<number, number>();
  const stop = startCalls(insertId, (n, status) => statuses.set(n, status));
  await expect.poll(() => statuses.size).toBeGreaterThan(50);
  process.kill(before[0] as number, 'SIGKILL');
  await expect.poll(() => workers().filter((pid) => pid !== before[0])).toHaveLength(2);
  const since = statuses.size;
  await expect.poll(() => statuses.size).toBeGreaterThan(since + 50);
  await stop();

  const { rows } = await client.query(`SELECT n, count(*)::int AS runs FROM ${table} GROUP BY n`);
  const runs = new Map(rows.map((row) => [row.n as number, row.runs as number]));
  expect(rows.filter((row) => row.runs > 1)).toEqual([]);
  const answered = [...statuses].filter(([, status]) => status === 200);
  expect(answered.filter(([n]) => runs.get(n) !== 1)).toEqual([]);
  // Only the connections of the killed worker fail, each at most once.
  const lost = [...statuses.values()].filter((status) => status !== 200);
  expect(lost.length).toBeLessThanOrEqual(8);
  expect(lost.filter((status) => status !== 0)).toEqual([]);
});

it('serves while a worker stands still, and replaces it once it is killed', async () => {
  const [stopped] = workers() as [number];
  process.kill(stopped, 'SIGSTOP');
  const texts: string[] = [];
  for (let i = 0; i < 8; i++) {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
    socket.setEncoding('utf8').on('data', (text: string) => void texts.push(text.slice(0, 12)));
    socket.write('GET /healthz HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n\r\n');
  }
  await expect.poll(() => texts).toEqual(Array(8).fill('HTTP/1.1 200'));
  process.kill(stopped, 'SIGKILL');
  await expect.poll(() => workers().filter((pid) => pid !== stopped)).toHaveLength(2);
});

it('leaves connections that no worker takes yet to the system, which bounds them', async () => {
  const both = workers();
  for (const pid of both) process.kill(pid, 'SIGSTOP');
  let connected = 0;
  const sockets = Array.from({ length: 1_500 }, () =>
    connect(Number(new URL(hub.url).port), '127.0.0.1', () => void connected++).on('error', () => {}),
  );
  await expect.poll(() => connected).toBeGreaterThan(500);
  await sleep(200);
  expect(readdirSync(`/proc/${hub.pid}/fd`).length).toBeLessThan(200);
  for (const socket of sockets) socket.resetAndDestroy();
  for (const pid of both) process.kill(pid, 'SIGCONT');
  expect((await fetch(`${hub.url}/healthz`)).status).toBe(200);
});

it('sums the metrics of all processes, and loses no count of one that ended', async () => {
  const name = 'datahub_http_request_duration_seconds_count';
  const executions = () => metric(name, 'route="/v1/queries/execute"');
  const before = await executions();
  const calls = async (count: number) => {
    for (let n = 0; n < count; n++) expect(await call(new Agent(), readId, n)).toBe(200);
  };
  await calls(20);
  expect(await executions()).toBe(before + 20);
  // The newest may not listen yet, and a hub without a listening worker refuses connections.
  const killed = workers().at(-1);
  process.kill(killed as number, 'SIGKILL');
  await expect.poll(() => workers().filter((pid) => pid !== killed)).toHaveLength(2);
  expect(await executions()).toBe(before + 20);
  await calls(20);
  expect(await executions()).toBe(before + 40);
  // Both workers served their share, and every process reports its memory.
  await expect.poll(() => metric('process_resident_memory_bytes', 'process="worker-2"')).toBeGreaterThan(0);
  expect(await metric('datahub_store_up')).toBe(2);
});

it('answers known queries while the owner is killed, and starts it again', async () => {
  const [owner] = processesOf(hub.pid).owner;
  const newId = await store('SELECT :n + 1 AS n', { context: [{ key: 'n', type: 'integer' }] });
  const statuses: number[] = [];
  const served = new Set<number>();
  const stop = startCalls(readId, (_n, status, client) => {
    statuses.push(status);
    served.add(client);
  });
  // Both workers have a connection then. While the owner is away, they get no further ones.
  await expect.poll(() => served.size).toBe(clients);
  process.kill(owner as number, 'SIGKILL');
  // A query that no worker knows yet, over connections to both of them.
  const callBoth = () => Promise.all([1, 2, 3, 4].map((n) => call(new Agent(), newId, n)));
  await expect.poll(callBoth).toEqual([200, 200, 200, 200]);
  await expect.poll(async () => (await hub.api.post('/v1/hubs', { label: 'back' })).status).toBe(200);
  await stop();
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(processesOf(hub.pid).owner).not.toContain(owner);
});

it('serves as soon as it is ready after everything was killed', async () => {
  const { dataDir, key, close } = hub;
  const { owner, workers: both } = processesOf(hub.pid);
  // Both workers hold connections.
  const callBoth = () => Promise.all([1, 2, 3, 4].map((n) => call(new Agent(), readId, n)));
  await expect.poll(callBoth).toEqual([200, 200, 200, 200]);
  for (const pid of [hub.pid, ...owner, ...both]) process.kill(pid, 'SIGKILL');
  const settings = {
    DATAHUB_METRICS_PORT: String(metricsPort),
    DATAHUB_DATA_DIR: dataDir,
    DATAHUB_API_KEY: key,
  };
  const startedAt = performance.now();
  const next = await spawnHub(settings, ['--workers', '2']);
  hub = { ...next, close: () => Promise.all([next.close(), close()]).then(() => {}) };
  const readyMs = performance.now() - startedAt;
  expect(await callBoth()).toEqual([200, 200, 200, 200]);
  const answeredMs = performance.now() - startedAt;
  console.log(`ready after ${readyMs.toFixed(0)} ms, four answers after ${answeredMs.toFixed(0)} ms`);
});

it('lets running calls finish at SIGTERM, and stops all processes', async () => {
  const waitingId = await store(`SELECT :n AS n, count(*) FROM ${table}`, {
    context: [{ key: 'n', type: 'integer' }],
  });
  // One after the other, some go to each of the workers, which then both know the query.
  const callBoth = async () => {
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push(await call(new Agent(), waitingId, n));
    return statuses;
  };
  await expect.poll(callBoth).toEqual([200, 200, 200, 200]);
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${table}`);
  const { owner, workers: both } = processesOf(hub.pid);
  const answers = Array.from({ length: 4 }, (_, n) => call(new Agent(), waitingId, n));
  await expect.poll(() => metric('datahub_pool_connections', 'state="busy"')).toBe(4);
  // As systemd does.
  for (const pid of [hub.pid, ...owner, ...both]) process.kill(pid, 'SIGTERM');
  await expect.poll(isListening).toBe(false);
  await client.query('COMMIT');
  expect(await Promise.all(answers)).toEqual([200, 200, 200, 200]);
  const isAlive = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  await expect.poll(() => [hub.pid, ...owner, ...both].filter(isAlive)).toEqual([]);
});
