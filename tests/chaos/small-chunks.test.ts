import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const chunks = fileURLToPath(new URL('./support/tiny-chunks.mjs', import.meta.url));
const heldMemory = new URL('./support/held-memory.ts', import.meta.url).href;
const connections = 64;
const bodies = 384;
const sampleIntervalMs = 1_000;
/** Half of the requests of others wait less, also on a busy machine. Bodies that held up the hub would hold up all. */
const waitMaxMs = 5_000;
/**
 * What is held after a garbage collection, so that it does not depend on when V8 collects. Kept chunks would take 200
 * MiB for each body, and a refused body that is still read 0.2 MiB.
 */
const growthMaxMiB = 32;

interface Sender {
  rate?: number;
  key?: string;
}

describe('bodies in chunks of one byte, on 64 connections', () => {
  let hub: SpawnedHub;
  let dir: string;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-held-'));
    hub = await spawnHub({
      NODE_OPTIONS: `--max-old-space-size=256 --import=${heldMemory}`,
      HELD_MEMORY_FILE: join(dir, 'held'),
    });
    for (let i = 0; i < 200; i++) expect((await hub.api.get('/v1/hubs')).status).toBe(200);
  });
  afterAll(async () => {
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** Returns how often each status was answered. */
  const attack = async (key: string, path: string, mediaType: string): Promise<Record<string, number>> => {
    const args = [new URL(hub.url).port, key, path, mediaType, connections, 1_000_000, bodies];
    const { stdout } = await promisify(execFile)(process.execPath, [chunks, ...args.map(String)]);
    return JSON.parse(stdout);
  };

  /** What the hub holds at this moment. */
  const heldMiB = async (): Promise<number> => {
    const file = join(dir, 'held');
    await rm(file, { force: true });
    process.kill(hub.pid, 'SIGUSR2');
    await expect.poll(() => readFile(file, 'utf8').catch(() => '')).not.toBe('');
    return Number(await readFile(file, 'utf8')) / 2 ** 20;
  };

  /** The most that the hub holds until `over` resolves. */
  const mostHeldUntil = async (over: Promise<unknown>): Promise<number> => {
    let isOver = false;
    over.finally(() => {
      isOver = true;
    });
    let most = 0;
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, sampleIntervalMs));
      most = Math.max(most, await heldMiB());
    }
    return most;
  };

  /** The median wait of another key until `over` resolves, in milliseconds. */
  const medianWaitUntil = async (over: Promise<unknown>): Promise<number> => {
    let isOver = false;
    over.finally(() => {
      isOver = true;
    });
    const waitsMs: number[] = [];
    while (!isOver) {
      const at = performance.now();
      expect((await hub.api.get('/v1/hubs')).status).toBe(200);
      waitsMs.push(performance.now() - at);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return waitsMs.sort((a, b) => a - b)[waitsMs.length >> 1] as number;
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
      const before = await heldMiB();
      const attacking = attack(key ?? made.key, path, mediaType);
      const mostHeld = mostHeldUntil(attacking);
      expect(await medianWaitUntil(attacking)).toBeLessThan(waitMaxMs);
      // The hub does not read the rest, so the client may lose the answer.
      const { closed = 0, ...answers } = await attacking;
      expect([status, '429']).toEqual(expect.arrayContaining(Object.keys(answers)));
      expect(Object.values(answers).reduce((sum, count) => sum + count, closed)).toBe(bodies);
      expect((await mostHeld) - before).toBeLessThan(growthMaxMiB);
    },
  );
});
