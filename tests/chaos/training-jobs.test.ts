import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';
import { hubSettings, spawnHub } from '../support/spawned.ts';

const { POSTGRES_URL, MONGODB_URL } = process.env;
const isPossible = POSTGRES_URL !== undefined && MONGODB_URL !== undefined;
const rows = scaled(1_600, 100_000);
const kills = scaled(2, 20);
/** Slows down the rows, so that processes are killed during the job. */
const pauseSeconds = scaled(0.3, 0);
const timeoutMs = scaled(180_000, 1_800_000);

type Ask = (call: (api: Api) => Promise<any>) => Promise<any>;

async function start(ask: Ask, queryId: string): Promise<{ id: string; jobId: string }> {
  const { id } = await ask((api) => api.ok(api.post('/v1/classifiers', {})));
  const body = { queryId, text: 'body', label: 'topic', id: 'id' };
  const { jobId } = await ask((api) => api.ok(api.post(`/v1/classifiers/${id}/train`, body)));
  return { id, jobId };
}

/** Resolves when the job has learnt more than `than` or ended. */
async function progress(ask: Ask, jobId: string, than: number): Promise<any> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const job = await ask((api) => api.ok(api.get(`/v1/jobs/${jobId}`)));
    if (job.trained > than || job.state === 'done' || job.state === 'failed') return job;
    if (performance.now() > deadline) throw new Error(`The job stands at ${JSON.stringify(job)}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function done(ask: Ask, jobId: string): Promise<any> {
  let job = await progress(ask, jobId, -1);
  while (job.state !== 'done' && job.state !== 'failed') job = await progress(ask, jobId, job.trained);
  return job;
}

/** Reads what the classes have learnt, and what the model predicts. Ids differ between two hubs. */
async function read(ask: Ask, id: string) {
  const contexts = Array.from({ length: 30 }, (_, i) => `word${i % 7} number ${i * 37} and word${i % 3}`);
  const { classes } = await ask((api) => api.ok(api.get(`/v1/classifiers/${id}`)));
  const { predictions } = await ask((api) => api.ok(api.post(`/v1/classifiers/${id}/predict`, { contexts })));
  const byLabel = (one: { label: string }, other: { label: string }) => (one.label < other.label ? -1 : 1);
  return {
    classes: classes.map(({ label, observations }: any) => ({ label, observations })).sort(byLabel),
    scores: predictions.map(({ scores }: any) =>
      scores.map(({ label, confidence }: any) => ({ label, confidence })).sort(byLabel),
    ),
  };
}

describe.skipIf(!isPossible)('a training job (needs POSTGRES_URL and MONGODB_URL)', () => {
  const table = `tickets_${randomBytes(4).toString('hex')}`;
  const storeUrl = new URL(MONGODB_URL ?? 'mongodb://none/');
  storeUrl.pathname = `/chaos_${randomBytes(6).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  let client: pg.Client;
  let dir: string;
  let hub: DistributedHub;
  let apis: Api[];
  let queryId: string;

  const store = async (api: Api): Promise<string> => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'training' }));
    const connectionSettings = accessOf(POSTGRES_URL as string);
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const inOrder = `SELECT id, topic, body FROM ${table} ORDER BY id OFFSET 0`;
    const query = `SELECT * FROM (${inOrder}) AS t WHERE id % 400 <> 0 OR pg_sleep(${pauseSeconds}) IS NOT NULL`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
    return stored.config.query.queryId;
  };

  beforeAll(async () => {
    client = new pg.Client({ connectionString: POSTGRES_URL });
    await client.connect();
    await client.query(
      `CREATE TABLE ${table} AS SELECT n AS id, 'topic ' || n % 7 AS topic,
       'word' || n % 7 || ' and ' || md5((n % 501)::text) || ' number ' || n AS body FROM generate_series(1, ${rows}) n`,
    );
    dir = await mkdtemp(join(tmpdir(), 'datahub-training-'));
    const settings = {
      ...hubSettings(dir, key),
      DATAHUB_STORE_URL: storeUrl.href,
      DATAHUB_EDGE: 'none',
      DATAHUB_JOB_LEASE_MS: '3000',
    };
    hub = await startDistributed(settings, 'ignore', { replicas: 2 });
    apis = hub.gateways.map(({ port }) => createApi({ url: `http://127.0.0.1:${port}`, key }));
    queryId = await store(apis[0] as Api);
  });
  afterAll(async () => {
    await hub?.close();
    await client.query(`DROP TABLE IF EXISTS ${table}`);
    await client.end();
    await rm(dir, { recursive: true, force: true });
  });

  /** Calls a gateway that answers. */
  const ask: Ask = async (call) => {
    const deadline = performance.now() + 30_000;
    for (let i = 0; ; i++) {
      try {
        return await call(apis[i % 2] as Api);
      } catch (err) {
        if (performance.now() > deadline) throw err;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  };

  it(
    'counts each row once, and gives the same model as in one process that nobody kills',
    async () => {
      const killed = await start(ask, queryId);
      let seen = 0;
      let count = 0;
      for (; count < kills; count++) {
        const { trained, state } = await progress(ask, killed.jobId, seen);
        if (state === 'done') break;
        seen = trained + Math.floor(rows / (2 * kills));
        const service = count % 2 === 0 ? 'gateway' : 'ml';
        await hub.restart(service, randomInt(2), 'SIGKILL');
      }
      expect(count).toBeGreaterThan(0);
      const all = { state: 'done', rows, trained: rows, corrected: 0, skipped: 0, error: null };
      expect(await done(ask, killed.jobId)).toMatchObject(all);
      const model = await read(ask, killed.id);
      const counted = model.classes.reduce((sum: number, one: any) => sum + one.observations, 0);
      expect(counted).toBe(rows);

      const calm = await spawnHub({});
      try {
        const askCalm: Ask = (call) => call(calm.api);
        const whole = await start(askCalm, await store(calm.api));
        expect(await done(askCalm, whole.jobId)).toMatchObject(all);
        expect(model).toEqual(await read(askCalm, whole.id));
      } finally {
        await calm.close();
      }
    },
    2 * timeoutMs,
  );
});
