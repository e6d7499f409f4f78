/**
 * CPU of small executions after the process had nothing to do for a while, against before, and against a hand-written
 * endpoint. V8 collects garbage at rest, and can drop compiled code then.
 */

import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { type Server, startServer } from './support/child.ts';
import { load, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printRow } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 1);
/** V8 waits for 8 seconds with few allocations. */
const restMs = 15_000;
const inFlight = 32;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));

const cpuOf = async (server: Server) => (await load(server, { seconds, inFlight })).cpuMicros;

async function measure(databaseUrl: string): Promise<void> {
  const byHand = await startServer(path('by-hand'), ['postgres', databaseUrl, 'small']);
  const hub = await startServer(path('hub'), ['postgres', databaseUrl, 'small', 'single'], v8Flags);
  await warmUp([byHand, hub], inFlight);
  const found: { before: number; after: number; byHand: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = await cpuOf(hub);
    await cpuOf(byHand);
    await new Promise((resolve) => setTimeout(resolve, restMs));
    found.push({ before, after: await cpuOf(hub), byHand: await cpuOf(byHand) });
  }
  await Promise.all([byHand.stop(), hub.stop()]);
  const pairs = (baseline: 'before' | 'byHand') =>
    found.map((round) => ({ ours: round.after, baseline: round[baseline] }));
  const row = { unit: 'µs', better: 'lower' } as const;
  printRow({ ...row, name: 'after a rest, against before', pairs: pairs('before'), goal: 1.3 });
  printRow({ ...row, name: 'after a rest, against by hand', pairs: pairs('byHand'), goal: 1.5 });
}

if (url === undefined) process.stdout.write('rest: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall('postgres', url);
  printHead(`CPU of a small execution in the first ${seconds} s after a rest of ${restMs / 1_000} s`);
  await measure(url);
}
