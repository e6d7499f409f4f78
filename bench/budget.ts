/**
 * One budget for one database: five executors against one with the same `pool.max`, while executors are restarted, killed
 * and paused; and how often an execution finds its statement prepared when many sources are spread over five executors.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { type DistributedHub, startDistributed } from '../services/hub/src/distributed.ts';
import { once } from './support/load.ts';
import { printHead, printRow, quantile } from './support/table.ts';

const url = new URL(process.env.POSTGRES_URL ?? '');
const callers = Number(process.env.BENCH_CALLERS ?? 2_000);
const seconds = Number(process.env.BENCH_SECONDS ?? 20);
const pauseMs = Number(process.env.BENCH_PAUSE_MS ?? 30_000);
const poolMax = 10;
const executors = 5;
const database = `bench_budget_${randomBytes(3).toString('hex')}`;
const key = `bench-key-${randomBytes(16).toString('hex')}`;
const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
const print = (name: string, value: string) => process.stdout.write(`${name.padEnd(64)}${value}\n`);

const openHub = (executor: number) =>
  startDistributed(
    {
      PORT: '0',
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_API_KEY: key,
      DATAHUB_DATA_DIR: mkdtempSync(join(tmpdir(), 'datahub-bench-')),
      DATAHUB_LOG_LEVEL: 'error',
      DATAHUB_EDGE: 'none',
      DATAHUB_REQUEST_TIMEOUT_MS: '120000',
      // All callers wait; the bench measures how long.
      DATAHUB_POOL_WAIT_MS: '60000',
      DATAHUB_CONNECTIONS_MAX: '1000',
      DATAHUB_CONNECTIONS_PER_ACCOUNT_MAX: '600',
      DATAHUB_DRIFT_INTERVAL_MS: '0',
    },
    'inherit',
    { replicas: { executor } },
  );

async function post(hub: DistributedHub, path: string, body: object): Promise<any> {
  const target = `http://127.0.0.1:${hub.port}${path}`;
  const response = await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = await response.json();
  if (!response.ok) throw new Error(JSON.stringify(answer));
  return answer;
}

async function store(hub: DistributedHub, hubId: string, text: string): Promise<string> {
  const { hostname: host, port, username: user, password } = url;
  const secret = decodeURIComponent(password);
  const access = { host, port: Number(port), user, password: secret, database, tls: { mode: 'disable' } };
  const connectionSettings = { ...access, pool: { max: poolMax, idleTimeoutMs: 600_000 } };
  const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
  const { sourceId } = await post(hub, '/v1/sources', source);
  const query = { hubId, sourceId, label: 'q', query: text };
  return (await post(hub, '/v1/queries', query)).config.query.queryId;
}

/** Asks the database without a pause how many sessions run statements. */
async function watchSessions() {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const seen = { most: 0, now: 0 };
  let stopped = false;
  const where = "datname = $1 AND state <> 'idle'";
  const looking = (async () => {
    while (!stopped) {
      const sql = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${where}`;
      seen.now = (await client.query(sql, [database])).rows[0].n;
      seen.most = Math.max(seen.most, seen.now);
    }
  })();
  const stop = () => {
    stopped = true;
    return looking.then(() => client.end());
  };
  return { seen, stop };
}

/** Sends calls until stopped; `take` returns the times since the last one. */
function startCalls(hub: DistributedHub, queryId: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const target = { url: `http://127.0.0.1:${hub.port}/v1/queries/execute`, headers };
  const server = { ...target, body: JSON.stringify({ queryId }) };
  let times: number[] = [];
  let failed = 0;
  let stopped = false;
  const call = async () => {
    while (!stopped) {
      const startedAt = performance.now();
      await once(server, agent).then(
        () => times.push(performance.now() - startedAt),
        () => {
          failed++;
          return sleep(100);
        },
      );
    }
  };
  const running = Promise.all(Array.from({ length: callers }, call));
  return {
    take: () => {
      const taken = { times, failed };
      times = [];
      failed = 0;
      return taken;
    },
    stop: () => {
      stopped = true;
      return running.then(() => agent.destroy());
    },
  };
}

async function measure(
  count: number,
  disturb?: (hub: DistributedHub, seen: { now: number }) => Promise<void>,
) {
  const hub = await openHub(count);
  const sessions = await watchSessions();
  try {
    const { hubId } = await post(hub, '/v1/hubs', { label: 'bench' });
    const calls = startCalls(hub, await store(hub, hubId, 'SELECT pg_sleep(0.01)'));
    await sleep(seconds * 1_000);
    calls.take();
    await sleep(seconds * 1_000);
    const calm = calls.take();
    await disturb?.(hub, sessions.seen);
    const disturbed = calls.take();
    await calls.stop();
    return { calm, disturbed, most: sessions.seen.most };
  } finally {
    await sessions.stop();
    await hub.close();
  }
}

/** The number of the executor that has the most connections. */
async function findBusiest(hub: DistributedHub): Promise<number> {
  const used = await Promise.all(
    hub.executorMetricsPorts.map(async (port) => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      return Number(/^datahub_slots\{state="used"\} (\d+)$/m.exec(text)?.[1] ?? 0);
    }),
  );
  return used.indexOf(Math.max(...used));
}

async function disturb(hub: DistributedHub, seen: { now: number }): Promise<void> {
  const untilFull = async () => {
    while (seen.now < poolMax) await sleep(5);
  };
  for (let i = 0; i < executors; i++) await hub.restart('executor', i);
  await untilFull();
  const killed = await findBusiest(hub);
  const killedAt = performance.now();
  const restarted = hub.restart('executor', killed, 'SIGKILL');
  while (seen.now === poolMax) await sleep(1);
  const closedAt = performance.now();
  await untilFull();
  const [closed, full] = [closedAt - killedAt, performance.now() - closedAt];
  print('the busiest executor is killed: its connections are closed after', `${closed.toFixed(0)} ms`);
  print('  the whole budget is used again after', `${(full / 1_000).toFixed(1)} s (goal ≤ 15)`);
  await restarted;
  await untilFull();
  const pid = hub.pidOf('executor', await findBusiest(hub));
  process.kill(pid, 'SIGSTOP');
  await sleep(pauseMs);
  process.kill(pid, 'SIGCONT');
  await untilFull();
}

async function countConnects(hub: DistributedHub): Promise<number> {
  let connects = 0;
  for (const port of hub.executorMetricsPorts) {
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const [, n] of text.matchAll(/^datahub_source_connects_total\S*code="OK"\S* (\d+)$/gm))
      connects += Number(n);
  }
  return connects;
}

async function measurePrepared(): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  const { rows } = await client.query("SELECT current_setting('max_connections')::int AS n");
  await client.end();
  const sources = Math.min(Number(process.env.BENCH_SOURCES ?? 1_000), Math.floor(rows[0].n / 4));
  const hub = await openHub(executors);
  try {
    const { hubId } = await post(hub, '/v1/hubs', { label: 'bench' });
    const queries: string[] = [];
    for (let i = 0; i < sources; i++) queries.push(await store(hub, hubId, `SELECT ${i} AS n`));
    const run = async (count: number) => {
      let sent = 0;
      const call = async () => {
        while (sent++ < count) {
          const queryId = queries[Math.floor(Math.random() * sources)];
          await post(hub, '/v1/queries/execute', { queryId });
        }
      };
      await Promise.all(Array.from({ length: 16 }, call));
    };
    // The first executions open the connections.
    await run(20 * sources);
    const before = await countConnects(hub);
    const runs = 50 * sources;
    await run(runs);
    const connects = (await countConnects(hub)) - before;
    // Each source has one query, so each connection prepares one statement.
    const share = (100 * (1 - connects / runs)).toFixed(1);
    print(`${sources} sources, ${runs} executions: found their statement prepared`, `${share} % (goal ≥ 95)`);
  } finally {
    await hub.close();
  }
}

const admin = new pg.Client({ connectionString: url.href });
await admin.connect();
await admin.query(`CREATE DATABASE ${database}`);
try {
  printHead(`${executors} executors against one, pool.max ${poolMax}, ${callers} callers`);
  const one = await measure(1);
  const five = await measure(executors, disturb);
  const p99 = (times: number[]) => quantile(times, 0.99);
  const pairs = [{ ours: p99(five.calm.times), baseline: p99(one.calm.times) }];
  printRow({ name: 'p99', unit: 'ms', pairs, better: 'lower', goal: 1.3 });
  const perSecond = (times: number[]) => times.length / seconds;
  const rates = [{ ours: perSecond(five.calm.times), baseline: perSecond(one.calm.times) }];
  printRow({ name: 'executions', unit: '/s', pairs: rates, better: 'higher', goal: 0.9 });
  const { times, failed } = five.disturbed;
  print('while executors restart, pause and are killed: p99', `${p99(times).toFixed(0)} ms`);
  print('  executions, and failed ones', `${times.length}, ${failed}`);
  print('most sessions that ran statements at one time', `${five.most} (goal ≤ ${poolMax})`);
  await measurePrepared();
} finally {
  await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
  await admin.end();
}
