/** Compares a cached small read with the same read at PostgreSQL: CPU time per request, with and without the database's. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { calmRounds } from './support/calm.ts';
import { cpuOf, startServer, statOf } from './support/child.ts';
import { load, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printLeftOut, printRow } from './support/table.ts';

const path = fileURLToPath(new URL('support/hub.ts', import.meta.url));
const roundsWanted = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const inFlight = 32;
const url = process.env.POSTGRES_URL;

/** The CPU time of all processes of the database so far, in microseconds. They must run on this machine. */
async function watchDatabase(connectionString: string): Promise<() => number> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  const postmaster = Number(statOf(rows[0].pid)[1]);
  await client.end();
  const children = `/proc/${postmaster}/task/${postmaster}/children`;
  return () => {
    const pids = readFileSync(children, 'utf8').trim().split(' ');
    return pids.reduce((sum, pid) => sum + cpuOf(Number(pid)), cpuOf(postmaster, true));
  };
}

printHead(`One small read, ${inFlight} in flight, cached against executed`);
if (url === undefined) {
  process.stdout.write('cached-read: skipped, because POSTGRES_URL is not in the environment.\n');
} else {
  await setUpSmall('postgres', url);
  for (const form of ['single', 'distributed']) {
    const kept = await startServer(path, ['postgres', url, 'cached', form], v8Flags);
    const executed = await startServer(path, ['postgres', url, 'small', form], v8Flags);
    await warmUp([kept, executed], inFlight);
    const databaseCpu = await watchDatabase(url);
    const { rounds, disturbed } = await calmRounds(roundsWanted, async () => {
      const before = databaseCpu();
      const baseline = await load(executed, { seconds, inFlight });
      const ofDatabase = (databaseCpu() - before) / (baseline.perSecond * seconds);
      return { ours: await load(kept, { seconds, inFlight }), baseline, ofDatabase };
    });
    await Promise.all([kept.stop(), executed.stop()]);
    const pairs = (withDatabase: boolean) =>
      rounds.map(({ ours, baseline, ofDatabase }) => ({
        ours: ours.cpuMicros,
        baseline: baseline.cpuMicros + (withDatabase ? ofDatabase : 0),
      }));
    const cpu = { unit: 'µs', better: 'lower', goal: 0.5 } as const;
    printRow({ ...cpu, name: `${form}: CPU of the hub`, pairs: pairs(false) });
    printRow({ ...cpu, name: `${form}: CPU of hub and database`, pairs: pairs(true) });
    printLeftOut(disturbed);
  }
}
