/**
 * Two workers against one process, by the query of `small-execution`: CPU of all processes per request, how evenly the
 * workers are busy, the time to the first answer and the memory of each process. On fewer than four cores, the load and
 * the database take turns with the workers, so the rate says little, and a request costs more in each program. The
 * second comparison therefore gives each process the same load as one process, at a rate that leaves the cores idle in
 * between.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { memoryOf, type Server, startServer, threadsCpuOf } from './support/child.ts';
import { once } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { median, printHead, printLeftOut, printRow, quantile } from './support/table.ts';
import { startWorkers } from './support/workers.ts';

const url = process.env.POSTGRES_URL;
if (url === undefined) throw new Error('POSTGRES_URL is not set.');
const path = fileURLToPath(new URL('support/hub.ts', import.meta.url));
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 5);
const requests = Number(process.env.BENCH_REQUESTS ?? 4_000);
const warmUpRequests = 5 * requests;
const inFlight = 32;
/** The rate of the second comparison for each process, as a share of the most that one process reaches. */
const pacedShare = 1 / 4;

interface Named {
  pid: number;
  name: string;
}

/** By the program of each process; the supervisor's is `main`. */
function nameAll(pids: readonly number[]): Named[] {
  const nameOf = (pid: number) =>
    /src\/(?:workers\/)?(\w+)\.ts/.exec(readFileSync(`/proc/${pid}/cmdline`, 'utf8'))?.[1] ?? '';
  return pids.map((pid) => ({ pid, name: nameOf(pid).replace('main', 'supervisor') }));
}

const memoryOfAll = (processes: readonly Named[]) =>
  processes.map(({ pid, name }) => `${name} ${memoryOf(pid).toFixed(0)} MiB`).join(', ');

/** The first start of a directory creates keys and stores. */
async function measureStart(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  for (let i = 0; i < 4; i++) {
    const { pids, startMs, stop } = await startWorkers(2, { DATAHUB_DATA_DIR: dataDir });
    await sleep(500);
    if (i > 0)
      process.stdout.write(`Ready after ${startMs.toFixed(0)} ms; memory: ${memoryOfAll(nameAll(pids))}\n`);
    await stop();
  }
  rmSync(dataDir, { recursive: true, force: true });
}

await measureStart();
await setUpSmall('postgres', url);
const single = await startServer(path, ['postgres', url, 'small', 'single'], v8Flags);
const several = await startServer(path, ['postgres', url, 'small', 'workers'], v8Flags);
const named = nameAll(several.pids);
const workers = named.filter(({ name }) => name === 'worker').map(({ pid }) => pid);

interface Load {
  count: number;
  inFlight: number;
  /** The most requests a second. */
  pace?: number;
}

/** A fixed number of requests, so that both are equally warm however busy the machine is. */
async function measure(server: Server, { count, inFlight, pace = Number.POSITIVE_INFINITY }: Load) {
  const agent = new Agent({ keepAlive: true, maxSockets: inFlight });
  const times: number[] = [];
  const cpuBefore = await server.cpu();
  const began = performance.now();
  let sent = 0;
  const client = async () => {
    for (let i = sent++; i < count; i = sent++) {
      const waitMs = began + (i * 1_000) / pace - performance.now();
      if (waitMs > 0) await sleep(waitMs);
      times.push((await once(server, agent)).ms);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, client));
  const perSecond = (count * 1_000) / (performance.now() - began);
  agent.destroy();
  return {
    perSecond,
    cpuMicros: ((await server.cpu()) - cpuBefore) / count,
    p99Ms: quantile(times, 0.99),
  };
}

/** Rounds of both, and in each the CPU of the busier worker by that of the other one. */
async function compare(ours: Load, baseline: Load) {
  const shares: number[] = [];
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    const one = await measure(single, baseline);
    const before = workers.map((pid) => threadsCpuOf(pid));
    const two = await measure(several, ours);
    const used = workers.map((pid, i) => threadsCpuOf(pid) - (before[i] as number));
    shares.push(Math.max(...used) / Math.min(...used));
    return { ours: two, baseline: one };
  });
  const pairsOf = (name: 'cpuMicros' | 'perSecond' | 'p99Ms') =>
    rounds.map(({ ours, baseline }) => ({ ours: ours[name], baseline: baseline[name] }));
  printRow({ name: 'CPU per request', unit: 'µs', pairs: pairsOf('cpuMicros'), better: 'lower', goal: 1.15 });
  printRow({ name: 'requests', unit: '/s', pairs: pairsOf('perSecond'), better: 'higher', goal: 1 });
  printRow({ name: 'p99', unit: 'ms', pairs: pairsOf('p99Ms'), better: 'lower', goal: 1.3 });
  printRow({
    name: 'CPU of the busier worker, of the other one',
    unit: '',
    pairs: shares.map((ours) => ({ ours, baseline: 1 })),
    better: 'lower',
    goal: 1.2,
  });
  printLeftOut(disturbed);
  return median(rounds.map((round) => round.baseline.perSecond));
}

// Each worker gets half of the requests.
await measure(single, { count: warmUpRequests, inFlight });
await measure(several, { count: 2 * warmUpRequests, inFlight });
printHead(`Two workers against one process, ${inFlight} in flight`);
const most = await compare({ count: requests, inFlight }, { count: requests, inFlight });
const pace = Math.round(most * pacedShare);
printHead(`The same load for each process: ${inFlight / 2} in flight, ${pace} requests a second`);
await compare(
  { count: 2 * requests, inFlight, pace: 2 * pace },
  { count: requests, inFlight: inFlight / 2, pace },
);

process.stdout.write(`Resident memory after the load: ${memoryOfAll(named)}\n`);
await Promise.all([single.stop(), several.stop()]);
