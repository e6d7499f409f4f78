import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';
import { read } from '../support/streaming.ts';
import { type Watcher, watch } from '../support/watcher.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const { POSTGRES_URL } = process.env;
const formats = ['application/json', 'application/x-ndjson', 'text/csv'];
const streamsAtOnce = 24;
const stallMs = scaled(4_000, 60_000);
/** Bytes a second. */
const slowRate = scaled(1_000_000, 50_000);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(POSTGRES_URL === undefined)('a long answer (needs POSTGRES_URL)', () => {
  let dir: string;
  let hub: DistributedHub;
  let network: FaultyNetwork;
  let watcher: Watcher;
  let api: Api;
  let sourceId: string;
  let queryId: string;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const mark = `cut_${randomBytes(4).toString('hex')}`;
  const target = () => ({ url: `http://127.0.0.1:${hub.port}`, key });

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-cut-'));
    const access = accessOf(POSTGRES_URL as string);
    network = await startNetwork(access);
    watcher = await watch('postgres', access);
    hub = await startDistributed(
      {
        ...hubSettings(dir, key),
        DATAHUB_STALL_TIMEOUT_MS: String(stallMs),
        // Long enough that only the bounds of this test decide, also on a busy machine.
        DATAHUB_POOL_WAIT_MS: '60000',
        DATAHUB_STATEMENT_TIMEOUT_MS: '600000',
        DATAHUB_REQUEST_TIMEOUT_MS: '600000',
      },
      'ignore',
    );
    api = createApi(target());
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'cut' }));
    const connectionSettings = {
      ...access,
      host: '127.0.0.1',
      port: network.port,
      pool: { max: streamsAtOnce },
    };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    ({ sourceId } = await api.ok(api.post('/v1/sources', source)));
    const query = `SELECT /* ${mark} */ generate_series(1, 100000000) AS n, 'some text to fill the line with' AS filler`;
    queryId = (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }))).config.query
      .queryId;
  });
  afterAll(async () => {
    network.close();
    await watcher.close();
    await hub.close();
    await rm(dir, { recursive: true, force: true });
  });

  it.each<[string, () => unknown]>([
    ['its source is cut', () => network.resetAll()],
    ['its executor is killed', () => hub.restart('executor', 0, 'SIGKILL')],
    ['its gateway is killed', () => hub.restart('gateway', 0, 'SIGKILL')],
  ])(
    'never looks complete when %s',
    async (_name, cut) => {
      const rounds = scaled(1, 14);
      for (let round = 0; round < rounds; round++) {
        const readers = Array.from({ length: streamsAtOnce }, (_, i) => {
          const accept = formats[i % formats.length] as string;
          return { accept, ...read(target(), { queryId, accept }) };
        });
        await Promise.all(readers.map(({ begun }) => begun));
        const cutting = cut();
        for (const { resume } of readers) resume();
        const answers = await Promise.all(
          readers.map(async ({ accept, ended }) => ({ accept, ...(await ended) })),
        );
        for (const { accept, status, text, complete } of answers) {
          expect([status, complete, status === 200 || text]).toEqual([200, false, true]);
          if (accept === 'application/json') expect(() => JSON.parse(text)).toThrow(SyntaxError);
        }
        await cutting;
        const serves = async () =>
          (await api.post(`/v1/sources/${sourceId}/test`).catch(() => undefined))?.status;
        await expect.poll(serves, { timeout: 60_000, interval: 100 }).toBe(200);
        await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 50 }).toBe(0);
      }
    },
    300_000,
  );

  it('buffers nothing for a slow reader, and disconnects one that reads nothing', async () => {
    const memory = () => {
      const resident = hub.pids.map((pid) => {
        try {
          return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
        } catch {
          return 0;
        }
      });
      return resident.reduce((sum, kilobytes) => sum + kilobytes, 0) / 1_024;
    };
    // What a process needs for its first large answer is no matter of the reader's.
    const hasty = read(target(), { queryId });
    await hasty.begun;
    hasty.resume();
    while (hasty.taken() < 50_000_000) await sleep(10);
    hasty.leave();
    await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 50 }).toBe(0);
    const reader = read(target(), { queryId });
    await reader.begun;
    const before = memory();
    let most = 0;
    const endsAt = performance.now() + scaled(4_000, 120_000);
    for (let due = reader.taken(); performance.now() < endsAt; due += slowRate / 10) {
      reader.resume(due);
      most = Math.max(most, memory() - before);
      await sleep(100);
    }
    process.stdout.write(`memory of all processes grew by ${most.toFixed(1)} MiB at most\n`);
    expect(most).toBeLessThan(64);
    expect(await watcher.running(mark)).toBe(1);
    const stalledAt = performance.now();
    // The statement has ten minutes.
    await expect.poll(() => watcher.running(mark), { timeout: 120_000, interval: 50 }).toBe(0);
    process.stdout.write(
      `a reader who took nothing was given up after ${Math.round(performance.now() - stalledAt)} ms\n`,
    );
    reader.resume();
    expect((await reader.ended).complete).toBe(false);
  }, 400_000);
});
