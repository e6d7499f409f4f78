/** One indexed row, 32 in flight: CPU of all own processes for one request, and requests a second, against by hand. */

import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { startServer } from './support/child.ts';
import { type Load, load, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printLeftOut, printRow } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const inFlight = 32;

async function compare(
  form: 'single' | 'distributed',
  goals: { cpu: number; perSecond: number },
): Promise<void> {
  const byHand = await startServer(path('by-hand'), ['postgres', url as string, 'small']);
  const hub = await startServer(path('hub'), ['postgres', url as string, 'small', form], v8Flags);
  await warmUp([byHand, hub], inFlight);
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    const baseline = await load(byHand, { seconds, inFlight });
    return { ours: await load(hub, { seconds, inFlight }), baseline };
  });
  await Promise.all([byHand.stop(), hub.stop()]);
  const of = (name: keyof Load) =>
    rounds.map(({ ours, baseline }) => ({ ours: ours[name], baseline: baseline[name] }));
  printRow({
    name: `${form}: CPU per request`,
    unit: 'µs',
    pairs: of('cpuMicros'),
    better: 'lower',
    goal: goals.cpu,
  });
  printRow({
    name: `${form}: requests`,
    unit: '/s',
    pairs: of('perSecond'),
    better: 'higher',
    goal: goals.perSecond,
  });
  printRow({ name: `${form}: p99`, unit: 'ms', pairs: of('p99Ms'), better: 'lower', goal: 1.3 });
  printLeftOut(disturbed);
}

if (url === undefined) process.stdout.write('small-execution: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall(url);
  printHead(`One small execution on PostgreSQL, ${inFlight} in flight, against a hand-written endpoint`);
  await compare('single', { cpu: 1.2, perSecond: 0.9 });
  await compare('distributed', { cpu: 1.4, perSecond: 0.9 });
}
