import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Answer, type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const { MONGODB_URL, POSTGRES_URL } = process.env;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const awayMs = scaled(6_000, 45_000);
/** Calls one after the other for each kind. */
const everyMs = 20;

interface Call {
  kind: string;
  status: number;
  code: string | undefined;
  retryable: boolean | undefined;
}

describe.skipIf(!MONGODB_URL || !POSTGRES_URL)(
  'a store that is gone (needs MONGODB_URL, POSTGRES_URL)',
  () => {
    let dir: string;
    let hub: DistributedHub;
    let network: FaultyNetwork;
    let api: Api;
    let stranger: Api;
    let queryId: string;
    let cachedId: string;
    const key = `test-key-${randomBytes(24).toString('hex')}`;

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-gone-'));
      const store = new URL(MONGODB_URL as string);
      network = await startNetwork({ host: store.hostname, port: Number(store.port) });
      store.host = `127.0.0.1:${network.port}`;
      store.pathname = `/gone_${randomBytes(6).toString('hex')}`;
      const env = {
        ...hubSettings(dir, key),
        DATAHUB_STORE_URL: store.href,
        DATAHUB_UNKNOWN_KEYS_PER_MINUTE: '100000',
      };
      hub = await startDistributed(env, 'inherit');
      const url = `http://127.0.0.1:${hub.port}`;
      api = createApi({ url, key });
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'gone' }));
      const connectionSettings = accessOf(POSTGRES_URL as string);
      const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
      const { sourceId } = await api.ok(api.post('/v1/sources', source));
      const create = async (more: object) => {
        const query = { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one', ...more };
        return (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
      };
      queryId = await create({});
      cachedId = await create({ cache: { maxAgeS: 3_600 } });
      stranger = createApi({ url, key: `test-key-${randomBytes(24).toString('hex')}` });
    });
    afterAll(async () => {
      await hub?.close();
      network?.close();
      await rm(dir, { recursive: true, force: true });
    });

    /** Each needs only what the services know already. */
    const known = {
      execution: () => api.post('/v1/queries/execute', { queryId }),
      'cached GET': () => api.get(`/v1/queries/${cachedId}/data`),
    };
    /** Each needs the store. */
    const others = {
      list: () => api.get('/v1/hubs'),
      create: () => api.post('/v1/classifiers', {}),
      read: () => api.get(`/v1/queries/${queryId}`),
      'unknown key': () => stranger.get('/v1/hubs'),
      'new operation': () =>
        api.post(
          '/v1/hubs',
          { label: 'h' },
          { headers: { 'idempotency-key': randomBytes(8).toString('hex') } },
        ),
    };

    it.each(['silence', 'reset'] as const)(
      'is known at once, and what needs it not goes on (%s)',
      { timeout: 3 * awayMs + 120_000 },
      async (fault) => {
        const calls: Call[] = [];
        let done = false;
        const repeat = async (kind: string, send: () => Promise<Answer>) => {
          while (!done) {
            const { status, body } = await send();
            const { code, retryable } = body ?? {};
            calls.push({ kind, status, code, retryable });
            await sleep(everyMs);
          }
        };
        for (const send of Object.values(known)) expect((await send()).status).toBe(200);
        network.fault = fault;
        const all = Object.entries({ ...known, ...others });
        const running = all.map(([kind, send]) => repeat(kind, send));
        await sleep(awayMs);
        network.fault = 'none';
        const statuses = () => Promise.all(Object.values(others).map(async (send) => (await send()).status));
        await expect.poll(statuses, { timeout: 60_000, interval: 50 }).toEqual([200, 200, 200, 401, 200]);
        done = true;
        await Promise.all(running);

        const of = (kind: string) => calls.filter((call) => call.kind === kind);
        for (const kind of Object.keys(known)) {
          expect(of(kind).filter(({ status }) => status !== 200)).toEqual([]);
        }
        for (const kind of Object.keys(others)) {
          const failed = of(kind).filter(({ status }) => status >= 500);
          const refused = failed.filter(
            ({ code, retryable }) => code === 'UNAVAILABLE' && retryable === true,
          );
          const unclear = failed.filter(({ code }) => code === 'OUTCOME_UNKNOWN');
          expect(refused.length + unclear.length).toBe(failed.length);
          // What was under way when the connections broke. With an Idempotency-Key, nothing has begun then.
          expect(unclear.length).toBeLessThan(kind === 'create' ? failed.length : 1);
          // With the timeouts of the driver there would be two.
          expect(failed.length).toBeGreaterThan(2);
        }
      },
    );
  },
);
