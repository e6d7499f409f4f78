/** A query for one row by its index, 32 in flight: CPU of all processes of the hub per request, and requests per second, against a hand-written endpoint. */

import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { startServer } from './support/child.ts';
import { type Load, load, warmUp } from './support/load.ts';
import { type SmallEngine, setUpSmall } from './support/small.ts';
import { printHead, printLeftOut, printRow } from './support/table.ts';

const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const inFlight = 32;

interface Goals {
  cpu: number;
  perSecond: number;
}

async function compare(
  { engine, url }: { engine: SmallEngine; url: string },
  form: 'single' | 'distributed',
  goals: Goals,
): Promise<void> {
  const byHand = await startServer(path('by-hand'), [engine, url, 'small']);
  const hub = await startServer(path('hub'), [engine, url, 'small', form], v8Flags);
  await warmUp([byHand, hub], inFlight);
  const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
    const baseline = await load(byHand, { seconds, inFlight });
    return { ours: await load(hub, { seconds, inFlight }), baseline };
  });
  await Promise.all([byHand.stop(), hub.stop()]);
  const of = (name: keyof Load) =>
    rounds.map(({ ours, baseline }) => ({ ours: ours[name], baseline: baseline[name] }));
  printRow({
    name: `${engine}, ${form}: CPU per request`,
    unit: 'µs',
    pairs: of('cpuMicros'),
    better: 'lower',
    goal: goals.cpu,
  });
  printRow({
    name: `${engine}, ${form}: requests`,
    unit: '/s',
    pairs: of('perSecond'),
    better: 'higher',
    goal: goals.perSecond,
  });
  printRow({
    name: `${engine}, ${form}: p99`,
    unit: 'ms',
    pairs: of('p99Ms'),
    better: 'lower',
    goal: 1.3,
  });
  printLeftOut(disturbed);
}

/** As separate services the engines differ only in the executor, so one engine is enough there. */
const servers: [
  engine: SmallEngine,
  url: string | undefined,
  goals: { single: Goals; distributed?: Goals },
][] = [
  [
    'postgres',
    process.env.POSTGRES_URL,
    { single: { cpu: 1.2, perSecond: 0.9 }, distributed: { cpu: 1.4, perSecond: 0.9 } },
  ],
  ['mariadb', process.env.MARIADB_URL, { single: { cpu: 1.4, perSecond: 0.75 } }],
  ['mysql', process.env.MYSQL_URL, { single: { cpu: 1.4, perSecond: 0.75 } }],
];

printHead(`One small execution, ${inFlight} in flight, against a hand-written endpoint`);
for (const [engine, url, { single, distributed }] of servers) {
  if (url === undefined) {
    process.stdout.write(`small-execution: ${engine} skipped, because its URL is not in the environment.\n`);
    continue;
  }
  await setUpSmall(engine, url);
  await compare({ engine, url }, 'single', single);
  if (distributed !== undefined) await compare({ engine, url }, 'distributed', distributed);
}
