import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { type Api, createApi } from '../support/api.ts';
import { accessOf } from '../support/databases.ts';
import { hubSettings } from '../support/spawned.ts';

const { MONGODB_URL, POSTGRES_URL } = process.env;
const replicas = 2;
/** Of each kind. They reach both replicas. */
const callsOfEach = 4;

describe.skipIf(!MONGODB_URL || !POSTGRES_URL)('a frozen replica (needs MONGODB_URL, POSTGRES_URL)', () => {
  const name = `frozen_${randomBytes(6).toString('hex')}`;
  const key = `test-key-${randomBytes(24).toString('hex')}`;
  const admin = new pg.Client(POSTGRES_URL);
  let dir: string;
  let hub: DistributedHub;
  let api: Api;
  const queries = { read: '', write: '' };
  let classifierId: string;

  beforeAll(async () => {
    await admin.connect();
    await admin.query(`CREATE DATABASE ${name}`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-frozen-'));
    const store = new URL(MONGODB_URL as string);
    store.pathname = `/${name}`;
    const env = { ...hubSettings(dir, key), DATAHUB_STORE_URL: store.href, DATAHUB_EDGE: 'none' };
    hub = await startDistributed(env, 'inherit', {
      replicas: { catalog: replicas, executor: replicas, ml: replicas },
    });
    api = createApi({ url: `http://127.0.0.1:${hub.port}`, key });
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'frozen' }));
    const access = { ...accessOf(POSTGRES_URL as string), database: name, pool: { max: 2 } };
    const source = { hubId, label: 's', engine: 'postgres', connectionSettings: access };
    const { sourceId } = await api.ok(api.post('/v1/sources', source));
    const store1 = async (command: string, query: string) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', command, query }))).config.query
        .queryId;
    const create = await store1('CREATE', 'CREATE TABLE t (n int)');
    await api.ok(api.post('/v1/queries/execute', { queryId: create }));
    queries.read = await store1('SELECT', 'SELECT count(*) FROM t');
    queries.write = await store1('INSERT', 'INSERT INTO t VALUES (1)');
    classifierId = (await api.ok(api.post('/v1/classifiers', { name: 'c' }))).id;
    const examples = ['good', 'bad'].map((label) => ({ context: `it is ${label}`, label }));
    await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, { examples }));
    for (let i = 0; i < 4; i++) await Promise.all(Object.values(kinds).map((kind) => kind()));
  });
  afterAll(async () => {
    await hub?.close();
    await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await admin.end();
    await rm(dir, { recursive: true, force: true });
  });

  const execute = (queryId: string) => api.post('/v1/queries/execute', { queryId });
  const kinds = {
    'reading executions': () => execute(queries.read),
    'writing executions': () => execute(queries.write),
    lists: () => api.get('/v1/hubs'),
    creates: () => api.post('/v1/hubs', { label: `h${randomBytes(4).toString('hex')}` }),
    predictions: () => api.post(`/v1/classifiers/${classifierId}/predict`, { context: 'it is good' }),
  };
  type Answer = Awaited<ReturnType<typeof execute>>;
  const nameOf = ({ status, body }: Answer) => (status < 300 ? 'ok' : `${status} ${body.code}`);

  /** Calls of all kinds while the replica is frozen. They must all be answered before it wakes. */
  const callWhileFrozen = async (pid: number) => {
    const answers = new Map<string, Set<string>>();
    let longestMs = 0;
    process.kill(pid, 'SIGSTOP');
    try {
      // On a busy machine, all calls of the first round may have gone to the other replica.
      for (const round of ['first', 'first', 'later']) {
        const calls = Object.entries(kinds).flatMap(([kind, call]) =>
          Array.from({ length: callsOfEach }, async () => {
            const at = performance.now();
            const answer = nameOf(await call());
            longestMs = Math.max(longestMs, performance.now() - at);
            const named = `${round} ${kind}`;
            answers.set(named, (answers.get(named) ?? new Set()).add(answer));
          }),
        );
        await Promise.all(calls);
      }
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    return { answers: Object.fromEntries(answers), longestMs };
  };

  it.each(['catalog', 'ml', 'executor'] as const)('of the %s is ejected, and comes back', async (service) => {
    for (let replica = 0; replica < replicas; replica++) {
      const { answers, longestMs } = await callWhileFrozen(hub.pidOf(service, replica));
      console.log(`${service} ${replica}: the longest call took ${longestMs.toFixed(0)} ms`, answers);
      for (const kind of ['lists', 'predictions'])
        for (const round of ['first', 'later']) expect(answers[`${round} ${kind}`]).toEqual(new Set(['ok']));
      const may = {
        'first creates': ['ok', '503 OUTCOME_UNKNOWN'],
        'first writing executions': ['ok', '503 OUTCOME_UNKNOWN', '503 SOURCE_BUSY'],
        'first reading executions': ['ok', '502 SOURCE_BROKEN', '503 SOURCE_BUSY'],
        'later creates': ['ok'],
        // The frozen executor has all connections of the source.
        'later writing executions': ['ok', '503 SOURCE_BUSY'],
        'later reading executions': ['ok', '503 SOURCE_BUSY'],
      };
      for (const [kind, allowed] of Object.entries(may))
        expect([...(answers[kind] as Set<string>)].filter((answer) => !allowed.includes(answer))).toEqual([]);
      const allOk = async () => (await Promise.all(Object.values(kinds).map((kind) => kind()))).map(nameOf);
      await expect.poll(allOk, { timeout: 60_000 }).toEqual(Object.keys(kinds).map(() => 'ok'));
    }
  });
});
