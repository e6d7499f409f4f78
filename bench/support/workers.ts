/** The hub with several workers: `npm start -- --workers N`, without the demo. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { v8Flags } from '../../packages/service-kit/v8-flags.mjs';

const program = fileURLToPath(new URL('../../services/hub/src/main.ts', import.meta.url));
const readyTimeoutMs = 120_000;

/** Resolves when it is ready. The first of `pids` is the supervisor; it stops the others when this process ends. */
export async function startWorkers(
  count: number,
  settings: Record<string, string>,
): Promise<{ port: number; pids: number[]; startMs: number; stop(): Promise<void> }> {
  const port = await freePort();
  const startedAt = performance.now();
  const supervisor = spawn(process.execPath, [...v8Flags, program, '--workers', String(count)], {
    // It stops if its channel closes.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: { ...process.env, DATAHUB_DEMO: '0', DATAHUB_METRICS_PORT: '0', ...settings, PORT: String(port) },
  });
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (!(await isReady())) {
    if (supervisor.exitCode !== null || performance.now() - startedAt > readyTimeoutMs)
      throw new Error('The hub with several workers did not start.');
    await sleep(20);
  }
  const startMs = performance.now() - startedAt;
  const pid = supervisor.pid as number;
  const stop = async () => {
    const ended = once(supervisor, 'close');
    supervisor.kill('SIGTERM');
    await ended;
  };
  return { port, pids: [pid, ...childrenOf(pid)], startMs, stop };
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.split(' ').filter(Boolean).map(Number);
}
