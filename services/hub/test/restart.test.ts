import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loginFailuresMax } from '@datahub/contract/limits';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createApi } from '../../../tests/support/api.ts';
import { hubSettings } from '../../../tests/support/spawned.ts';
import { openHub } from '../src/compose.ts';

const key = 'test-key-of-restart-0123456789abcdef';
const sockets: Socket[] = [];
/** A database that accepts connections and does not answer. */
const silent = createServer((socket) => {
  sockets.push(socket.on('error', () => {}));
});
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-restart-'));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => silent.close(resolve));
  await rm(dir, { recursive: true, force: true });
});

async function open(connectTimeoutMs: number) {
  const hub = await openHub({
    ...hubSettings(dir, key),
    DATAHUB_DEMO: '0',
    DATAHUB_CONNECT_TIMEOUT_MS: String(connectTimeoutMs),
    DATAHUB_POOL_WAIT_MS: '60000',
  });
  return { api: createApi({ url: hub.url, key }), close: hub.close };
}

it('does not take log-ins that its end cut short for failed ones', async () => {
  const first = await open(50_000);
  const { hubId } = await first.api.ok(first.api.post('/v1/hubs', { label: 'restart' }));
  const { port } = silent.address() as AddressInfo;
  const connectionSettings = { host: '127.0.0.1', port, user: 'u', password: 'p', database: 'd' };
  const body = { hubId, label: 's', engine: 'postgres', connectionSettings };
  const addSource = async (): Promise<string> =>
    (await first.api.ok(first.api.post('/v1/sources', body))).sourceId;
  const silentId = await addSource();
  // When a query is saved, the hub logs in to describe it.
  for (let i = 0; i < loginFailuresMax.login; i++) {
    const query = { hubId, sourceId: await addSource(), label: 'q', query: 'SELECT 1 AS one' };
    await first.api.ok(first.api.post('/v1/queries', query));
  }
  await expect.poll(() => sockets.length).toBeGreaterThanOrEqual(loginFailuresMax.login);
  await first.close();
  const dialled = sockets.length;

  const second = await open(2_000);
  const { body: tested } = await second.api.post(`/v1/sources/${silentId}/test`);
  await second.close();
  expect(tested.code).toBe('SOURCE_UNREACHABLE');
  expect(sockets.length).toBeGreaterThan(dialled);
});
