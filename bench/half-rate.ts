/** The slowest of a hundred small executions at half of the highest rate, against by hand at the same rate. */

import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { youngGeneration } from '../tools/distributed.ts';
import { type Server, startServer } from './support/child.ts';
import { load, once } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printRow, quantile } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const seconds = Number(process.env.BENCH_SECONDS ?? 3);
const inFlight = 32;
const everyMs = 2;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));

/** Some every other millisecond, whether the last ones were answered or not. */
async function p99At(server: Server, perSecond: number): Promise<{ p99: number; failed: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const times: number[] = [];
  const running: Promise<unknown>[] = [];
  let failed = 0;
  const startedAt = performance.now();
  for (let sent = 0; performance.now() - startedAt < seconds * 1_000; ) {
    for (const due = ((performance.now() - startedAt) * perSecond) / 1_000; sent < due; sent++) {
      const call = once(server, agent).then(({ ms }) => times.push(ms));
      running.push(call.catch(() => failed++));
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  await Promise.all(running);
  agent.destroy();
  return { p99: quantile(times, 0.99), failed };
}

if (url === undefined) process.stdout.write('half-rate: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall(url);
  printHead('The slowest of a hundred small executions at half of the highest rate');
  for (const form of ['single', 'distributed'] as const) {
    const byHand = await startServer(path('by-hand'), ['postgres', url, 'small']);
    const hub = await startServer(path('hub'), ['postgres', url, 'small', form], youngGeneration);
    for (const server of [byHand, hub]) await load(server, { seconds: 5, inFlight });
    const { perSecond } = await load(hub, { seconds, inFlight });
    const pairs: { ours: number; baseline: number }[] = [];
    let failed = 0;
    for (let round = 0; round < rounds; round++) {
      const baseline = await p99At(byHand, perSecond / 2);
      const ours = await p99At(hub, perSecond / 2);
      pairs.push({ ours: ours.p99, baseline: baseline.p99 });
      failed += ours.failed;
    }
    await Promise.all([byHand.stop(), hub.stop()]);
    printRow({
      name: `${form}: p99 at ${Math.round(perSecond / 2)}/s`,
      unit: 'ms',
      pairs,
      better: 'lower',
      goal: 1.3,
    });
    process.stdout.write(`${''.padEnd(44)}${failed} failed\n`);
  }
}
