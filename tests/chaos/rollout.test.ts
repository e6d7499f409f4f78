import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings } from '../support/spawned.ts';
import { watchSessions } from './support/sessions.ts';

const { MONGODB_URL, POSTGRES_URL } = process.env;
const replicas = 2;
const poolMax = 4;
const callEveryMs = 10;
/** A machine that is too busy for the rate gets fewer calls. Those that it gets must succeed all the same. */
const pendingMax = 50;
const stepMs = 300;

const services = ['catalog', 'executor', 'ml', 'gateway'] as const;
type Service = (typeof services)[number];

const ordersOf = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item) => ordersOf(items.filter((one) => one !== item)).map((rest) => [item, ...rest]));

/** Each step restarts one replica of some services. The second begins while the first has stopped. */
const together: Service[][] = [[...services]];
const oneByOne = ordersOf(services).map((order) => order.map((service) => [service]));
const rollouts: Service[][][] = scaled([together], [together, ...oneByOne]);

const nameOf = (steps: Service[][]) => steps.map((step) => step.join(' and ')).join(', then ');

describe.skipIf(!MONGODB_URL || !POSTGRES_URL)('a rollout (needs MONGODB_URL, POSTGRES_URL)', () => {
  const name = `rollout_${randomBytes(6).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const admin = new pg.Client(POSTGRES_URL);
  const agent = new Agent({ keepAlive: true });
  let dir: string;
  let hub: DistributedHub;
  let insertId: string;
  let sessions: Awaited<ReturnType<typeof watchSessions>>;
  /** Kubernetes sends no new requests to a pod that is about to end. */
  let leaving = -1;
  /** The number that the next call inserts. */
  let next = 1;

  /** Resolves with 'ok', or with what went wrong. */
  const execute = (n: number, at = n): Promise<string> =>
    new Promise((resolve) => {
      const serving = hub.gateways.filter((_, i) => i !== leaving);
      const { port } = serving[at % serving.length] as { port: number };
      const text = JSON.stringify({ queryId: insertId, context: { n } });
      const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
      const options = {
        host: '127.0.0.1',
        port,
        path: '/v1/queries/execute',
        method: 'POST',
        agent,
        headers,
      };
      const call = request(options, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (piece) => {
          body += piece;
        });
        response.on('close', () =>
          resolve(response.statusCode === 200 && response.complete ? 'ok' : body || 'cut'),
        );
      });
      call.on('error', (err: NodeJS.ErrnoException) => {
        // A connection that closed before anything was sent is opened anew, as every client does.
        const unsent = err.code === 'ECONNREFUSED' || (call.reusedSocket && err.code === 'ECONNRESET');
        resolve(unsent ? execute(n, at + 1) : err.message);
      });
      call.end(text);
    });

  beforeAll(async () => {
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-rollout-'));
    const store = new URL(MONGODB_URL as string);
    store.pathname = `/${name}`;
    const env = {
      ...hubSettings(dir, key),
      DATAHUB_STORE_URL: store.href,
      DATAHUB_EDGE: 'none',
      // On a slow machine calls wait for long, but none is refused for that.
      DATAHUB_POOL_WAIT_MS: '60000',
    };
    hub = await startDistributed(env, 'inherit', { replicas });
    const api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'rollout' }));
    const access = { ...accessOf(POSTGRES_URL as string), database: name, pool: { max: poolMax } };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings: access };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const store1 = async (command: string, query: string, context: object[]) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', command, query, context }))).config
        .query.queryId;
    const create = await store1('CREATE', 'CREATE TABLE t (n int)', []);
    await api.ok(api.post('/v1/queries/execute', { queryId: create }));
    insertId = await store1('INSERT', 'INSERT INTO t VALUES (:n)', [{ key: 'n', type: 'integer' }]);
    sessions = await watchSessions(POSTGRES_URL as string, name);
    for (let n = -20; n < 0; n++) await execute(n, -n);
  });
  afterAll(async () => {
    agent.destroy();
    await hub?.close();
    await sessions?.close();
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
    await rm(dir, { recursive: true, force: true });
  });

  const restart = async (service: Service, replica: number) => {
    if (service === 'gateway') {
      leaving = replica;
      await sleep(200);
    }
    await hub.restart(service, replica);
    if (service === 'gateway') leaving = -1;
    const ports = {
      catalog: hub.catalogMetricsPorts,
      executor: hub.executorMetricsPorts,
      ml: hub.mlMetricsPorts,
    };
    const port = service === 'gateway' ? undefined : ports[service][replica];
    const isReady = async () => port === undefined || (await fetch(`http://127.0.0.1:${port}/readyz`)).ok;
    await expect.poll(() => isReady().catch(() => false), { timeout: 60_000 }).toBe(true);
  };

  it.each(rollouts.map((steps) => [nameOf(steps), steps] as const))(
    'of %s fails no call, and runs each once',
    { timeout: 600_000 },
    async (order, steps) => {
      const from = next;
      const answers: string[] = [];
      const tookMs: number[] = [];
      let running = true;
      const calls: Promise<void>[] = [];
      let pending = 0;
      const call = async (mine: number) => {
        const at = performance.now();
        pending++;
        answers.push(await execute(mine));
        pending--;
        tookMs.push(performance.now() - at);
      };
      const load = (async () => {
        while (running) {
          if (pending < pendingMax) calls.push(call(next++));
          await sleep(callEveryMs);
        }
      })();
      await sleep(2_000);
      const before = percentile(tookMs, 0.99);
      for (const step of steps)
        for (let replica = 0; replica < replicas; replica++) {
          await Promise.all(
            step.map((service, i) => sleep(i * stepMs).then(() => restart(service, replica))),
          );
          // The others have found the new ones.
          await sleep(2_500);
        }
      running = false;
      await load;
      await Promise.all(calls);
      console.log(
        `${order}: ${calls.length} calls, p99 ${before.toFixed(0)} ms before and ${percentile(tookMs, 0.99).toFixed(0)} ms in all, the longest ${Math.max(...tookMs).toFixed(0)} ms`,
      );
      expect(answers.filter((answer) => answer !== 'ok')).toEqual([]);
      const ran = `SELECT count(*)::int AS runs, count(DISTINCT n)::int AS calls FROM t WHERE n >= ${from}`;
      const client = new pg.Client({ ...accessOf(POSTGRES_URL as string), database: name });
      await client.connect();
      const { rows } = await client.query(ran);
      await client.end();
      expect(rows).toEqual([{ runs: calls.length, calls: calls.length }]);
      expect(sessions.seen.most).toBeLessThanOrEqual(poolMax);
    },
  );
});

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
}
