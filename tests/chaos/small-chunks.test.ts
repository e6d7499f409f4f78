import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const chunks = fileURLToPath(new URL('./support/tiny-chunks.mjs', import.meta.url));
const connections = 64;
const attackSeconds = 4;
/** A request of others is to wait 500 ms at most. A busy machine takes several times as long. */
const waitMaxMs = 5_000;
/** Kept chunks would take 200 MiB for each body. */
const growthMaxMiB = 128;

interface Sender {
  rate?: number;
  key?: string;
}

describe('bodies in chunks of one byte, on 64 connections', () => {
  let hub: SpawnedHub;
  beforeAll(async () => {
    hub = await spawnHub({ NODE_OPTIONS: '--max-old-space-size=256' });
    for (let i = 0; i < 200; i++) expect((await hub.api.get('/v1/hubs')).status).toBe(200);
  });
  afterAll(() => hub?.close());

  /** Returns how often each status was answered. */
  const attack = async (key: string, path: string, mediaType: string): Promise<Record<string, number>> => {
    const args = [new URL(hub.url).port, key, path, mediaType, connections, 1_000_000, attackSeconds];
    const { stdout } = await promisify(execFile)(process.execPath, [chunks, ...args.map(String)]);
    return JSON.parse(stdout);
  };

  const peakMiB = () =>
    Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) / 1_024;

  /** The longest wait of another key until `over` resolves, in milliseconds. */
  const longestWaitUntil = async (over: Promise<unknown>): Promise<number> => {
    let isOver = false;
    over.finally(() => {
      isOver = true;
    });
    let longestMs = 0;
    while (!isOver) {
      const at = performance.now();
      expect((await hub.api.get('/v1/hubs')).status).toBe(200);
      longestMs = Math.max(longestMs, performance.now() - at);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return longestMs;
  };

  it.each([
    ['of a key that may send them', {}, '/v1/queries/execute', 'application/json', '400'],
    ['of a key over its rate', { rate: 10 }, '/v1/queries/execute', 'application/json', '400'],
    [
      'of a key that does not exist',
      { key: 'no-such-key' },
      '/v1/queries/execute',
      'application/json',
      '401',
    ],
    ['on a path that does not exist', {}, '/v1/nothing', 'application/json', '404'],
    ['of a type that is not accepted', {}, '/v1/queries/execute', 'text/plain', '415'],
  ])(
    '%s are refused, and others are answered',
    async (name, { rate, key }: Sender, path, mediaType, status) => {
      const limits = rate === undefined ? {} : { limits: { ratePerMinute: rate } };
      const made = await hub.api.ok(
        hub.api.post('/v1/keys', { name, scopes: ['queries:execute'], ...limits }),
      );
      const peakBefore = peakMiB();
      const attacking = attack(key ?? made.key, path, mediaType);
      expect(await longestWaitUntil(attacking)).toBeLessThan(waitMaxMs);
      // The hub does not read the rest, so the client may lose the answer. `closed` counts those, and the last ones.
      const { closed = 0, ...answers } = await attacking;
      expect([status, '429']).toEqual(expect.arrayContaining(Object.keys(answers)));
      const ended = Object.values(answers).reduce((sum, count) => sum + count, closed);
      expect(ended).toBeGreaterThan(connections);
      expect(peakMiB() - peakBefore).toBeLessThan(growthMaxMiB);
    },
    60_000,
  );
});
