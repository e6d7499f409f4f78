/** Compares a cached small read with the same read at PostgreSQL: CPU time of all the hub's processes per request. */

import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { startServer } from './support/child.ts';
import { type Load, load, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printLeftOut, printRow } from './support/table.ts';

const path = fileURLToPath(new URL('support/hub.ts', import.meta.url));
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const inFlight = 32;
const url = process.env.POSTGRES_URL;

printHead(`One small read, ${inFlight} in flight, cached against executed`);
if (url === undefined) {
  process.stdout.write('cached-read: skipped, because POSTGRES_URL is not in the environment.\n');
} else {
  await setUpSmall('postgres', url);
  for (const form of ['single', 'distributed']) {
    const kept = await startServer(path, ['postgres', url, 'cached', form], v8Flags);
    const executed = await startServer(path, ['postgres', url, 'small', form], v8Flags);
    await warmUp([kept, executed], inFlight);
    const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
      const baseline = await load(executed, { seconds, inFlight });
      return { ours: await load(kept, { seconds, inFlight }), baseline };
    });
    await Promise.all([kept.stop(), executed.stop()]);
    const of = (name: keyof Load) =>
      rounds.map(({ ours, baseline }) => ({ ours: ours[name], baseline: baseline[name] }));
    const cpu = { name: `${form}: CPU per request`, unit: 'µs', better: 'lower', goal: 0.5 } as const;
    printRow({ ...cpu, pairs: of('cpuMicros') });
    printLeftOut(disturbed);
  }
}
