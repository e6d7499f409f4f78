import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';
import { type Watcher, watch } from '../support/watcher.ts';
import { type FaultyNetwork, startNetwork } from './support/network.ts';

const { POSTGRES_URL, MYSQL_URL, MONGODB_URL } = process.env;

/** A statement for each command that only reads, and writes, with a mark. */
const statements: Record<string, (mark: string) => { reads: string[]; writes: string[] }> = {
  postgres: (mark) => ({
    reads: ['SELECT 1', 'WITH w AS (SELECT 1) TABLE w', 'VALUES (1)', 'TABLE pg_am', 'SHOW server_version']
      .concat('EXPLAIN SELECT 1')
      .map((text) => text.replace(' ', ` /* ${mark} */ `)),
    writes: [`CALL /* ${mark} */ no_such_procedure()`],
  }),
  mysql: (mark) => ({
    reads: ['SELECT 1', 'TABLE no_such_table', 'SHOW TABLES', 'EXPLAIN SELECT 1', 'DESCRIBE mysql.user']
      .concat('DESC mysql.user')
      .map((text) => text.replace(' ', ` /* ${mark} */ `)),
    writes: [`UPDATE /* ${mark} */ no_such_table SET n = 1`],
  }),
  mongodb: (mark) => ({
    reads: [
      { find: mark },
      { aggregate: mark, pipeline: [] },
      { count: mark },
      { distinct: mark, key: 'n' },
    ].map((command) => JSON.stringify(command)),
    writes: [JSON.stringify({ delete: mark, deletes: [{ q: { n: 1 }, limit: 1 }] })],
  }),
};
const servers = Object.entries({ postgres: POSTGRES_URL, mysql: MYSQL_URL, mongodb: MONGODB_URL });

describe.skipIf(POSTGRES_URL === undefined)('an execution without an answer (needs POSTGRES_URL)', () => {
  let dir: string;
  let hub: DistributedHub;
  let watcher: Watcher;
  let api: Api;
  const mark = `lost_${randomBytes(4).toString('hex')}`;
  const queries = { reads: [] as string[], write: '' };
  let sourceId: string;
  let drop: string;
  const networks: FaultyNetwork[] = [];
  /** Queries of sources that do not answer statements with the mark. */
  const held = { reads: [] as string[], writes: [] as string[] };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-lost-executor-'));
    const access = accessOf(POSTGRES_URL as string);
    watcher = await watch('postgres', access);
    const key = `test-key-${randomBytes(24).toString('hex')}`;
    hub = await startDistributed(
      {
        ...hubSettings(dir, key),
        DATAHUB_EDGE: 'none',
        DATAHUB_REQUEST_TIMEOUT_MS: '20000',
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
    const ready: (() => Promise<number>)[] = [];
    for (const [engine, url] of servers) if (url !== undefined) ready.push(await hold(hubId, engine, url));
    // The sources have described all queries. In new sessions the texts are sent again.
    await Promise.all(
      Object.values(held)
        .flat()
        .map((id) => api.get(`/v1/queries/${id}?signature=1`)),
    );
    for (const network of networks) {
      network.fault = { noAnswersTo: mark };
      network.resetAll();
    }
    // Until the executor knows of the resets, it would send to sessions that are gone.
    for (const read of ready)
      await vi.waitFor(async () => expect(await read()).toBe(200), { timeout: 60_000, interval: 50 });
  });
  const hold = async (hubId: string, engine: string, url: string) => {
    const { host, port, ...access } = accessOf(url);
    const network = await startNetwork({ host, port });
    networks.push(network);
    // In the clear, so that the network can see the mark.
    const at = { host: '127.0.0.1', port: network.port, tls: { mode: 'disable' } };
    const database = access.database || 'lost';
    const source = { hubId, label: 's', engine, connectionSettings: { ...access, ...at, database } };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const { reads, writes } = statements[engine]?.(mark) ?? { reads: [], writes: [] };
    const store = async (query: string) => {
      const command = /^[A-Z]+/.exec(query)?.[0];
      const body = { hubId, sourceId, label: 'q', query, command };
      return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
    };
    for (const text of reads) held.reads.push(await store(text));
    for (const text of writes) held.writes.push(await store(text));
    const query = engine === 'mongodb' ? '{"count": "another"}' : 'SELECT 1 AS one';
    return async () => (await api.post('/v1/queries/try', { sourceId, query })).status;
  };
  afterAll(async () => {
    await watcher.kill(mark);
    await api.ok(api.post('/v1/queries/execute', { queryId: drop }));
    await watcher?.close();
    for (const network of networks) network.close();
    await hub?.close();
    await rm(dir, { recursive: true, force: true });
  });

  const execute = async (queryId: string) => {
    const { status, body } = await api.post('/v1/queries/execute', { queryId });
    return { status, code: body.code, retryable: body.retryable };
  };

  it('because its executor was killed has an unknown outcome if it writes, and is retryable if it reads', async () => {
    const reads = [...queries.reads, ...held.reads];
    const writes = [queries.write, ...held.writes];
    const answers = Promise.all([...reads, ...writes].map(execute));
    await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 50 }).toBe(4);
    const unanswered = () => networks.reduce((sum, network) => sum + network.unanswered, 0);
    await expect
      .poll(unanswered, { timeout: 60_000, interval: 50 })
      .toBe(held.reads.length + held.writes.length);
    const restarted = hub.restart('executor', 0, 'SIGKILL');
    expect(await answers).toEqual([
      ...reads.map(() => ({ status: 502, code: 'SOURCE_BROKEN', retryable: true })),
      ...writes.map(() => ({ status: 503, code: 'OUTCOME_UNKNOWN', retryable: false })),
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
