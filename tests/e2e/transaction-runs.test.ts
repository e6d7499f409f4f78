/** What the runs, the statistics and the usage of queries say of transactions and of records in bulk. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const sqlEngines = engines.filter((engine) => engine !== 'mongodb');
const wait = { timeout: 30_000 };

describe.each(sqlEngines)('what is recorded at %s', (engine) => {
  const table = `ends_${randomBytes(4).toString('hex')}`;
  const context = [{ key: 'id', type: 'integer', required: true }];
  let hubId: string;
  let sourceId: string;
  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const store = async (query: string, more: object = {}) => {
    const body = { hubId, sourceId, label: 'q', query, command: query.split(' ', 1)[0], ...more };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId as string;
  };
  /** A query of its own, so that its figures are those of one test. */
  const inserting = () => store(`INSERT INTO ${table} (id) VALUES (:id)`, { context });
  const insert = (queryId: string, id: number) => ({ queryId, context: { id } });
  const transact = (steps: object[], more: object = {}) =>
    api.post('/v1/queries/transaction', { steps, ...more });
  const stored = async (id: number) => {
    const { data } = await execute({ hubId, sourceId, query: `SELECT id FROM ${table} WHERE id = ${id}` });
    return data.length;
  };
  const runs = (queryId: string) => api.ok(api.get(`/v1/queries/${queryId}/runs`));
  const ended = async (queryId: string, count: number) => {
    await expect.poll(async () => (await runs(queryId)).length, wait).toBe(count);
    return (await runs(queryId)).map(({ form, outcome, code, rows, dryRun }: any) => [
      ...[form, outcome, code, rows],
      ...(dryRun ? ['dry'] : []),
    ]);
  };
  /** Of each query, what its usage must say. */
  const counted = new Map<string, number[]>();
  const figures = async (queryId: string) => {
    const { count, failed, rows } = (await api.ok(api.get(`/v1/queries/${queryId}/stats`))).sinceStart;
    counted.set(queryId, [count, failed]);
    return [count, failed, rows];
  };

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} ends` })));
    sourceId = await createSource(hubId, engine);
    const unique = engine === 'postgres' ? 'UNIQUE DEFERRABLE INITIALLY DEFERRED' : '';
    await ddl(`CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, late INT ${unique})`);
  });
  afterAll(() => ddl(`DROP TABLE ${table}`));

  it('says of each step of a transaction that was rolled back that it has failed', async () => {
    const [first, read] = [await inserting(), await store(`SELECT COUNT(*) AS n FROM ${table}`)];
    const steps = [insert(first, 1), insert(first, 1), { queryId: read }];
    const { status, body } = await transact(steps);
    expect([status, body.code, body.step, await stored(1)]).toEqual([409, 'CONSTRAINT', 1, 0]);
    const failed = ['transaction', 'failed', 'CONSTRAINT', 0];
    expect(await ended(first, 2)).toEqual([failed, failed]);
    expect(await ended(read, 1)).toEqual([failed]);
    expect((await runs(read))[0]).toMatchObject({ queueMs: null, databaseMs: null, totalMs: null });
    expect(await figures(first)).toEqual([2, 2, 0]);
    expect(await figures(read)).toEqual([1, 1, 0]);
  });

  it('says so after a time-out in a later step', async () => {
    const slow = await store(`SELECT ${engine === 'postgres' ? 'pg_sleep(5)::text' : 'SLEEP(5)'} AS s`);
    const first = await inserting();
    const steps = [insert(first, 2), { queryId: slow }];
    const { status } = await transact(steps, { options: { timeoutMs: 1_500 } });
    expect([status, await stored(2)]).toEqual([504, 0]);
    const failed = ['transaction', 'failed', 'STATEMENT_TIMEOUT', 0];
    expect([...(await ended(first, 1)), ...(await ended(slow, 1))]).toEqual([failed, failed]);
    expect(await figures(first)).toEqual([1, 1, 0]);
  });

  it.each([engine].filter((one) => one === 'postgres'))('says so if COMMIT fails at %s', async () => {
    const late = await store(`INSERT INTO ${table} (id, late) VALUES (:id, 7)`, { context });
    const { status, body } = await transact([insert(late, 3), insert(late, 4)]);
    expect([status, body.code, await stored(3)]).toEqual([409, 'CONSTRAINT', 0]);
    const failed = ['transaction', 'failed', 'CONSTRAINT', 0];
    expect(await ended(late, 2)).toEqual([failed, failed]);
    expect(await figures(late)).toEqual([2, 2, 0]);
  });

  it('says what was committed, and what was a dry run', async () => {
    const first = await store(`SELECT id FROM ${table} WHERE id = :id`, { context });
    const write = await inserting();
    const steps = [insert(write, 5), insert(first, 5)];
    await api.ok(transact(steps, { options: { dryRun: true } }));
    expect(await stored(5)).toBe(0);
    expect(await ended(first, 1)).toEqual([['transaction', 'ok', null, 1, 'dry']]);
    await api.ok(api.post('/v1/queries/execute', { ...insert(write, 5), options: { dryRun: true } }));
    const dry = (form: string) => [form, 'ok', null, 0, 'dry'];
    expect(await ended(write, 2)).toEqual([dry('execute'), dry('transaction')]);
    await api.ok(transact(steps));
    expect(await ended(first, 2)).toContainEqual(['transaction', 'ok', null, 1]);
    expect(await figures(first)).toEqual([2, 0, 2]);
    expect((await figures(write)).slice(0, 2)).toEqual([3, 0]);
  });

  it('counts a transaction once, also if it was repeated', async () => {
    const [read, write] = [
      await store(`SELECT COALESCE(SUM(late), 0) AS n FROM ${table} WHERE id = 100`),
      await store(`UPDATE ${table} SET late = COALESCE(late, 0) + 1 WHERE id = :id`, { context }),
    ];
    await ddl(`INSERT INTO ${table} (id) VALUES (100)`);
    const steps = [{ queryId: read }, insert(write, 100)];
    const calls = Array.from({ length: 8 }, () =>
      transact(steps, { isolation: 'serializable', retry: true }),
    );
    const answers = await Promise.all(calls);
    const failed = answers.filter(({ status }) => status !== 200).length;
    await ended(write, 8);
    for (const queryId of [read, write]) expect((await figures(queryId)).slice(0, 2)).toEqual([8, failed]);
  });

  it('has the records in bulk that were committed before one failed', async () => {
    const queryId = await inserting();
    const raw = [201, 202, 203, 204, 201].map((id) => `{"id":${id}}\n`).join('');
    const headers = { 'content-type': 'application/x-ndjson' };
    const load = () => api.call('POST', `/v1/queries/${queryId}/rows?commitEvery=2`, { raw, headers });
    const { status, body } = await load();
    expect([status, body.committedLines, await stored(204)]).toEqual([409, 4, 1]);
    expect(await ended(queryId, 1)).toEqual([['rows', 'failed', 'CONSTRAINT', 4]]);
    await load();
    expect(await ended(queryId, 2)).toContainEqual(['rows', 'failed', 'CONSTRAINT', 0]);
    expect(await figures(queryId)).toEqual([2, 2, 4]);
  });

  it('agrees with the usage', async () => {
    expect(counted.size).toBeGreaterThan(5);
    for (const [queryId, expected] of counted) {
      const used = async () => {
        const { count, failed } = await api.ok(api.get(`/v1/queries/${queryId}/usage`));
        return [count, failed];
      };
      await expect.poll(used, wait).toEqual(expected);
    }
  });
});
