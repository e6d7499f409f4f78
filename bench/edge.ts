/** The cost of Express Gateway: a small execution with it and without, in separate services, with memory and start time. */

import { fileURLToPath } from 'node:url';
import { v8Flags } from '../packages/service-kit/v8-flags.mjs';
import { type Server, startServer } from './support/child.ts';
import { type Load, load, warmUp } from './support/load.ts';
import { setUpSmall } from './support/small.ts';
import { printHead, printRow } from './support/table.ts';

const url = process.env.POSTGRES_URL;
const path = (name: string) => fileURLToPath(new URL(`support/${name}.ts`, import.meta.url));
const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const seconds = Number(process.env.BENCH_SECONDS ?? 2);
const inFlight = 32;

async function startHub(form: string, edge: string): Promise<{ server: Server; startMs: number }> {
  process.env.DATAHUB_EDGE = edge;
  const startedAt = performance.now();
  const server = await startServer(path('hub'), ['postgres', url as string, 'small', form], v8Flags);
  return { server, startMs: performance.now() - startedAt };
}

async function compare(form: 'single' | 'distributed'): Promise<void> {
  const byHand = await startServer(path('by-hand'), ['postgres', url as string, 'small']);
  const bare = await startHub(form, 'none');
  const edged = await startHub(form, 'express-gateway');
  const all = [byHand, bare.server, edged.server];
  await warmUp(all, inFlight);
  const loads: Load[][] = [];
  for (let round = 0; round < rounds; round++) {
    const one: Load[] = [];
    for (const server of all) one.push(await load(server, { seconds, inFlight }));
    loads.push(one);
  }
  const pairs = (name: keyof Load, ours: number, baseline: number) =>
    loads.map((one) => ({ ours: (one[ours] as Load)[name], baseline: (one[baseline] as Load)[name] }));
  const row = { unit: 'µs', better: 'lower' } as const;
  printRow({ ...row, name: `${form}: CPU, edge against by hand`, pairs: pairs('cpuMicros', 2, 0), goal: 2 });
  printRow({ ...row, name: `${form}: CPU, edge against none`, pairs: pairs('cpuMicros', 2, 1), goal: 1.4 });
  const memory = await Promise.all([bare.server.memory(), edged.server.memory()]);
  process.stdout.write(
    `  ${form}: memory after the load ${memory.map((mib) => mib.toFixed(0)).join(' MiB without, ')} MiB with; to the first answers ${bare.startMs.toFixed(0)} ms without, ${edged.startMs.toFixed(0)} ms with\n`,
  );
  await Promise.all(all.map((server) => server.stop()));
}

if (url === undefined) process.stdout.write('edge: skipped, because POSTGRES_URL is not set.\n');
else {
  await setUpSmall('postgres', url);
  printHead(`One small execution with Express Gateway in front and without, ${inFlight} in flight`);
  await compare('single');
  await compare('distributed');
}
