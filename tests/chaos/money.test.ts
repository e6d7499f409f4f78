/**
 * Callers move money at SERIALIZABLE while sessions, executors and the link between COMMIT and its answer end at random:
 * the sum stays, and a request that is repeated with its Idempotency-Key until it is answered is applied exactly once.
 */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { createRandom } from '../support/random.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';
import { type Watcher, watch } from '../support/watcher.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const { POSTGRES_URL } = process.env;
const accounts = 20;
const callers = scaled(10, 50);
const moves = scaled(12, 400);
const forMs = scaled(60_000, 300_000);
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(POSTGRES_URL === undefined)('money (needs POSTGRES_URL)', () => {
  const mark = `money_${randomBytes(4).toString('hex')}`;
  const random = createRandom(50);
  let dir: string;
  let hub: DistributedHub;
  let api: Api;
  let watcher: Watcher;
  let network: FaultyNetwork;
  let place: { hubId: string; sourceId: string };
  let ids: { take: string; give: string; note: string };
  /** Answers that did not say how a call ended. */
  let unknown = 0;
  const store = async (sourceId: string, query: string): Promise<string> => {
    const body = { hubId: place.hubId, sourceId, label: 'q', query, command: query.split(' ', 1)[0] };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
  };
  const direct = async (query: string) => {
    const queryId = await store(place.sourceId, query);
    return (await api.ok(api.post('/v1/queries/execute', { queryId }))).data;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-money-'));
    const access = accessOf(POSTGRES_URL as string);
    const { host, port } = access;
    watcher = await watch('postgres', access);
    network = await startNetwork({ host, port });
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    hub = await startDistributed({ ...hubSettings(dir, key), DATAHUB_EDGE: 'none' }, 'ignore');
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'money' }));
    const add = async (settings: object) =>
      (
        await api.ok(
          api.post('/v1/sources', { hubId, label: 's', engine: 'postgres', connectionSettings: settings }),
        )
      ).sourceId as string;
    place = { hubId, sourceId: await add(access) };
    await direct(`CREATE TABLE ${mark} (id int PRIMARY KEY, amount int NOT NULL)`);
    await direct(`INSERT INTO ${mark} SELECT i, 1000 FROM generate_series(1, ${accounts}) i`);
    // Without a key, so that a second application shows.
    await direct(`CREATE TABLE ${mark}_moves (move text)`);
    // In the clear, so that the network can see COMMIT.
    const linked = await add({ ...access, host: '127.0.0.1', port: network.port, tls: { mode: 'disable' } });
    ids = {
      take: await store(linked, `UPDATE ${mark} SET amount = amount - :amount WHERE id = :id`),
      give: await store(linked, `UPDATE ${mark} SET amount = amount + :amount WHERE id = :id`),
      note: await store(linked, `INSERT INTO ${mark}_moves VALUES (:move)`),
    };
  });
  afterAll(async () => {
    network.close();
    await direct(`DROP TABLE ${mark}, ${mark}_moves`).catch(() => {});
    await watcher?.close();
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** Repeats the call under one key until it is answered. An unknown outcome is found out by the next repetition. */
  async function move(name: string, giveUpAt: number): Promise<'applied' | 'unanswered'> {
    const amount = 1 + Math.floor(random() * 9);
    const [from, to] = [1, 2].map(() => 1 + Math.floor(random() * accounts)) as [number, number];
    const expectRows = { expectRows: 1 };
    const steps = [
      { queryId: ids.take, context: { id: from, amount }, options: expectRows },
      { queryId: ids.give, context: { id: to, amount }, options: expectRows },
      { queryId: ids.note, context: { move: name } },
    ];
    const body = { steps, isolation: 'serializable', retry: true };
    while (Date.now() < giveUpAt) {
      const call = api.post('/v1/queries/transaction', body, { headers: { 'idempotency-key': name } });
      const { status, body: answer } = await call;
      if (status === 200) return 'applied';
      if (answer.code === 'OUTCOME_UNKNOWN') unknown++;
      const isRunning = answer.code === 'IDEMPOTENCY_CONFLICT' && /still running/.test(answer.detail);
      const again = answer.retryable === true || ['40001', '40P01'].includes(answer.sql?.state);
      if (!again && !isRunning && !['UNAVAILABLE', 'OUTCOME_UNKNOWN'].includes(answer.code))
        throw new Error(`${status} ${JSON.stringify(answer)}`);
      await sleep(20 + random() * 100);
    }
    return 'unanswered';
  }

  it(
    'is neither lost nor made',
    async () => {
      const endAt = Date.now() + forMs;
      const ends = new Map<string, string>();
      let isOver = false;
      const faults = (async () => {
        for (let i = 0; !isOver && Date.now() < endAt; i++) {
          await sleep(100 + random() * 300);
          if (i % 6 === 5) await hub.restart('executor', 0, 'SIGKILL');
          else if (i % 3 === 0) network.resetAll();
          else if (i % 3 === 1) await watcher.kill(mark);
          else {
            network.fault = { resetInAnswerTo: 'COMMIT' };
            await sleep(30);
            network.fault = 'none';
          }
        }
      })();
      const call = async (_: unknown, caller: number) => {
        for (let i = 0; i < moves && Date.now() < endAt; i++) {
          const name = `${caller}-${i}`;
          ends.set(name, await move(name, endAt + 60_000));
        }
      };
      await Promise.all(Array.from({ length: callers }, call)).finally(() => {
        isOver = true;
      });
      await faults;
      network.fault = 'none';
      // The executor may have just been started.
      await expect.poll(async () => (await api.post(`/v1/sources/${place.sourceId}/test`)).status).toBe(200);
      const [{ sum }] = await direct(`SELECT sum(amount) AS sum FROM ${mark}`);
      expect(Number(sum)).toBe(accounts * 1_000);
      const rows = (await direct(`SELECT move, count(*)::int AS n FROM ${mark}_moves GROUP BY move`)) as {
        move: string;
        n: number;
      }[];
      const times = new Map(rows.map(({ move, n }) => [move, n]));
      const wrong = [...ends].filter(([name, end]) => end !== 'applied' || times.get(name) !== 1);
      expect(wrong).toEqual([]);
      expect(unknown).toBeGreaterThan(0);
    },
    forMs + 120_000,
  );
});
