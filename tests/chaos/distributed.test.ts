import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';

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
