/** p99 of small executions at half of the maximum rate, against a hand-written endpoint at the same rate. */

import { Agent } from 'node:http';
import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { type Server, startServer } from './support/child.ts';
import { load, once, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printRow, printTogether, quantile } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 7);
const seconds = Number(process.env.BENCH_SECONDS ?? 1);
/** Both are measured in turns within one round, because the speed of a shared machine changes from second to second. */
const turns = 3;
const inFlight = 32;
const everyMs = 2;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));

/** Response times of an open-loop load: requests are sent at a fixed rate, even if earlier ones are not answered. */
async function timesAt(server: Server, perSecond: number): Promise<{ times: number[]; failed: number }> {
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
  return { times, failed };
}

async function compare(form: 'single' | 'distributed', databaseUrl: string): Promise<void> {
  const byHand = await startServer(path('by-hand'), ['postgres', databaseUrl, 'small']);
  const hub = await startServer(path('hub'), ['postgres', databaseUrl, 'small', form], v8Flags);
  await warmUp([byHand, hub], inFlight);
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    const half = (await load(hub, { seconds, inFlight })).perSecond / 2;
    const round = { half, ours: [] as number[], baseline: [] as number[], failed: { ours: 0, baseline: 0 } };
    for (let turn = 0; turn < turns; turn++) {
      for (const [name, server] of [
        ['baseline', byHand],
        ['ours', hub],
      ] as const) {
        const { times, failed } = await timesAt(server, half);
        round[name].push(...times);
        round.failed[name] += failed;
      }
    }
    return round;
  });
  await Promise.all([byHand.stop(), hub.stop()]);
  const rates = rounds.map(({ half }) => half);
  printRow({
    name: `${form}: p99 at ${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)}/s`,
    unit: 'ms',
    pairs: rounds.map(({ ours, baseline }) => ({
      ours: quantile(ours, 0.99),
      baseline: quantile(baseline, 0.99),
    })),
    better: 'lower',
    goal: 1.3,
  });
  const all = (name: 'ours' | 'baseline') => rounds.flatMap((round) => round[name]);
  const failures = (name: 'ours' | 'baseline') => rounds.reduce((sum, { failed }) => sum + failed[name], 0);
  printTogether({ ours: all('ours'), baseline: all('baseline') }, disturbed);
  process.stdout.write(`${''.padEnd(44)}${failures('ours')} failed, by hand ${failures('baseline')}\n`);
}

if (url === undefined) process.stdout.write('half-rate: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall('postgres', url);
  printHead('The slowest of a hundred small executions at half of the highest rate');
  for (const form of ['single', 'distributed'] as const) await compare(form, url);
}
