import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf, losesUpdates } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';

const { MONGODB_URL, POSTGRES_URL } = process.env;
/** Of each service. */
const replicas = scaled(2, 3);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(!MONGODB_URL || !POSTGRES_URL)(
  'several of each service (needs MONGODB_URL, POSTGRES_URL)',
  () => {
    let dir: string;
    let hub: DistributedHub;
    let apis: Api[];
    let queryId: string;
    let slowId: string;
    /** How far from one gateway's count: where the store loses updates, no further than each would go by itself. */
    let off: number;
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    const agent = new Agent({ keepAlive: true });
    /** A gateway that is about to end gets no new requests: the chart waits for that before it ends a pod. */
    let leaving = -1;

    /** As a client behind a Service: a gateway that refuses the connection is passed over, an answer that fails is not. */
    const ask = (body: object, { at = 0, withKey = key, from = '127.0.0.1' } = {}): Promise<number> =>
      new Promise((resolve) => {
        const serving = hub.gateways.filter((_, i) => i !== leaving);
        const { port } = serving[at % serving.length] as { port: number };
        const text = JSON.stringify(body);
        const call = request({
          host: '127.0.0.1',
          localAddress: from,
          port,
          method: 'POST',
          path: '/v1/queries/execute',
          agent,
          headers: {
            'x-service-api-key': withKey,
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(text),
          },
        });
        call.on('error', (err: NodeJS.ErrnoException) => {
          // A kept connection that closed before anything was sent is opened anew, as every client does.
          const refused = err.code === 'ECONNREFUSED';
          const unsent = refused || (call.reusedSocket && err.code === 'ECONNRESET');
          resolve(unsent ? ask(body, { at: at + 1, withKey, from }) : -1);
        });
        call.on('response', (response) => {
          response.resume().on('error', () => resolve(-1));
          response.on('end', () => resolve(response.complete ? (response.statusCode ?? -1) : -1));
        });
        call.end(text);
      });

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-replicas-'));
      off = (await losesUpdates(MONGODB_URL)) ? 1 : 0.1;
      const store = new URL(MONGODB_URL as string);
      store.pathname = `/replicas_${randomBytes(6).toString('hex')}`;
      const env = {
        ...hubSettings(dir, key),
        DATAHUB_STORE_URL: store.href,
      };
      hub = await startDistributed(env, 'inherit', { replicas });
      apis = hub.gateways.map(({ port }) => createApi({ url: `http://127.0.0.1:${port}`, key }));
      const [api] = apis as [Api];
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'replicas' }));
      const connectionSettings = accessOf(POSTGRES_URL as string);
      const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const store1 = async (label: string, query: string) =>
        (await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }))).config.query.queryId;
      queryId = await store1('one', 'SELECT 1 AS one');
      slowId = await store1('slow', 'SELECT n, pg_sleep(0.001) FROM generate_series(1, 2000) n');
      for (let i = 0; i < 20; i++) await ask({ queryId }, { at: i });
    });

    afterAll(async () => {
      agent.destroy();
      await hub?.close();
      await rm(dir, { recursive: true, force: true });
    });

    it('tells what each process takes of the machine', async () => {
      for (const port of [...hub.executorMetricsPorts, ...hub.catalogMetricsPorts]) {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        expect(text).toContain('\nnodejs_eventloop_lag_p99_seconds ');
        expect(text).toContain('\nprocess_resident_memory_bytes ');
      }
    });

    it('sends the executions of a source to one executor, from every gateway', async () => {
      const counts = () =>
        Promise.all(
          hub.executorMetricsPorts.map(async (port) => {
            const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
            const lines = text.matchAll(/^datahub_executions?_[a-z_]*count\S* (\d+)$/gm);
            return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
          }),
        );
      // The first call of a gateway finds out the source.
      for (const i of hub.gateways.keys()) await ask({ queryId }, { at: i });
      const before = await counts();
      for (let i = 0; i < 40; i++) await ask({ queryId }, { at: i });
      const done = (await counts()).map((count, i) => count - (before[i] as number));
      expect(done.sort((a, b) => a - b)).toEqual([...Array(replicas - 1).fill(0), 40]);
    });

    it('admits a key’s rate over all gateways within a tenth, however the load is spread', async () => {
      // Not across the turn of a minute, which brings a new budget.
      const left = 60_000 - (Date.now() % 60_000);
      if (left < 15_000) await sleep(left + 500);
      for (const skew of [2, 10]) {
        const made = await apis[0]?.post('/v1/keys', {
          name: 'rate',
          scopes: ['*'],
          limits: { ratePerMinute: 300 },
        });
        const statuses = await Promise.all(
          Array.from({ length: 450 }, async (_, i) => {
            await sleep(i * 4);
            return ask({ queryId }, { at: i % skew === 0 ? 1 : 0, withKey: made?.body.key });
          }),
        );
        const admitted = statuses.filter((status) => status === 200).length;
        expect(new Set(statuses)).toEqual(new Set([200, 429]));
        expect(Math.abs(admitted - 300)).toBeLessThanOrEqual(300 * off);
      }
    });

    it('limits an address that guesses keys, over all gateways within a tenth, and no other address', async () => {
      const left = 60_000 - (Date.now() % 60_000);
      if (left < 10_000) await sleep(left + 500);
      const guess = (i: number, from: string) =>
        ask({ queryId }, { at: i, withKey: `guess-${i}-${'x'.repeat(30)}`, from });
      const statuses: number[] = [];
      for (let i = 0; i < 300; i += 4) {
        statuses.push(...(await Promise.all([0, 1, 2, 3].map((n) => guess(i + n, '127.0.0.9')))));
      }
      expect(new Set(statuses)).toEqual(new Set([401, 429]));
      const lookedAt = statuses.filter((status) => status === 401).length;
      expect(Math.abs(lookedAt - 100)).toBeLessThanOrEqual(100 * off);
      expect(await Promise.all([0, 1].map((n) => guess(n, '127.0.0.10')))).toEqual([401, 401]);
      expect(await ask({ queryId }, { from: '127.0.0.9' })).toBe(200);
    });

    it('refuses a revoked key at every gateway within 5 s, under load', async () => {
      const made = await apis[0]?.post('/v1/keys', { name: 'short-lived', scopes: ['*'] });
      const { key: withKey, keyId } = made?.body ?? {};
      let running = true;
      let lastAcceptedAt = 0;
      let asked = 0;
      let refusedInARow = 0;
      const load = Array.from({ length: 8 }, async (_, i) => {
        while (running) {
          asked++;
          const accepted = (await ask({ queryId }, { at: i, withKey })) === 200;
          if (accepted) lastAcceptedAt = performance.now();
          refusedInARow = accepted ? 0 : refusedInARow + 1;
        }
      });
      await vi.waitUntil(() => asked > 250, { timeout: 60_000 });
      await apis[1]?.call('DELETE', `/v1/keys/${keyId}`);
      const revokedAt = performance.now();
      await vi.waitUntil(() => refusedInARow > 250, { timeout: 60_000 });
      running = false;
      await Promise.all(load);
      process.stdout.write(
        `${hub.gateways.length} gateways: last accepted ${Math.round(lastAcceptedAt - revokedAt)} ms after it was revoked, of ${asked}\n`,
      );
      expect(lastAcceptedAt - revokedAt).toBeLessThan(5_000);
      expect(lastAcceptedAt).toBeGreaterThan(0);
    });

    it('restarts one after the other under load without a failed request', async () => {
      const failed = new Map<number, number>();
      let running = true;
      let asked = 0;
      let streams = 0;
      const note = (status: number) => {
        if (status !== 200) failed.set(status, (failed.get(status) ?? 0) + 1);
      };
      const load = Array.from({ length: 8 }, async (_, i) => {
        // 200 requests a second in all.
        for (let n = i; running; n++) {
          const turn = sleep(40);
          note(await ask({ queryId }, { at: n }));
          asked++;
          await turn;
        }
      });
      const streaming = Array.from({ length: 2 }, async (_, i) => {
        for (let n = i; running; n++) {
          note(await ask({ queryId: slowId }, { at: n }));
          streams++;
        }
      });
      const tookMs: number[] = [];
      for (let round = 0; round < scaled(1, 3); round++) {
        for (const service of ['gateway', 'catalog', 'executor', 'ml'] as const) {
          for (let replica = 0; replica < replicas; replica++) {
            if (service === 'gateway') leaving = replica;
            await sleep(200);
            tookMs.push(await hub.restart(service, replica));
            leaving = -1;
            // A cluster waits until the new one is found.
            await sleep(2_500);
          }
        }
      }
      running = false;
      await Promise.all([...load, ...streaming]);
      console.log(
        `${asked} requests and ${streams} streams; the longest end took ${Math.max(...tookMs).toFixed(0)} ms`,
      );
      expect(Object.fromEntries(failed)).toEqual({});
      expect(Math.max(...tookMs)).toBeLessThan(25_000);
    }, 300_000);
  },
);
