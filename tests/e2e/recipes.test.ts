/** Each recipe of docs/recipes.md, stored and executed as it is on the page. */

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operateOn } from '../support/databases.ts';
import { api, createSource, database, engines } from '../support/hub.ts';

const page = readFileSync(new URL('../../docs/recipes.md', import.meta.url), 'utf8');
type Dialect = 'postgres' | 'mysql';

/** The blocks of a part of the page, by what follows their backticks. */
const blocksOf = (part: string): Record<string, string> =>
  Object.fromEntries(
    [...part.matchAll(/```(.+)\n([\s\S]*?)```/g)].map(([, name = '', text = '']) => [name, text.trim()]),
  );
const [intro = '', ...parts] = page.split(/^## /m);
const recipes = new Map(parts.map((part) => [part.slice(0, part.indexOf('\n')), blocksOf(part)]));

const rows = `INSERT INTO customers VALUES (1, 'a', 'Ann', 'free'), (2, 'a', 'Bob', 'paid'), (3, 'b', 'Cy', 'free');
INSERT INTO orders VALUES (1, 1, 10.50, '2026-03-01 23:30:00'), (2, 1, 2, '2026-03-02 01:00:00'), (3, 2, 7, '2026-03-02 12:00:00');
INSERT INTO files VALUES (1, 'the quick brown fox', ''), (2, 'a lazy dog', '')`;

const drop = ['customers', 'orders', 'files'].map((table) => `DROP TABLE IF EXISTS ${table}`);

describe.each(engines.filter((engine) => engine !== 'mariadb'))('recipes on %s', (engine) => {
  const dialect: Dialect = engine === 'postgres' ? 'postgres' : 'mysql';
  let hubId: string;
  let sourceId: string;
  const run = new Set<string>();

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'recipes' })));
    sourceId = await createSource(hubId, engine);
    const tables = (blocksOf(intro)[`sql tables ${dialect}`] ?? '').split(';\n');
    const procedure = recipes.get('Two tables in one transaction')?.['sql procedure mysql'] ?? '';
    const procedures = dialect === 'mysql' ? ['DROP PROCEDURE IF EXISTS sign_up', procedure] : [];
    await operateOn(database(engine), engine, [...drop, ...tables, ...rows.split(';\n'), ...procedures]);
  });
  afterAll(() => operateOn(database(engine), engine, drop));

  const store = async (name: string, change: object = {}): Promise<string> => {
    run.add(name);
    const blocks = recipes.get(name) ?? {};
    const query = blocks[`sql ${dialect}`] ?? blocks.sql;
    const body = { hubId, sourceId, label: name, query, ...JSON.parse(blocks.json ?? '{}'), ...change };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
  };
  const execute = (queryId: string, context: object, more = {}) =>
    api.post('/v1/queries/execute', { queryId, context }, more);
  const read = async (name: string, context: object, change: object = {}) =>
    (await api.ok(execute(await store(name, change), context))).data;
  const look = async (query: string) => {
    const made = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'look', query }));
    return (await api.ok(execute(made.config.query.queryId, {}))).data;
  };
  const ids = (data: { id: number }[]) => data.map(({ id }) => id);

  it('reads', async () => {
    expect(ids(await read('Optional filters', {}))).toEqual([1, 2, 3]);
    expect(ids(await read('Optional filters', { plan: 'free', name: 'A' }))).toEqual([1]);
    expect(ids(await read('Sorting by choice', {}))).toEqual([1, 2, 3]);
    expect(ids(await read('Sorting by choice', { sort: 'newest' }))).toEqual([3, 2, 1]);
    expect(ids(await read('Pages after a key', { after: 1 }))).toEqual([2, 3]);
    expect(await read('Counts beside pages', { skip: 2 })).toEqual([{ id: 3, total: 3 }]);
    expect(await read('Rows inside rows', {})).toMatchObject([
      { id: 1, orders: [{ amount: 10.5 }, { amount: 2 }] },
      { id: 2, orders: [{ id: 3 }] },
    ]);
    expect(ids(await read('Full-text search', { words: 'fox' }))).toEqual([1]);
    const zone = dialect === 'postgres' ? 'Europe/Berlin' : '+01:00';
    expect(await read('Days in a time zone', { zone })).toEqual([{ day: '2026-03-02', orders: 3 }]);
    expect(ids(await read('A choice of values', { plan: 'paid' }))).toEqual([2]);
    const refused = await execute(await store('A choice of values'), { plan: 'gold' });
    expect([refused.status, refused.body.code]).toEqual([422, 'CONTEXT_INVALID']);
  });

  it('keeps tenants apart by their keys', async () => {
    const queryId = await store('One query for many tenants');
    const limits = { queryIds: [queryId], context: { tenant: 'b' } };
    const { key } = await api.ok(api.post('/v1/keys', { name: 'b', scopes: ['queries:execute'], limits }));
    expect(ids((await api.ok(execute(queryId, { tenant: 'a' }, { key }))).data)).toEqual([3]);
  });

  it('writes', async () => {
    const dan = { id: 4, tenant: 'c', name: 'Dan', plan: 'free' };
    await read('Insert or update', dan);
    await read('Insert or update', { ...dan, name: 'Dana' });
    expect(await look('SELECT name FROM customers WHERE id = 4')).toEqual([{ name: 'Dana' }]);
    const order = (id: number) => ({ id, customer_id: 4, amount: 1.25, placed_at: '2026-03-03 00:00:00' });
    await read('Many rows in one call', { rows: [order(4), order(5)] });
    expect(await look('SELECT sum(amount) AS total FROM orders WHERE customer_id = 4')).toEqual([
      { total: 2.5 },
    ]);
    const wrong = [{ amount: 'xyz' }, { customer_id: 'abc' }, { placed_at: 'nonsense' }];
    for (const change of wrong) {
      const refused = await execute(await store('Many rows in one call'), {
        rows: [{ ...order(6), ...change }],
      });
      expect([change, refused.status]).toEqual([change, 422]);
    }
    const broken = await execute(await store('Files'), { id: 4, note: 'bytes', content: 'AP8' });
    expect(broken.status).toBeGreaterThan(400);
    const content = Buffer.from([0, 255, 10]).toString('base64');
    await read('Files', { id: 3, note: 'bytes', content });
    expect(await look('SELECT content FROM files WHERE id = 3')).toEqual([{ content }]);
  });

  it('writes two tables or none', async () => {
    const command = dialect === 'postgres' ? 'INSERT' : 'CALL';
    const queryId = await store('Two tables in one transaction', { command });
    const eve = { id: 5, tenant: 'c', name: 'Eve', order: 6, amount: 3 };
    await api.ok(execute(queryId, eve));
    // The customer is new, but the order exists.
    const second = await execute(queryId, { ...eve, id: 6 });
    expect([second.status, second.body.code]).toEqual([409, 'CONSTRAINT']);
    expect(await look('SELECT id FROM customers WHERE id > 4')).toEqual([{ id: 5 }]);
  });

  it('are all tested', () => {
    expect([...run].sort()).toEqual([...recipes.keys()].sort());
  });
});
