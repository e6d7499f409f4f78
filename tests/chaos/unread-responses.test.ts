import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const queryCount = 60;
const responseBytes = queryCount * 320_000;
/** The least that the settings allow. */
const keyBytesMax = 33_554_432;

describe('large responses', () => {
  let hub: SpawnedHub;
  let hubId: string;
  let path: string;
  const open: Socket[] = [];

  beforeAll(async () => {
    hub = await spawnHub({
      DATAHUB_KEY_RESPONSES_BYTES_MAX: String(keyBytesMax),
      DATAHUB_STALL_TIMEOUT_MS: '15000',
    });
    const { api } = hub;
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'a hub' })));
    const connectionSettings = { host: '127.0.0.1', port: 1, database: 'd', user: 'u', password: 'p' };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const values = Array.from({ length: 1_000 }, (_, i) => String(i).padEnd(317, 'x'));
    const context = [{ key: 'a', type: 'string', enum: values }];
    for (let i = 0; i < queryCount; i++)
      await api.ok(api.post('/v1/queries', { hubId, sourceId, label: `q${i}`, query: 'SELECT :a', context }));
    path = `/v1/queries?hubId=${hubId}`;
  });
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await hub?.close();
  });

  /** Sends a request, and reads no more of its answer than the head and what came with it. */
  async function head(key: string): Promise<string> {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
    open.push(socket);
    socket.on('error', () => {});
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\nx-service-api-key: ${key}\r\n\r\n`);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    socket.pause();
    return bytes.toString('latin1');
  }

  it('whose clients do not read are bounded in bytes for each key, refused beyond, and closed after a while', async () => {
    const heads = await Promise.all(Array.from({ length: 12 }, () => head(hub.key)));
    const refused = heads.filter((text) => text.startsWith('HTTP/1.1 429 '));
    const begun = heads.filter((text) => text.startsWith('HTTP/1.1 200 '));
    expect(begun.length + refused.length).toBe(heads.length);
    expect(begun.length).toBeLessThanOrEqual(keyBytesMax / responseBytes);
    for (const text of refused) {
      expect(text).toMatch(/\r\nretry-after: \d/);
      expect(text).not.toMatch(/\r\nx-total-count/);
    }
    // Small responses to the same key, and large ones to another key.
    expect((await hub.api.get(`${path}&limit=0`)).status).toBe(200);
    const { key } = await hub.api.ok(
      hub.api.post('/v1/keys', { name: 'other', scopes: ['queries:read', 'hubs:read'] }),
    );
    expect(await head(key)).toMatch(/^HTTP\/1.1 200 /);
    // The hub closes what nobody reads, and the bytes count no longer.
    await expect.poll(async () => (await hub.api.get(path)).status).toBe(200);
  });

  it('that are built from many queries are bounded, one by one and together', async () => {
    const document = `/v1/hubs/${hubId}/openapi.json`;
    const whole = await hub.api.get(document);
    expect(whole).toMatchObject({ status: 413, body: { code: 'TOO_LARGE' } });
    expect(whole.body.detail).toContain('with limit and offset');
    const all = await Promise.all(Array.from({ length: 10 }, () => hub.api.get(`${document}?limit=40`)));
    const statuses = all.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
    expect(statuses).toContain(429);
    // Whoever asks again gets it.
    const part = async () => (await hub.api.get(`${document}?limit=40`)).body['x-datahub-queries']?.length;
    await expect.poll(part).toBe(40);
  });
});
