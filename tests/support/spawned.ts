/** Hubs that a test starts for itself: settings for any, and one as `npm start` without the demo, in one process or more. */

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { v8Flags } from '../../packages/service-kit/v8-flags.mjs';
import { type Api, createApi } from './api.ts';

export interface SpawnedHub {
  url: string;
  key: string;
  api: Api;
  pid: number;
  dataDir: string;
  close(): Promise<void>;
}

/** Free ports, a data directory and a first key of the test's own, and no log. */
export const hubSettings = (dataDir: string, key: string) => ({
  PORT: '0',
  DATAHUB_METRICS_PORT: '0',
  DATAHUB_DATA_DIR: dataDir,
  DATAHUB_API_KEY: key,
  DATAHUB_LOG_LEVEL: 'fatal',
});

const program = fileURLToPath(new URL('../../services/hub/src/main.ts', import.meta.url));
const readyTimeoutMs = 60_000;

/** `log`: an open file for what it prints. */
export async function spawnHub(
  settings: Record<string, string>,
  args: readonly string[] = [],
  log?: number,
): Promise<SpawnedHub> {
  const dataDir = await mkdtemp(join(tmpdir(), 'datahub-spawned-'));
  const key = settings.DATAHUB_API_KEY ?? `test-key-${randomBytes(24).toString('hex')}`;
  const port = Number(settings.PORT) || (await freePort());
  const child = spawn(process.execPath, [...v8Flags, program, ...args], {
    stdio: ['ignore', log ?? 'ignore', 'ignore'],
    env: {
      ...process.env,
      ...hubSettings(dataDir, key),
      DATAHUB_DEMO: '0',
      ...settings,
      PORT: String(port),
    },
  });
  const url = `http://127.0.0.1:${port}`;
  const api = createApi({ url, key });
  const close = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'close');
      // A supervisor stops its processes.
      child.kill(args.length === 0 ? 'SIGKILL' : 'SIGTERM');
      await ended;
    }
    await rm(dataDir, { recursive: true, force: true });
  };
  const deadline = performance.now() + readyTimeoutMs;
  while ((await api.get('/readyz').catch(() => undefined))?.status !== 200) {
    if (child.exitCode !== null || performance.now() > deadline) {
      await close();
      throw new Error('The hub did not start.');
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return { url, key, api, pid: child.pid as number, dataDir, close };
}
