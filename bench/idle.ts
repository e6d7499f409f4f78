/** What a hub without requests takes: its share of a core, and how often its threads wake. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDistributed } from '../services/hub/src/distributed.ts';
import { hubSettings, spawnHub } from '../tests/support/spawned.ts';

/** Until the work of the start has ended. */
const settleMs = 20_000;
const measureMs = Number(process.env.BENCH_IDLE_MS ?? 60_000);
/** Linux counts CPU time in ticks of 10 ms. */
const tickMs = 10;
const key = `bench-key-${'0'.repeat(32)}`;

interface Use {
  cpuMs: number;
  wakes: number;
}

function useOf(pid: number): Use {
  const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
    .map(Number);
  const wakes = readdirSync(`/proc/${pid}/task`).map((thread) => {
    const status = readFileSync(`/proc/${pid}/task/${thread}/status`, 'utf8');
    return Number(/^voluntary_ctxt_switches:\s*(\d+)/m.exec(status)?.[1]);
  });
  return { cpuMs: (user + system) * tickMs, wakes: wakes.reduce((sum, one) => sum + one, 0) };
}

async function measure(name: string, pids: readonly number[]): Promise<void> {
  await sleep(settleMs);
  const before = pids.map(useOf);
  const startedAt = performance.now();
  await sleep(measureMs);
  const ms = performance.now() - startedAt;
  const after = pids.map(useOf);
  const grown = (what: keyof Use) =>
    after.reduce((sum, use, i) => sum + use[what] - (before[i] as Use)[what], 0);
  const share = ((grown('cpuMs') / ms) * 100).toFixed(2);
  const wakes = ((grown('wakes') / ms) * 1_000).toFixed(0);
  process.stdout.write(`| ${name} | ${share} % | ${wakes} |\n`);
}

async function inFolder(use: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'datahub-bench-'));
  await use(dir);
  rmSync(dir, { recursive: true, force: true });
}

if (process.platform !== 'linux')
  process.stdout.write('idle: skipped, because CPU time is read from /proc.\n');
else {
  process.stdout.write('| idle | of a core (goals: 0.4 %, 2 %) | wake-ups a second |\n|---|---|---|\n');
  await inFolder(async (dir) => {
    const hub = await spawnHub(hubSettings(dir, key));
    await measure('one process', [hub.pid]);
    await hub.close();
  });
  await inFolder(async (dir) => {
    const hub = await startDistributed({ ...hubSettings(dir, key), DATAHUB_EDGE: 'none' }, 'ignore');
    await measure('four processes', hub.pids);
    await hub.close();
  });
}
