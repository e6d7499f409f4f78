/** Small executions beside 10,000 watches, of which some are due each second, and what watches cost that are not due. */

import { readFile } from 'node:fs/promises';
import type { Api } from '../tests/support/api.ts';
import { accessOf } from '../tests/support/databases.ts';
import { type SpawnedHub, spawnHub } from '../tests/support/spawned.ts';
import { calmRounds } from './support/calm.ts';
import { threadsCpuOf } from './support/child.ts';
import { setUpSmall } from './support/small.ts';
import { median, printHead, printRow, printTogether, quantile } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const watches = Number(process.env.BENCH_WATCHES ?? 10_000);
/** Watches that are due each second. */
const rate = Number(process.env.BENCH_RATE ?? 50);
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 7);
const seconds = Number(process.env.BENCH_SECONDS ?? 8);
const idleSeconds = Number(process.env.BENCH_IDLE_SECONDS ?? 60);
const everyS = Math.round(watches / rate);
const requestsAtOnce = 16;
/** Between executions of the one client. */
const pauseMs = 10;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Prepared {
  hub: SpawnedHub;
  hubId: string;
  queryId: string;
}

async function prepare(databaseUrl: string): Promise<Prepared> {
  const hub = await spawnHub({});
  const { api } = hub;
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'bench' }));
  const source = { hubId, label: 's', engine: 'postgres', connectionSettings: accessOf(databaseUrl) };
  const { sourceId } = await api.ok(api.post('/v1/sources', source));
  const query = 'SELECT id, name, amount FROM bench_one WHERE id = 7';
  const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
  return { hub, hubId, queryId: stored.config.query.queryId };
}

/** Works through `count` calls, some at a time. */
async function each(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: requestsAtOnce }, worker));
}

interface Steady {
  /** In milliseconds. */
  times: number[];
  /** The share of the machine's CPU time that was used. */
  busy: number;
}

/** Sequential executions. */
async function steady(api: Api, queryId: string): Promise<Steady> {
  const times: number[] = [];
  const before = await machineTime();
  const endsAt = performance.now() + seconds * 1_000;
  for (let at = performance.now(); at < endsAt; at = performance.now()) {
    await api.ok(api.post('/v1/queries/execute', { queryId }));
    times.push(performance.now() - at);
    await sleep(pauseMs);
  }
  const after = await machineTime();
  return { times, busy: (after.busy - before.busy) / (after.total - before.total) };
}

/** From Linux (proc_stat(5)); NaN on other systems. */
async function machineTime(): Promise<{ busy: number; total: number }> {
  const text = await readFile('/proc/stat', 'utf8').catch(() => '');
  const ticks = (/^cpu +(.*)$/m.exec(text)?.[1] ?? '').split(' ').slice(0, 8).map(Number);
  const total = ticks.reduce((sum, one) => sum + one, 0);
  return { busy: total - (ticks[3] ?? Number.NaN) - (ticks[4] ?? 0), total };
}

/** The share of a core that a process takes while nothing is asked of it. */
async function idleShare({ pid }: SpawnedHub): Promise<number> {
  const before = threadsCpuOf(pid);
  await sleep(idleSeconds * 1_000);
  return (threadsCpuOf(pid) - before) / (idleSeconds * 1e6);
}

const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
const say = (text: string) => process.stdout.write(`${''.padEnd(44)}${text}\n`);

/** How many runs of watches the hub has. */
async function countRuns({ hub: { api }, hubId }: Prepared, outcome = 'ok'): Promise<number> {
  const { headers } = await api.get(`/v1/watches/runs?hubId=${hubId}&outcome=${outcome}&limit=1`);
  return Number(headers.get('x-total-count'));
}

/** While nothing else is asked of the hub, in milliseconds. */
async function cpuOfRun(prepared: Prepared): Promise<number> {
  const { pid } = prepared.hub;
  const [runs, cpu] = [await countRuns(prepared), threadsCpuOf(pid)];
  await sleep(1_000 * seconds);
  const spent = threadsCpuOf(pid) - cpu;
  return spent / 1_000 / ((await countRuns(prepared)) - runs);
}

async function compare(databaseUrl: string): Promise<void> {
  const [with_, without] = [await prepare(databaseUrl), await prepare(databaseUrl)];
  const { api } = with_.hub;
  const { hubId, queryId } = with_;
  const ids: string[] = [];
  const settings = { label: 'w', queryId, when: 'new', by: ['id'] };
  await each(watches, async () => {
    const schedule = { cron: '0 0 1 1 *', timeZone: 'UTC' };
    ids.push((await api.ok(api.post('/v1/watches', { hubId, ...settings, schedule }))).watchId);
  });
  await sleep(5_000);
  const [idle, base] = await Promise.all([idleShare(with_.hub), idleShare(without.hub)]);
  say(
    `${watches} watches that are not due: ${percent(idle)} of a core, without them ${percent(base)} (goal: at most 1 % more) ${idle - base <= 0.01 ? 'met' : 'MISSED'}`,
  );

  const schedule = { everyS, spreadS: everyS };
  await each(watches, (i) => api.ok(api.put(`/v1/watches/${ids[i]}`, { ...settings, schedule })));
  await Promise.all([steady(without.hub.api, without.queryId), steady(api, queryId)]);
  const runsBefore = await countRuns(with_);
  const startedAt = performance.now();
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    process.kill(with_.hub.pid, 'SIGSTOP');
    await sleep(1_000);
    const alone = await steady(without.hub.api, without.queryId);
    process.kill(with_.hub.pid, 'SIGCONT');
    // It runs what was due meanwhile.
    await sleep(2_000 * seconds);
    return { alone, beside: await steady(api, queryId) };
  });
  const perSecond = ((await countRuns(with_)) - runsBefore) / ((performance.now() - startedAt) / 1_000);
  const missed = await countRuns(with_, 'missed');
  const cpuMs = await cpuOfRun(with_);
  await Promise.all([with_.hub.close(), without.hub.close()]);
  const pairs = rounds.map(({ alone, beside }) => ({
    ours: quantile(beside.times, 0.99),
    baseline: quantile(alone.times, 0.99),
  }));
  const name = `p99 beside ${watches} watches, ${rate} due a second`;
  printRow({ name, unit: 'ms', pairs, better: 'lower', goal: 1.2 });
  const all = (of: 'alone' | 'beside') => rounds.flatMap((round) => round[of].times);
  printTogether({ ours: all('beside'), baseline: all('alone') }, disturbed);
  const busy = (of: 'alone' | 'beside') => percent(median(rounds.map((round) => round[of].busy)));
  say(
    `${perSecond.toFixed(1)} runs a second, ${missed} missed, each ${cpuMs.toFixed(2)} ms of CPU in the hub`,
  );
  say(`the machine was busy for ${busy('beside')}, alone ${busy('alone')}`);
}

if (url === undefined) process.stdout.write('watches: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall('postgres', url);
  printHead('Small executions beside watches, against without');
  await compare(url);
}
