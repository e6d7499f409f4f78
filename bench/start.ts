/** From `npm start` without the demo to the first answer, and the memory it then has, against an empty Fastify. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../tools/databases/process.ts';
import { v8Flags } from '../tools/distributed.ts';
import { printHead, printRow } from './support/table.ts';

const rounds = Number(process.env.BENCH_ROUNDS ?? 5);
const root = fileURLToPath(new URL('..', import.meta.url));
const preload = ['--import', './tools/compile-cache.mjs'];
const empty = `
import Fastify from 'fastify';
const app = Fastify();
app.get('/healthz', async () => ({ status: 'ok' }));
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });`;

async function measure(args: string[], dataDir: string): Promise<{ ms: number; mebibytes: number }> {
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
  while (!(await answers())) await new Promise((resolve) => setTimeout(resolve, 5));
  const ms = performance.now() - startedAt;
  await new Promise((resolve) => setTimeout(resolve, 500));
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  const ended = once(child, 'close');
  // At a proper end Node keeps what it compiled, for the next start.
  child.kill('SIGTERM');
  await ended;
  return { ms, mebibytes: Number(kilobytes) / 1_024 };
}

if (process.platform !== 'linux')
  process.stdout.write('start: skipped, because memory is read from /proc.\n');
else {
  printHead(
    'From the start to the first answer, without the demo, against an empty Fastify (goals: 1 s, 120 MB)',
  );
  const dataDir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  const starts: { ours: number; baseline: number }[] = [];
  const memory: { ours: number; baseline: number }[] = [];
  const hub = [...v8Flags, ...preload, 'tools/demo.ts'];
  await measure(hub, dataDir);
  for (let round = 0; round < rounds; round++) {
    const baseline = await measure(['--input-type=module', '--eval', empty], dataDir);
    const ours = await measure(hub, dataDir);
    starts.push({ ours: ours.ms, baseline: baseline.ms });
    memory.push({ ours: ours.mebibytes, baseline: baseline.mebibytes });
  }
  rmSync(dataDir, { recursive: true, force: true });
  printRow({ name: 'to the first answer', unit: 'ms', pairs: starts, better: 'lower', goal: 4 });
  printRow({ name: 'resident memory', unit: 'MiB', pairs: memory, better: 'lower', goal: 2 });
}
