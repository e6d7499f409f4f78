/** Tests of the records of executions, for every store. */

import { randomBytes } from 'node:crypto';
import type { QueryRun } from '@datahub/proto/catalog/v1/catalog';
import type { RecordedRun } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog.ts';
import type { QueryDoc } from '../../src/documents.ts';
import { makeHub } from '../../src/hub.ts';
import { removeExpired } from '../../src/maintenance/expiry-sweep.ts';
import { removeOldRuns } from '../../src/maintenance/run-sweep.ts';
import { createQueryRunCalls, createRecordRuns } from '../../src/rpc/query-runs.ts';
import type { CatalogStore } from '../../src/store.ts';
import { leaf, principalOf } from '../catalog-fixture.ts';

const open = new AbortController().signal;
const nowMs = 1_764_000_000_000;

const runOf = (at: number, more: Partial<QueryRun> = {}, of: Partial<RecordedRun> = {}): RecordedRun => ({
  accountId: 'a',
  queryId: 'dh.q.1',
  seed: randomBytes(10),
  run: {
    ...{ runId: '', at: new Date(nowMs + at), keyId: 'k', version: 1, form: 'execute' },
    ...{ rows: at, cached: false, totalMs: 1.5 },
    ...more,
  } as QueryRun,
  ...of,
});

/** A catalog with two queries, whose runs it records and lists. */
async function openRuns(store: CatalogStore) {
  const catalog = { store, namespace: 'dh', nowMs: () => nowMs } as Catalog;
  const ids = { accountId: 'a', nowMs, createId: (kind: string) => `dh.${kind}.1` };
  const hub = makeHub({ label: 'h' }, ids);
  await store.hubs.insert(hub);
  for (const id of ['dh.q.1', 'dh.q.2']) {
    const query = { ...leaf(hub, id), sourceId: 's', engine: 'postgres', command: 'SELECT' };
    await store.queries.insert({ ...query, query: 'SELECT 1', context: [] } as QueryDoc);
  }
  const recorder = (queryRunsMax = 1_000) => {
    const recordRuns = createRecordRuns(catalog, { queryRunsMax, firstCountIn: () => 0 });
    return (runs: RecordedRun[]) => recordRuns({ runs }, createCallContext({ timeoutMs: 30_000 }));
  };
  const list = async (asked: object = {}, principal: Principal = principalOf('a')) => {
    const request = { queryId: 'dh.q.1', offset: 0, limit: 50, own: false, ...asked };
    const ctx = createCallContext({ timeoutMs: 30_000, principal });
    const { runs, total } = await createQueryRunCalls(catalog).listQueryRuns(request, ctx);
    return { rows: runs.map(({ rows }) => rows), total, runs };
  };
  return { recorder, list };
}

type OpenStore = () => Promise<CatalogStore>;

export function describeQueryRuns(name: string, openStore: OpenStore): void {
  describe(`the runs of a query in ${name}`, () => {
    describeLists(openStore);
    describeValues(openStore);
    describeBounds(openStore);
    describeFaults(openStore);
  });
}

/** Opens a store for each test. */
function useRuns(openStore: OpenStore) {
  const opened = {} as Awaited<ReturnType<typeof openRuns>> & { store: CatalogStore };
  beforeEach(async () => {
    const store = await openStore();
    Object.assign(opened, { store, ...(await openRuns(store)) });
  });
  afterEach(() => opened.store.close());
  return {
    opened,
    list: (...asked: Parameters<typeof opened.list>) => opened.list(...asked),
    recorder: (max?: number) => opened.recorder(max),
  };
}

function describeLists(openStore: OpenStore): void {
  const { list, recorder } = useRuns(openStore);

  it('are listed newest first, in pages, by outcome, and apart for each query', async () => {
    const record = recorder();
    await record([runOf(1), runOf(2, { code: 'STATEMENT_TIMEOUT' }), runOf(3, {}, { queryId: 'dh.q.2' })]);
    await record([runOf(4, { dryRun: true })]);
    expect(await list()).toMatchObject({ rows: [4, 2, 1], total: 3 });
    expect((await list()).runs.map(({ dryRun }) => dryRun)).toEqual([true, false, false]);
    expect(await list({ offset: 1, limit: 1 })).toMatchObject({ rows: [2], total: 3 });
    expect(await list({ failed: true })).toMatchObject({ rows: [2], total: 1 });
    expect(await list({ failed: false })).toMatchObject({ rows: [4, 1], total: 2 });
    const [run] = (await list({ failed: true })).runs;
    expect(run).toMatchObject({
      keyId: 'k',
      version: 1,
      form: 'execute',
      code: 'STATEMENT_TIMEOUT',
      totalMs: 1.5,
    });
    expect(run?.at).toEqual(new Date(nowMs + 2));
  });

  it('of others need keys:admin; those of a signed-in user are the user’s alone', async () => {
    const user = { issuer: 'https://id.example', subject: 'ann' };
    const byAnn = { keyId: 'shop', user: user.subject };
    await recorder()([
      runOf(1, { keyId: 'shop' }),
      runOf(2, byAnn, { issuer: user.issuer }),
      runOf(3, { ...byAnn, user: 'bob' }, { issuer: user.issuer }),
      runOf(4),
    ]);
    const shop: Principal = { ...principalOf('a'), keyId: 'shop', scopes: ['queries:execute'] };
    expect(await list({}, shop)).toMatchObject({ rows: [1], total: 1 });
    const ann = { ...shop, user: { ...user, claimsJson: '{}' } } as unknown as Principal;
    expect(await list({}, ann)).toMatchObject({ rows: [2] });
    expect(await list()).toMatchObject({ rows: [4, 3, 2, 1] });
    expect(await list({ own: true })).toMatchObject({ rows: [4] });
    await expect(list({}, principalOf('b'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    const other = principalOf('a', { queryIds: ['dh.q.2'] });
    await expect(list({}, other)).rejects.toMatchObject({ code: 'SCOPE_DENIED' });
  });
}

function describeValues(openStore: OpenStore): void {
  const { opened, list, recorder } = useRuns(openStore);
  const change = async (changed: Partial<QueryDoc>) => {
    const { queries } = opened.store;
    const query = (await queries.get('a', 'dh.q.1')) as QueryDoc;
    await queries.replace({ ...query, ...changed, version: query.version + 1 });
  };
  const listed = async () => (await list()).runs.map(({ valuesJson }) => valuesJson);

  it('have their values while the query keeps them, without variables that became secret', async () => {
    await recorder()([
      runOf(1, { valuesJson: '{"n":1.10,"token":"s3cret"}' }),
      runOf(2),
      runOf(3, { valuesJson: '{}' }),
    ]);
    expect(await listed()).toEqual([undefined, undefined, undefined]);
    await change({ keepValues: true });
    expect(await listed()).toEqual(['{}', undefined, '{"n":1.10,"token":"s3cret"}']);
    await change({ context: [{ key: 'token', secret: true }] });
    expect(await listed()).toEqual(['{}', undefined, '{"n":1.10}']);
  });
}

function describeBounds(openStore: OpenStore): void {
  const { opened, list, recorder } = useRuns(openStore);

  it('are written once if a call is repeated, whose answer was lost', async () => {
    const record = recorder();
    const runs = [runOf(1), runOf(2)];
    await record(runs.slice(0, 1));
    await record(runs);
    expect(await list()).toMatchObject({ rows: [2, 1], total: 2 });
  });

  it('are at most so many of a query after a start and each 500 runs', async () => {
    const batch = (from: number, count: number) => Array.from({ length: count }, (_, i) => runOf(from + i));
    await recorder()(batch(0, 20));
    const record = recorder(10);
    await record(batch(20, 1));
    const total = async () => (await list()).total;
    await expect.poll(total).toBe(10);
    expect((await list()).rows).toEqual([20, 19, 18, 17, 16, 15, 14, 13, 12, 11]);
    await record(batch(21, 500));
    expect(await total()).toBe(510);
    await record(batch(521, 1));
    await expect.poll(total).toBe(10);
    await recorder(0)(batch(600, 5));
    expect(await total()).toBe(10);
  });

  it('are at most so many of an account, and go with their age', async () => {
    const { store } = opened;
    await store.accounts.insert({ id: 'a', accountId: 'a', version: 1, name: 'first', createdAt: 1 });
    await recorder()(Array.from({ length: 30 }, (_, i) => runOf(i, {}, { queryId: `dh.q.${1 + (i % 2)}` })));
    await removeOldRuns(store, 8, open);
    expect(await list()).toMatchObject({ rows: [28, 26, 24, 22] });
    const kept = { auditKeptMs: 1, runsKeptMs: 1, eventsKeptMs: 1, queryRunsKeptMs: 1_000 };
    await removeExpired(
      store,
      { namespace: 'hub', usageKeptMs: 0, nowMs: () => nowMs + 1_025, ...kept },
      open,
    );
    expect(await list()).toMatchObject({ rows: [28, 26] });
  });
}

function describeFaults(openStore: OpenStore): void {
  const { opened, list, recorder } = useRuns(openStore);

  it('are written by one call to the store, which no other waits for, also if some are there already', async () => {
    const { store } = opened;
    const runs = Array.from({ length: 500 }, (_, i) => runOf(i, {}, { queryId: `dh.q.${1 + (i % 100)}` }));
    await recorder()(runs.slice(0, 250));
    let writes = 0;
    const slow = Promise.withResolvers<void>();
    const { insertMany, count } = store.queryRuns;
    store.queryRuns.insertMany = async (docs) => {
      writes++;
      await insertMany(docs);
    };
    store.queryRuns.insert = async () => void writes++;
    store.queryRuns.count = async (filter) => {
      await slow.promise;
      return count(filter);
    };
    await recorder(2)(runs);
    expect(writes).toBe(1);
    slow.resolve();
    store.queryRuns.count = count;
    await expect.poll(async () => (await list({ queryId: 'dh.q.2' })).total).toBe(2);
  });

  it('that are too many are removed later if the store fails meanwhile', async () => {
    const { store } = opened;
    const record = recorder(1);
    const { count } = store.queryRuns;
    const failed = Promise.withResolvers<void>();
    store.queryRuns.count = async () => {
      failed.resolve();
      throw new HubError('UNAVAILABLE', 'away');
    };
    await record([runOf(1), runOf(2)]);
    await failed.promise;
    store.queryRuns.count = count;
    await record([runOf(3)]);
    await expect.poll(async () => (await list()).rows).toEqual([3]);
  });
}
