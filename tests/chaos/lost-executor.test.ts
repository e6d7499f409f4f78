import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../packages/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { type Watcher, watch } from '../support/watcher.ts';

const { POSTGRES_URL } = process.env;

describe.skipIf(POSTGRES_URL === undefined)('an execution without an answer (needs POSTGRES_URL)', () => {
  let dir: string;
  let hub: DistributedHub;
  let watcher: Watcher;
  let api: Api;
  const mark = `lost_${randomBytes(4).toString('hex')}`;
  const queries = { reads: [] as string[], write: '' };
  let sourceId: string;
  let drop: string;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-lost-executor-'));
    const access = accessOf(POSTGRES_URL as string);
    watcher = await watch('postgres', access);
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    hub = await startDistributed(
      {
        PORT: '0',
        DATAHUB_METRICS_PORT: '0',
        DATAHUB_DATA_DIR: dir,
        DATAHUB_API_KEY: key,
        DATAHUB_EDGE: 'none',
        DATAHUB_LOG_LEVEL: 'fatal',
        DATAHUB_REQUEST_TIMEOUT_MS: '10000',
      },
      'ignore',
    );
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'lost' }));
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings: access };
    ({ sourceId } = await api.ok(api.post('/v1/sources', source)));
    const store = async (query: string, command: string) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, command }))).config.query
        .queryId;
    queries.reads = [
      await store(`SELECT /* ${mark} */ pg_sleep(60)`, 'SELECT'),
      await store(`WITH w AS (SELECT /* ${mark} */ pg_sleep(60)) SELECT * FROM w`, 'WITH'),
      await store(`VALUES (/* ${mark} */ pg_sleep(60))`, 'VALUES'),
    ];
    const create = await store(`CREATE TABLE ${mark} (n int)`, 'CREATE');
    await api.ok(api.post('/v1/queries/execute', { queryId: create }));
    queries.write = await store(`INSERT INTO ${mark} SELECT 1 FROM pg_sleep(60)`, 'INSERT');
    drop = await store(`DROP TABLE ${mark}`, 'DROP');
  });
  afterAll(async () => {
    await watcher.kill(mark);
    await api.ok(api.post('/v1/queries/execute', { queryId: drop }));
    await watcher?.close();
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const execute = async (queryId: string) => {
    const { status, body } = await api.post('/v1/queries/execute', { queryId });
    return { status, code: body.code, retryable: body.retryable };
  };

  it('because its executor was killed has an unknown outcome if it writes, and is retryable if it reads', async () => {
    const answers = Promise.all([...queries.reads, queries.write].map(execute));
    await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 50 }).toBe(4);
    const restarted = hub.restart('executor', 0, 'SIGKILL');
    expect(await answers).toEqual([
      ...queries.reads.map(() => ({ status: 502, code: 'SOURCE_BROKEN', retryable: true })),
      { status: 503, code: 'OUTCOME_UNKNOWN', retryable: false },
    ]);
    await watcher.kill(mark);
    await restarted;
    const serves = async () => (await api.post(`/v1/sources/${sourceId}/test`)).status;
    await expect.poll(serves, { timeout: 60_000, interval: 100 }).toBe(200);
  });

  it('before the deadline has an unknown outcome if it writes', async () => {
    const answers = await Promise.all([execute(queries.reads[0] as string), execute(queries.write)]);
    expect(answers).toEqual([
      { status: 504, code: 'STATEMENT_TIMEOUT', retryable: false },
      { status: 503, code: 'OUTCOME_UNKNOWN', retryable: false },
    ]);
  });
});
