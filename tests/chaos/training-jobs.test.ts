import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../packages/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { scaled } from '../support/scale.ts';

const { POSTGRES_URL, MONGODB_URL } = process.env;
const isPossible = POSTGRES_URL !== undefined && MONGODB_URL !== undefined;
const rows = scaled(1_600, 100_000);
const kills = scaled(2, 20);
/** Slows down the rows, so that processes are killed during the job. */
const pauseSeconds = scaled(0.3, 0);
const timeoutMs = scaled(60_000, 1_800_000);

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

  beforeAll(async () => {
    client = new pg.Client({ connectionString: POSTGRES_URL });
    await client.connect();
    await client.query(
      `CREATE TABLE ${table} AS SELECT n AS id, 'topic ' || n % 7 AS topic,
       'word' || n % 7 || ' and ' || md5((n % 501)::text) || ' number ' || n AS body FROM generate_series(1, ${rows}) n`,
    );
    dir = await mkdtemp(join(tmpdir(), 'datahub-training-'));
    const settings = {
      PORT: '0',
      DATAHUB_METRICS_PORT: '0',
      DATAHUB_DATA_DIR: dir,
      DATAHUB_API_KEY: key,
      DATAHUB_STORE_URL: storeUrl.href,
      DATAHUB_EDGE: 'none',
      DATAHUB_LOG_LEVEL: 'fatal',
      DATAHUB_JOB_LEASE_MS: '1000',
    };
    hub = await startDistributed(settings, 'ignore', 2);
    apis = hub.gateways.map(({ port }) => createApi({ url: `http://127.0.0.1:${port}`, key }));
    const [api] = apis as [Api];
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'training' }));
    const connectionSettings = accessOf(POSTGRES_URL as string);
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const inOrder = `SELECT id, topic, body FROM ${table} ORDER BY id OFFSET 0`;
    const query = `SELECT * FROM (${inOrder}) AS t WHERE id % 400 <> 0 OR pg_sleep(${pauseSeconds}) IS NOT NULL`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }));
    ({ queryId } = stored.config.query);
  }, 120_000);
  afterAll(async () => {
    await hub?.close();
    await client.query(`DROP TABLE IF EXISTS ${table}`);
    await client.end();
    await rm(dir, { recursive: true, force: true });
  }, 60_000);

  /** Calls a gateway that answers. */
  const ask = async (call: (api: Api) => Promise<any>): Promise<any> => {
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
  const start = async () => {
    const { id } = await ask((api) => api.ok(api.post('/v1/classifiers', {})));
    const body = { queryId, text: 'body', label: 'topic', id: 'id' };
    const { jobId } = await ask((api) => api.ok(api.post(`/v1/classifiers/${id}/train`, body)));
    return { id, jobId };
  };
  const get = (jobId: string) => ask((api) => api.ok(api.get(`/v1/jobs/${jobId}`)));
  /** Resolves when the job has learnt more than `than` or ended. */
  const progress = async (jobId: string, than: number) => {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const job = await get(jobId);
      if (job.trained > than || job.state === 'done' || job.state === 'failed') return job;
      if (performance.now() > deadline) throw new Error(`The job stands at ${JSON.stringify(job)}.`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const done = async (jobId: string) => {
    let job = await get(jobId);
    while (job.state !== 'done' && job.state !== 'failed') job = await progress(jobId, job.trained);
    return job;
  };

  it(
    'counts each row once and gives the same model, although processes are killed',
    async () => {
      const killed = await start();
      let seen = 0;
      let count = 0;
      for (; count < kills; count++) {
        const { trained, state } = await progress(killed.jobId, seen);
        if (state === 'done') break;
        seen = trained + Math.floor(rows / (2 * kills));
        const service = count % 2 === 0 ? 'gateway' : 'ml';
        await hub.restart(service, randomInt(2), 'SIGKILL');
      }
      expect(count).toBeGreaterThan(0);
      expect(await done(killed.jobId)).toMatchObject({
        state: 'done',
        rows,
        trained: rows,
        corrected: 0,
        skipped: 0,
        error: null,
      });
      const whole = await start();
      expect((await done(whole.jobId)).trained).toBe(rows);

      const contexts = Array.from({ length: 30 }, (_, i) => `word${i % 7} number ${i * 37} and word${i % 3}`);
      const read = async (id: string) => {
        const { classes } = await ask((api) => api.ok(api.get(`/v1/classifiers/${id}`)));
        const { predictions } = await ask((api) =>
          api.ok(api.post(`/v1/classifiers/${id}/predict`, { contexts })),
        );
        const byLabel = (one: { label: string }, other: { label: string }) =>
          one.label < other.label ? -1 : 1;
        return {
          classes: classes.map(({ label, observations }: any) => ({ label, observations })).sort(byLabel),
          scores: predictions.map(({ scores }: any) =>
            scores.map(({ label, confidence }: any) => ({ label, confidence })).sort(byLabel),
          ),
        };
      };
      const model = await read(killed.id);
      expect(model).toEqual(await read(whole.id));
      const counted = model.classes.reduce((sum: number, one: any) => sum + one.observations, 0);
      expect(counted).toBe(rows);
    },
    2 * timeoutMs,
  );
});
