/** What the forms of several processes on one machine share: ports, the token, and how processes start and stop. */

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stopMessage } from '@datahub/service-kit/process/lifecycle';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { v8Flags } from '../../../packages/service-kit/v8-flags.mjs';

export type Output = 'inherit' | 'ignore' | number;

/** Created at the first start, and the same for all services and later starts. A full disk may have left an empty file. */
export async function serviceToken(dataDir: string): Promise<string> {
  const path = join(dataDir, 'service-token');
  const token = randomBytes(32).toString('hex');
  await writeFile(path, token, { flag: 'wx', mode: 0o600 }).catch(() => {});
  const stored = (await readFile(path, 'utf8')).trim();
  if (stored !== '') return stored;
  await writeFile(path, token, { mode: 0o600 });
  return token;
}

/**
 * Starts a program of the hub, with a channel for messages. Ctrl-C in a terminal reaches this process alone, which then stops
 * the program: of two signals, the second would end the program at once.
 */
export function startProgram(path: string, env: Environment, output: Output = 'inherit'): ChildProcess {
  return spawn(process.execPath, [...v8Flags, path], {
    stdio: ['ignore', output, output, 'ipc'],
    env: env as NodeJS.ProcessEnv,
    detached: true,
  });
}

/** Resolves when the process has ended. Kills it after `graceMs`. `message`: it is one that only its parent stops. */
export async function stopProcess(
  child: ChildProcess,
  { signal, graceMs }: { signal: NodeJS.Signals | 'message'; graceMs: number },
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'close');
  // A process whose channel has closed stops by itself.
  if (signal === 'message') child.send(stopMessage, () => {});
  else child.kill(signal);
  const killTimer = setTimeout(() => child.kill('SIGKILL'), graceMs);
  await ended;
  clearTimeout(killTimer);
}
