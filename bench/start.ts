/** Time from `npm start` without the demo to the first response, and the memory after it, against an empty Fastify server. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { memoryOf } from './support/child.ts';
import { type Pair, printHead, printRow } from './support/table.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const root = fileURLToPath(new URL('..', import.meta.url));
const empty = `
import Fastify from 'fastify';
const app = Fastify();
app.get('/healthz', async () => ({ status: 'ok' }));
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });`;

/** After this idle time Node has released the memory of the start. */
const restMs = 15_000;

interface Started {
  ms: number;
  megabytes(): number;
  stop(): Promise<void>;
}

async function start(args: string[], dataDir: string): Promise<Started> {
  const port = await freePort();
  const env = {
    ...process.env,
    PORT: String(port),
    DATAHUB_DATA_DIR: dataDir,
    DATAHUB_DEMO: '0',
    DATAHUB_METRICS_PORT: '0',
  };
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore' });
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await answers())) await sleep(5);
  const ms = performance.now() - startedAt;
  return {
    ms,
    megabytes: () => (memoryOf(child.pid as number) * 1_048_576) / 1e6,
    stop: async () => {
      const ended = once(child, 'close');
      // On a normal exit Node writes its compile cache for the next start.
      child.kill('SIGTERM');
      await ended;
    },
  };
}

if (process.platform !== 'linux')
  process.stdout.write('start: skipped, because memory is read from /proc.\n');
else {
  printHead(
    'From the start to the first answer, without the demo, against an empty Fastify (goals: 1 s, 120 MB)',
  );
  const dataDir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  const starts: Pair[] = [];
  const memory: Pair[] = [];
  const atRest: Pair[] = [];
  const hub = ['packages/service-kit/launch.mjs', 'services/hub/src/main.ts'];
  await (await start(hub, dataDir)).stop();
  for (let round = 0; round < rounds; round++) {
    const both = {
      baseline: await start(['--input-type=module', '--eval', empty], dataDir),
      ours: await start(hub, dataDir),
    };
    const look = () => ({ ours: both.ours.megabytes(), baseline: both.baseline.megabytes() });
    starts.push({ ours: both.ours.ms, baseline: both.baseline.ms });
    await sleep(500);
    memory.push(look());
    await sleep(restMs);
    atRest.push(look());
    await Promise.all([both.ours.stop(), both.baseline.stop()]);
  }
  rmSync(dataDir, { recursive: true, force: true });
  printRow({ name: 'to the first answer', unit: 'ms', pairs: starts, better: 'lower', goal: 4 });
  printRow({ name: 'resident memory after 0.5 s', unit: 'MB', pairs: memory, better: 'lower', goal: 2 });
  printRow({ name: 'resident memory after 15 s', unit: 'MB', pairs: atRest, better: 'lower', goal: 2 });
}
