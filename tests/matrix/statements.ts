/** Checks of writes and their rollbacks, of reads that try to write, and of errors. */

import { strict as assert } from 'node:assert';
import type { Bench } from './bench.ts';
import type { Check } from './check.ts';

const count = async (bench: Bench) => {
  const sql = `SELECT COUNT(*) AS count FROM ${bench.scratch}`;
  const command = { count: bench.scratch, query: {} };
  const [row] = await bench.rows(
    bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: command }),
  );
  return row.count;
};

/** Inserts the rows 1 and 2. */
const insert = (bench: Bench, options: object = {}) => {
  const sql = `INSERT INTO ${bench.scratch} (id, label) VALUES (1, :label), (2, :label)`;
  const ids = [1, 2].map((id) => ({ _id: id, label: ':label' }));
  const text = bench.pick<string | object>({
    postgres: sql,
    mysql: sql,
    mongodb: { insert: bench.scratch, documents: ids },
  });
  const command = typeof text === 'string' ? { command: 'INSERT' } : {};
  return bench.ask(text, { ...command, context: { label: 'x' }, options });
};

const affected = async (answer: ReturnType<Bench['ask']>, bench: Bench) =>
  (await bench.api.ok(answer)).data[0].affectedRows;

export const statements: Check[] = [
  {
    name: 'INSERT, UPDATE and DELETE count rows',
    run: async (bench) => {
      assert.equal(await affected(insert(bench), bench), 2);
      const change = (sql: string, command: string, mongodb: object) => {
        const text = bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb });
        return affected(bench.ask(text, typeof text === 'string' ? { command } : {}), bench);
      };
      const set = { q: { _id: 1 }, u: { $set: { label: 'y' } } };
      const update = `UPDATE ${bench.scratch} SET label = 'y' WHERE id = 1`;
      assert.equal(await change(update, 'UPDATE', { update: bench.scratch, updates: [set] }), 1);
      const all = { delete: bench.scratch, deletes: [{ q: {}, limit: 0 }] };
      assert.equal(await change(`DELETE FROM ${bench.scratch}`, 'DELETE', all), 2);
      assert.equal(await count(bench), 0);
    },
  },
  {
    name: 'dryRun leaves nothing',
    run: async (bench) => {
      assert.equal(await affected(insert(bench, { dryRun: true }), bench), 2);
      assert.equal(await count(bench), 0);
    },
  },
  {
    name: 'maxAffected rolls back',
    run: async (bench) => {
      await bench.refused(insert(bench, { maxAffected: 1 }), 409, 'MAX_AFFECTED');
      assert.equal(await count(bench), 0);
      assert.equal(await affected(insert(bench, { maxAffected: 2 }), bench), 2);
    },
  },
  {
    name: 'a violated constraint: `CONSTRAINT`',
    run: async (bench) => {
      await bench.api.ok(insert(bench));
      const { body } = await bench.refused(insert(bench), 409, 'CONSTRAINT');
      assert.equal(body.sql.condition, 'UNIQUE_VIOLATION');
      assert.equal(await count(bench), 2);
    },
  },
  {
    name: 'RETURNING answers rows',
    run: async (bench) => {
      const text = `INSERT INTO ${bench.scratch} (id, label) VALUES (5, 'five') RETURNING id, label`;
      const rows = await bench.rows(text, { command: 'INSERT' });
      assert.deepEqual(rows, [{ id: 5, label: 'five' }]);
    },
  },
  {
    name: 'a read cannot write',
    run: async (bench) => {
      const call = `SELECT ${bench.writer}() AS id`;
      const out = { aggregate: bench.items, pipeline: [{ $out: bench.scratch }] };
      const text = bench.pick<string | object>({ postgres: call, mysql: call, mongodb: out });
      await bench.refused(bench.ask(text), 422, 'SQL_REJECTED');
      assert.equal(await count(bench), 0);
    },
  },
  {
    name: 'CREATE and DROP TABLE',
    run: async (bench) => {
      const name = `${bench.scratch}_made`;
      await bench.rows(`CREATE TABLE ${name} (a INT)`, { command: 'CREATE' });
      assert.deepEqual(await bench.rows(`SELECT a FROM ${name}`), []);
      await bench.rows(`DROP TABLE ${name}`, { command: 'DROP' });
      await bench.refused(bench.ask(`SELECT a FROM ${name}`), 422, 'SQL_REJECTED');
    },
  },
  {
    name: 'an error of the database: `SQL_REJECTED`',
    run: async (bench) => {
      const sql = 'SELECT a FROM no_such_table_here';
      const bad = { aggregate: bench.items, pipeline: [{ $match: { a: { $nosuchoperator: 1 } } }] };
      const text = bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: bad });
      await bench.refused(bench.ask(text), 422, 'SQL_REJECTED');
    },
  },
];
