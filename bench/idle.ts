/** What a hub without requests takes: its share of a core, and how often its threads wake. */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDistributed } from '../services/hub/src/distributed.ts';
import { hubSettings, spawnHub } from '../tests/support/spawned.ts';

/** Until the work of the start has ended. */
const settleMs = 20_000;
const measureMs = Number(process.env.BENCH_IDLE_MS ?? 60_000);
const key = `bench-key-${'0'.repeat(32)}`;

interface Use {
  cpuMs: number;
  wakes: number;
}

const noUse: Use = { cpuMs: 0, wakes: 0 };

/** Of each thread, because only the scheduler's figures of threads are exact: ticks of 10 ms miss what timers wake. */
function usesOf(pid: number): Map<string, Use> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    readdirSync(tasks).map((thread) => {
      const [cpuNs] = readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ');
      const status = readFileSync(`${tasks}/${thread}/status`, 'utf8');
      const [, wakes] = /^voluntary_ctxt_switches:\s*(\d+)/m.exec(status) ?? [];
      return [`${pid}/${thread}`, { cpuMs: Number(cpuNs) / 1e6, wakes: Number(wakes) }];
    }),
  );
}

/** What all processes use in a second. A thread that ends meanwhile is not counted. */
async function measure(pids: readonly number[]): Promise<Use> {
  await sleep(settleMs);
  const look = () => new Map(pids.flatMap((pid) => [...usesOf(pid)]));
  const before = look();
  const startedAt = performance.now();
  await sleep(measureMs);
  const seconds = (performance.now() - startedAt) / 1_000;
  const sum = { ...noUse };
  for (const [thread, { cpuMs, wakes }] of look()) {
    const { cpuMs: cpuBefore, wakes: wakesBefore } = before.get(thread) ?? noUse;
    sum.cpuMs += (cpuMs - cpuBefore) / seconds;
    sum.wakes += (wakes - wakesBefore) / seconds;
  }
  return sum;
}

/** An empty process whose timer wakes it as often. */
async function measurePlain(wakes: number): Promise<Use> {
  const code = `setInterval(() => {}, ${1_000 / wakes})`;
  const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore' });
  const use = await measure([child.pid as number]);
  child.kill();
  return use;
}

async function report(name: string, pids: readonly number[]): Promise<void> {
  const use = await measure(pids);
  const plain = await measurePlain(use.wakes);
  const share = ({ cpuMs }: Use) => `${(cpuMs / 10).toFixed(2)} %`;
  const ratio = (use.cpuMs / plain.cpuMs).toFixed(1);
  process.stdout.write(
    `| ${name} | ${share(use)} | ${use.wakes.toFixed(1)} | ${share(plain)} | ${ratio} |\n`,
  );
}

async function inFolder(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  await use(dir);
  rmSync(dir, { recursive: true, force: true });
}

if (process.platform !== 'linux')
  process.stdout.write('idle: skipped, because CPU time is read from /proc.\n');
else {
  process.stdout.write(
    '| idle | of a core (goals: 0.4 %, 2 %) | wake-ups a second | an empty process that wakes as often | ratio |\n|---|---|---|---|---|\n',
  );
  await inFolder(async (dir) => {
    const hub = await spawnHub(hubSettings(dir, key));
    await report('one process', [hub.pid]);
    await hub.close();
  });
  await inFolder(async (dir) => {
    const hub = await startDistributed({ ...hubSettings(dir, key), DATAHUB_EDGE: 'none' }, 'ignore');
    await report('four processes', hub.pids);
    await hub.close();
  });
}
