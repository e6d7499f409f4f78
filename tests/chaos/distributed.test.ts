import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { inherited } from '../support/inherited.ts';

let dataDir: string;
let hub: DistributedHub;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'datahub-chaos-'));
  const env = { PORT: '0', DATAHUB_METRICS_PORT: '0', DATAHUB_DATA_DIR: dataDir, DATAHUB_EDGE: 'none' };
  hub = await startDistributed(env, 'ignore');
});
afterAll(async () => {
  await hub?.close();
  await rm(dataDir, { recursive: true });
});

it('tells of a service that ended by itself, and of none that was restarted', async () => {
  let ended: string | undefined;
  void hub.ended.then((name) => {
    ended = name;
  });
  await hub.restart('ml', 0);
  expect(ended).toBeUndefined();
  process.kill(hub.pidOf('catalog', 0), 'SIGKILL');
  await expect.poll(() => ended, { timeout: 60_000 }).toBe('catalog');
});

it('stays ready for what works without that service, and names it', async () => {
  const ask = async () => {
    const response = await fetch(`http://127.0.0.1:${hub.port}/readyz`);
    return [response.status, await response.json()];
  };
  await expect.poll(ask, { timeout: 60_000 }).toEqual([200, { status: 'ready', missing: ['catalog'] }]);
});

it('explains the counts that it cannot start', async () => {
  const program = fileURLToPath(new URL('../../services/hub/src/distributed.ts', import.meta.url));
  for (const options of [['--catalogs', '2'], ['--executors', '0'], ['--other']]) {
    const run = promisify(execFile)(process.execPath, [program, ...options], { env: inherited });
    await expect(run).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('[--catalogs 1..9] [--executors 1..9] [--ml 1..9]'),
    });
  }
});
