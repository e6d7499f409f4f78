import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const volleys = fileURLToPath(new URL('./support/body-volleys.mjs', import.meta.url));
/** The chart's limit for a gateway. */
const memoryMaxMiB = 512;
const volleyCount = 3;

/** The CPU time that the body of the volleys takes if it is parsed. */
function parseMs(): number {
  const body = `{"contexts":[${'{},'.repeat(2_600_000)}0]}`;
  const before = process.threadCpuUsage();
  JSON.parse(body);
  return process.threadCpuUsage(before).user / 1_000;
}

describe('bodies of 8 MB, many at once', () => {
  let hub: SpawnedHub;
  beforeAll(async () => {
    hub = await spawnHub({});
    await hub.api.ok(hub.api.post('/v1/hubs', { label: 'a hub' }));
  });
  afterAll(() => hub?.close());

  const attack = async (scopes: string[], count: number): Promise<number[]> => {
    const { key } = await hub.api.ok(hub.api.post('/v1/keys', { name: 'attacker', scopes }));
    const args = [volleys, hub.url, key, '/v1/classifiers/x/predict', String(volleyCount), String(count)];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
  };

  /** Another key is answered until `over` resolves. Returns the CPU time that the event loop took, in milliseconds. */
  const loopMsUntil = async (over: Promise<unknown>): Promise<number> => {
    let isOver = false;
    over.finally(() => {
      isOver = true;
    });
    const before = loopMs();
    while (!isOver) {
      expect((await hub.api.get('/v1/hubs')).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return loopMs() - before;
  };

  /** The CPU time of the main thread, which runs the event loop. */
  const loopMs = () =>
    Number(readFileSync(`/proc/${hub.pid}/task/${hub.pid}/schedstat`, 'utf8').split(' ')[0]) / 1_000_000;

  const peakMiB = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) / 1_024;

  it('are refused before they are read if the scope is missing, and delay no other request', async () => {
    const attacking = attack(['hubs:read'], 20);
    const refusedMs = (await loopMsUntil(attacking)) / (volleyCount * 20);
    expect(await attacking).toEqual([403]);
    const readMs = parseMs();
    console.log(`CPU for a body: ${refusedMs.toFixed(1)} ms, ${readMs.toFixed()} ms to parse it`);
    expect(refusedMs).toBeLessThan(readMs / 4);
    expect(peakMiB()).toBeLessThan(memoryMaxMiB);
  });

  it('of a key that may send them are bounded in bytes, and refused while they are read', async () => {
    const attacking = attack(['classifiers:predict'], 40);
    await loopMsUntil(attacking);
    const statuses = await attacking;
    expect(statuses.filter((status) => ![0, 413, 429].includes(status))).toEqual([]);
    expect(statuses.some((status) => status > 0)).toBe(true);
    expect(peakMiB()).toBeLessThan(memoryMaxMiB);
  });

  it('of many tiny values count these, too, because they take more memory than their bytes', async () => {
    const { key } = await hub.api.ok(
      hub.api.post('/v1/keys', { name: 'tiny', scopes: ['classifiers:predict'] }),
    );
    const stop = new AbortController();
    const part = Buffer.from(`{"contexts":[${'{},'.repeat(90_000)}`);
    const send = () =>
      fetch(`${hub.url}/v1/classifiers/x/predict`, {
        method: 'POST',
        headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
        body: new ReadableStream({ start: (stream) => stream.enqueue(part) }),
        ...{ signal: stop.signal, duplex: 'half' },
      } as RequestInit);
    // Twelve have 3 MB, of the 16 that a key may send at once.
    const first = await Promise.any(Array.from({ length: 12 }, send));
    expect(first.status).toBe(429);
    stop.abort();
  });

  it('that arrive slowly are counted, and small ones of others pass', async () => {
    const { key } = await hub.api.ok(
      hub.api.post('/v1/keys', { name: 'slow', scopes: ['classifiers:predict'] }),
    );
    const slow = new AbortController();
    const never = new ReadableStream({ start: (stream) => stream.enqueue(Buffer.from('{"contexts":["')) });
    const open = (signal?: AbortSignal) =>
      fetch(`${hub.url}/v1/classifiers/x/predict`, {
        method: 'POST',
        headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
        body: signal ? never : 'x'.repeat(8_000_000),
        ...(signal ? { signal, duplex: 'half' } : {}),
      } as RequestInit);
    const pending = open(slow.signal).catch(() => {});
    const answers = await Promise.all(Array.from({ length: 6 }, () => open()));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const { headers } of refused) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await hub.api.post('/v1/hubs', { label: 'small' })).status).toBe(200);
    slow.abort();
    await pending;
    // What was under way is given back.
    await expect.poll(async () => (await open()).status, { timeout: 60_000 }).toBe(400);
  });
});
