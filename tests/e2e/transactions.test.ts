/** Transactions of several stored queries. */

import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const sqlEngines = engines.filter((engine) => engine !== 'mongodb');

describe.each(sqlEngines)('a transaction at %s', (engine) => {
  const table = `money_${randomBytes(4).toString('hex')}`;
  let hubId: string;
  let sourceId: string;
  let ids: Record<'insert' | 'take' | 'give' | 'sum' | 'read' | 'note' | 'create', string>;
  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const store = async (query: string, more: object = {}) => {
    const command = query.split(' ', 1)[0];
    const body = { hubId, sourceId, label: 'q', query, command, ...more };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId as string;
  };
  const transact = (steps: object[], more: object = {}, call: object = {}) =>
    api.post('/v1/queries/transaction', { steps, ...more }, call);
  const sum = async () =>
    Number((await api.ok(api.post('/v1/queries/execute', { queryId: ids.sum }))).data[0].total);
  const rows = async (key?: string) =>
    (await api.ok(api.post('/v1/queries/execute', { queryId: ids.read }, key ? { key } : {}))).data;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} transactions`, path: table })));
    sourceId = await createSource(hubId, engine);
    await ddl(`CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, note VARCHAR(200))`);
    await ddl(`INSERT INTO ${table} VALUES (1, 100, 'a'), (2, 100, 'b')`);
    const id = { key: 'id', type: 'integer', required: true };
    const amount = { key: 'amount', type: 'integer', required: true };
    ids = {
      insert: await store(`INSERT INTO ${table} (id, amount) VALUES (:id, :amount)`, {
        context: [id, amount],
      }),
      take: await store(`UPDATE ${table} SET amount = amount - :amount WHERE id = :id`, {
        context: [id, amount],
      }),
      give: await store(`UPDATE ${table} SET amount = amount + :amount WHERE id = :id`, {
        context: [id, amount],
        path: 'give',
      }),
      sum: await store(`SELECT SUM(amount) AS total FROM ${table}`),
      read: await store(`SELECT id, amount, note FROM ${table} ORDER BY id`),
      note: await store(`UPDATE ${table} SET note = :note WHERE id = :id`, {
        context: [id, { key: 'note', type: 'string' }],
      }),
      create: await store(`CREATE TABLE ${table}_x (id INT)`),
    };
  });
  afterAll(() => ddl(`DROP TABLE ${table}`));

  it('reads texts and times in several steps', async () => {
    const queryId = await store("SELECT 'a' AS t, CURRENT_TIMESTAMP AS at");
    const { body } = await transact([{ queryId }, { queryId }, { queryId: ids.read }]);
    expect(body.steps.map(({ data }: { data: unknown[] }) => data.length)).toEqual([1, 1, 2]);
  });

  it('is refused if its answers become too large, also while the source is slow', async () => {
    const sleep = { postgres: "pg_sleep(0.05)::text <> '-'" }[engine] ?? 'SLEEP(0.05) = 0';
    const many = Array.from({ length: 12 }, (_, i) => `SELECT ${i} AS i`).join(' UNION ALL ');
    const query = `SELECT REPEAT('x', CASE WHEN i < 4 THEN 1000000 ELSE 60000 END) AS t FROM (${many}) AS m WHERE i < 4 OR ${sleep}`;
    const queryId = await store(query);
    const { status, body } = await transact([{ queryId }, { queryId: ids.read }]);
    expect([status, body.code]).toEqual([422, 'RESULT_TOO_LARGE']);
  });

  it('runs after a column that its steps read has another type', async () => {
    const first = { queryId: ids.read };
    const steps = [first, { queryId: await store(`SELECT amount FROM ${table} WHERE id = 1`) }, first];
    for (const type of ['BIGINT', 'INT']) {
      // Until each connection that the pool lends has both statements prepared.
      for (let i = 0; i < 5; i++) await api.ok(transact(steps));
      const change = engine === 'postgres' ? 'ALTER amount TYPE' : 'MODIFY amount';
      await ddl(`ALTER TABLE ${table} ${change} ${type}${engine === 'postgres' ? '' : ' NOT NULL'}`);
      const { body } = await transact(steps);
      expect(body.steps?.map(({ data }: { data: object[] }) => data.length)).toEqual([2, 1, 2]);
    }
  });

  it('counts all rows of a step, also those that a limit cuts from its answer', async () => {
    const limited = { queryId: ids.read, options: { maxRows: 1, expectRows: 1 } };
    const { status, body } = await transact([limited]);
    expect([status, body.code]).toEqual([409, 'ROWS_UNEXPECTED']);
    expect(body.detail).toContain('more than the 1 rows');
    if (engine === 'mysql') return;
    const returning = await store(`DELETE FROM ${table} RETURNING id`);
    for (const options of [
      { maxRows: 1, expectRows: 1 },
      { maxRows: 1, maxAffected: 1 },
    ]) {
      const refused = await transact([{ queryId: returning, options }]);
      expect([refused.status, refused.body.code]).toEqual([
        409,
        'expectRows' in options ? 'ROWS_UNEXPECTED' : 'MAX_AFFECTED',
      ]);
    }
    expect((await rows()).length).toBe(2);
  });

  it('runs all steps, and passes values of one to the next', async () => {
    const steps = [
      { queryId: ids.take, context: { id: 1, amount: 30 }, options: { maxAffected: 1 } },
      { hubId: table, path: 'give', context: { id: 2, amount: 30 }, options: { expectRows: 1 } },
      { queryId: ids.read, as: 'rows' },
      {
        queryId: ids.note,
        context: { id: 2 },
        references: { note: { from: 'rows', pointer: '/data/0/note' } },
      },
      { queryId: ids.read },
    ];
    const isolation = 'serializable';
    const { status, body } = await transact(steps, { isolation, retry: true });
    expect([status, body]).toMatchObject([200, { meta: { attempts: 1 } }]);
    expect(body.steps.map((step: any) => step.data)).toMatchObject([
      [{ affectedRows: 1 }],
      [{ affectedRows: 1 }],
      [
        { id: 1, amount: 70, note: 'a' },
        { id: 2, amount: 130, note: 'b' },
      ],
      [{ affectedRows: 1 }],
      [
        { id: 1, amount: 70, note: 'a' },
        { id: 2, amount: 130, note: 'a' },
      ],
    ]);
    expect(body.steps[2].as).toBe('rows');
    expect(await rows()).toEqual(body.steps[4].data);
  });

  const failing: [name: string, step: () => object, code: string, status: number][] = [
    [
      'violates a constraint',
      () => ({ queryId: ids.insert, context: { id: 2, amount: 1 } }),
      'CONSTRAINT',
      409,
    ],
    [
      'affects more rows than allowed',
      () => ({ queryId: ids.give, context: { id: 2, amount: 1 }, options: { maxAffected: 0 } }),
      'MAX_AFFECTED',
      409,
    ],
    [
      'affects other rows than expected',
      () => ({ queryId: ids.give, context: { id: 9, amount: 1 }, options: { expectRows: 1 } }),
      'ROWS_UNEXPECTED',
      409,
    ],
    [
      'refers to a value that is not there',
      () => ({
        queryId: ids.note,
        context: { id: 1 },
        references: { note: { from: 'one', pointer: '/data/9/id' } },
      }),
      'CONTEXT_INVALID',
      422,
    ],
    ['lacks a value', () => ({ queryId: ids.give, context: { id: 1 } }), 'CONTEXT_INVALID', 422],
    ['cannot be rolled back', () => ({ queryId: ids.create }), 'OPTION_REFUSED', 422],
    ['does not exist', () => ({ queryId: 'q.none' }), 'NOT_FOUND', 404],
    [
      'refers to a later step',
      () => ({
        queryId: ids.note,
        context: { id: 1 },
        references: { note: { from: 'two', pointer: '/data/0/id' } },
      }),
      'CONTEXT_INVALID',
      422,
    ],
  ];
  it.each(failing)('leaves nothing if a step %s', async (_, step, code, status) => {
    const before = await rows();
    const first = { queryId: ids.take, context: { id: 1, amount: 7 }, as: 'one' };
    const { body, status: answered } = await transact([first, step(), { queryId: ids.read, as: 'two' }]);
    expect([answered, body.code, body.step]).toEqual([status, code, 1]);
    expect(await rows()).toEqual(before);
  });

  it('rolls a dry run back, and answers what it would have done', async () => {
    const before = await rows();
    const steps = [{ queryId: ids.take, context: { id: 1, amount: 7 } }, { queryId: ids.sum }];
    const { body } = await transact(steps, { options: { dryRun: true } });
    expect(Number(body.steps[1].data[0].total)).toBe((await sum()) - 7);
    expect(await rows()).toEqual(before);
  });

  it('is applied once with an Idempotency-Key', async () => {
    const before = await sum();
    const headers = { 'idempotency-key': randomBytes(8).toString('hex') };
    const steps = [{ queryId: ids.give, context: { id: 1, amount: 5 } }];
    const first = await transact(steps, {}, { headers });
    const second = await transact(steps, {}, { headers });
    expect([first.status, second.text]).toEqual([200, first.text]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await sum()).toBe(before + 5);
  });

  it('keeps the limits of a key in each step', async () => {
    const limits = { queryIds: [ids.read, ids.give], context: { amount: 1 } };
    const keyOf = async (scopes: string[]) =>
      (await api.ok(api.post('/v1/keys', { name: 'k', scopes, limits }))).key as string;
    const writer = await keyOf(['queries:execute', 'queries:execute:write']);
    const reader = await keyOf(['queries:execute']);
    const read = { queryId: ids.read, as: 'r' };
    const give = { queryId: ids.give, context: { id: 1, amount: 50 } };
    const refused = await transact([read, { queryId: ids.take, context: { id: 1 } }], {}, { key: writer });
    expect([refused.status, refused.body.code, refused.body.step]).toEqual([403, 'SCOPE_DENIED', 1]);
    expect((await transact([read, give], {}, { key: reader })).status).toBe(403);
    expect((await transact([read, read], {}, { key: reader })).status).toBe(422);
    expect((await transact([read], {}, { key: reader })).status).toBe(200);
    const before = await sum();
    const pinned = {
      queryId: ids.give,
      context: { id: 1 },
      references: { amount: { from: 'r', pointer: '/data/0/amount' } },
    };
    expect((await transact([read, give, pinned], {}, { key: writer })).status).toBe(200);
    expect(await sum()).toBe(before + 2);
  });

  it('refuses queries of two sources', async () => {
    const other = await createSource(hubId, engine);
    const queryId = (
      await api.ok(api.post('/v1/queries', { hubId, sourceId: other, label: 'q', query: 'SELECT 1 AS one' }))
    ).config.query.queryId;
    const { status, body } = await transact([{ queryId: ids.read }, { queryId }]);
    expect([status, body.code, body.step]).toEqual([422, 'OPTION_REFUSED', 1]);
  });

  it('repeats serialization failures and deadlocks, so no money is lost', async () => {
    const before = await sum();
    // In one order, because PostgreSQL waits a second before it looks for a deadlock.
    const move = (i: number) =>
      transact(
        [
          { queryId: ids.sum },
          { queryId: i % 2 === 0 ? ids.take : ids.give, context: { id: 1, amount: 1 } },
          { queryId: i % 2 === 0 ? ids.give : ids.take, context: { id: 2, amount: 1 } },
        ],
        { isolation: 'serializable', retry: true },
      );
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => move(i)));
    const done = answers.filter(({ status }) => status === 200);
    expect(done.length).toBeGreaterThan(0);
    for (const { status, body } of answers)
      if (status !== 200) expect([body.code, body.retryable]).toEqual(['SQL_REJECTED', true]);
    expect(await sum()).toBe(before);
  });

  it.each([engine].filter((one) => one === 'postgres'))(
    'only reads in steps that read at %s, also beside those that write',
    async () => {
      await ddl(
        `CREATE OR REPLACE FUNCTION ${table}_f() RETURNS int LANGUAGE sql AS $$ UPDATE ${table} SET amount = 0 RETURNING 1 $$`,
      );
      const writes = await store(`SELECT ${table}_f() AS f`);
      const before = await rows();
      const give = { queryId: ids.give, context: { id: 1, amount: 5 } };
      for (const steps of [[give, { queryId: writes }], [{ queryId: writes }, give], [{ queryId: writes }]]) {
        const { body } = await transact(steps);
        expect([body.code, body.sql?.state]).toEqual(['SQL_REJECTED', '25006']);
      }
      // A savepoint of a step that reads is not seen by the next one.
      expect((await transact([{ queryId: ids.read }, give, { queryId: ids.read }, give])).status).toBe(200);
      expect(await sum()).toBe(before.reduce((all: number, row: any) => all + row.amount, 0) + 10);
      await ddl(`DROP FUNCTION ${table}_f`);
    },
  );
});

describe('transactions', () => {
  it.each([
    [{ steps: [] }, 400],
    [{ steps: Array(21).fill({ queryId: 'q' }) }, 400],
    [{ steps: [{}] }, 400],
    [{ steps: [{ queryId: 'q', path: 'a', hubId: 'h' }] }, 400],
    [{ steps: [{ queryId: 'q' }], isolation: 'none' }, 400],
  ])('%j is refused', async (body, status) => {
    expect((await api.post('/v1/queries/transaction', body)).status).toBe(status);
  });
});
