/** Small executions of one account, alone and while another account runs 200 hanging and 200 huge ones. */

import { execFile, fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Api, createApi } from '../tests/support/api.ts';
import { accessOf } from '../tests/support/databases.ts';
import { type SpawnedHub, spawnHub } from '../tests/support/spawned.ts';
import { calmRounds } from './support/calm.ts';
import { median, printHead, printRow, printTogether, quantile } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const seconds = Number(process.env.BENCH_SECONDS ?? 4);
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 6);
/** Time until 200 connections are open and the first responses have started. */
const settleMs = 1_000;
const command = fileURLToPath(new URL('../services/hub/src/cli.ts', import.meta.url));
const greedy = fileURLToPath(new URL('support/greedy.ts', import.meta.url));
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** An account with its own source on the same server. */
async function tenant(api: Api, databaseUrl: string) {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'bench' }));
  const connectionSettings = accessOf(databaseUrl);
  const store = async (query: string) => {
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    return (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }))).config.query
      .queryId as string;
  };
  return {
    small: await store('SELECT 1 AS one'),
    hanging: await store('SELECT pg_sleep(20)'),
    huge: await store("SELECT generate_series(1, 1000000) AS n, repeat('x', 100) AS filler"),
  };
}

async function otherAccount(hub: SpawnedHub): Promise<Api> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [command, 'keys', 'create', '--name', `other ${randomBytes(2).toString('hex')}`, '--new-account'],
    { env: { ...process.env, DATAHUB_DATA_DIR: hub.dataDir, DATAHUB_URL: hub.url } },
  );
  return createApi({ url: hub.url, key: JSON.parse(stdout).key });
}

interface Steady {
  /** In milliseconds. */
  times: number[];
  failed: number;
  /** The share of time in which the hub's main thread was runnable but had no core. */
  waited: number;
}

/** Sequential requests, at most 100 per second. */
async function steady(api: Api, queryId: string, pid: number): Promise<Steady> {
  const times: number[] = [];
  let failed = 0;
  const waitedBefore = await waitedMs(pid);
  const startedAt = performance.now();
  for (let at = startedAt; at < startedAt + seconds * 1_000; at = performance.now()) {
    const { status } = await api.post('/v1/queries/execute', { queryId });
    if (status !== 200) failed++;
    times.push(performance.now() - at);
    await sleep(10);
  }
  const waited = ((await waitedMs(pid)) - waitedBefore) / (performance.now() - startedAt);
  return { times, failed, waited };
}

/** The 99th percentile. */
const slowest = (times: number[]) => quantile(times, 0.99);

/** Read from Linux; NaN on other systems. */
async function waitedMs(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/schedstat`, 'utf8').catch(() => '');
  return Number(text.split(' ')[1] ?? Number.NaN) / 1e6;
}

async function compare(name: 'hanging' | 'huge', databaseUrl: string): Promise<void> {
  const hub = await spawnHub({});
  const theirs = await otherAccount(hub);
  const queryId = (await tenant(hub.api, databaseUrl))[name];
  const { small } = await tenant(theirs, databaseUrl);
  await steady(theirs, small, hub.pid);
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    const alone = await steady(theirs, small, hub.pid);
    const load = fork(greedy, [hub.url, hub.key, queryId]);
    await sleep(settleMs);
    const beside = await steady(theirs, small, hub.pid);
    load.kill('SIGKILL');
    await sleep(1_500);
    return { alone, beside };
  });
  await hub.close();
  printRow({
    name: `${name}: p99 of the other`,
    unit: 'ms',
    pairs: rounds.map(({ alone, beside }) => ({
      ours: slowest(beside.times),
      baseline: slowest(alone.times),
    })),
    better: 'lower',
    goal: 1.5,
  });
  const all = (of: 'alone' | 'beside') => rounds.flatMap((round) => round[of].times);
  printTogether({ ours: all('beside'), baseline: all('alone') }, disturbed);
  const failed = rounds.reduce((sum, { alone, beside }) => sum + alone.failed + beside.failed, 0);
  const wait = (of: 'alone' | 'beside') => (median(rounds.map((round) => round[of].waited)) * 100).toFixed(1);
  process.stdout.write(
    `${''.padEnd(44)}${failed} of its executions failed; the hub waited for a core in ${wait('beside')} % of the time, alone ${wait('alone')} %\n`,
  );
}

if (url === undefined) process.stdout.write('tenants: skipped, because POSTGRES_URL is not set.\n');
else {
  printHead('Small executions of one account, beside 200 at once of another, against alone');
  await compare('hanging', url);
  await compare('huge', url);
}
