/** Checks of variables and of result values of each type. */

import { strict as assert } from 'node:assert';
import type { Bench } from './bench.ts';
import type { Check } from './check.ts';
import { exactAmount, moment, uuid } from './operator.ts';

interface Variable {
  type: string;
  value: unknown;
  /** The expression that returns the variable. */
  postgres: string;
  mysql: string;
  /** The field by which a document with this value is found. */
  mongodb?: { field: string; value?: unknown };
  /** The expected value by dialect, if it differs from the sent value. */
  answered?: { postgres?: unknown; mysql?: unknown };
}

const greeting = 'Grüße 🎉 \'"\\ %_ :v {{v}} $1 ?';

const variables: Variable[] = [
  {
    type: 'string',
    value: greeting,
    postgres: ':v::text',
    mysql: 'CAST(:v AS CHAR)',
    mongodb: { field: 'label', value: 'one' },
  },
  {
    type: 'integer',
    value: -2_147_483_648,
    postgres: ':v::int',
    mysql: 'CAST(:v AS SIGNED)',
    mongodb: { field: '_id', value: 1 },
  },
  {
    type: 'bigint',
    value: '9007199254740993',
    postgres: ':v::bigint',
    mysql: 'CAST(:v AS SIGNED)',
    mongodb: { field: 'big' },
  },
  {
    type: 'number',
    value: 0.1,
    postgres: ':v::float8',
    mysql: ':v + 0e0',
    mongodb: { field: 'ratio' },
  },
  {
    type: 'decimal',
    value: exactAmount,
    postgres: ':v::numeric',
    mysql: 'CAST(:v AS DECIMAL(24, 4))',
  },
  {
    type: 'boolean',
    value: true,
    postgres: ':v::boolean',
    mysql: 'CASE WHEN :v THEN 1 ELSE 0 END',
    mongodb: { field: 'flag' },
    answered: { mysql: 1 },
  },
  {
    type: 'date',
    value: '2026-11-20',
    postgres: ':v::date',
    mysql: 'CAST(:v AS DATE)',
  },
  {
    type: 'timestamp',
    value: moment,
    postgres: ':v::timestamptz',
    mysql: 'CAST(:v AS DATETIME(3))',
    mongodb: { field: 'at' },
    answered: { mysql: moment.slice(0, -1) },
  },
  {
    type: 'uuid',
    value: uuid,
    postgres: ':v::uuid',
    mysql: 'CAST(:v AS CHAR)',
    mongodb: { field: 'uuid' },
  },
  {
    type: 'json',
    value: { a: [1, 'x', null] },
    postgres: ':v::jsonb',
    mysql: "JSON_UNQUOTE(JSON_EXTRACT(:v, '$.a[1]'))",
    answered: { mysql: 'x' },
  },
];

function checkOf({ type, value, mongodb, answered = {}, ...sql }: Variable): Check {
  const types = { v: type };
  return {
    name: `variable: ${type}`,
    run: async (bench) => {
      const { dialect } = bench.target;
      if (dialect === 'mongodb') {
        const { field, value: own = value } = bench.pick({ mongodb });
        const at = type === 'timestamp' ? { $date: ':v' } : ':v';
        const find = { find: bench.items, filter: { [field]: at }, projection: { _id: 1 } };
        assert.deepEqual(await bench.rows(find, { context: { v: own }, types }), [{ _id: 1 }]);
        return;
      }
      const rows = await bench.rows(`SELECT ${sql[dialect]} AS v`, { context: { v: value }, types });
      assert.deepEqual(rows, [{ v: dialect in answered ? answered[dialect] : value }]);
    },
  };
}

/** Returns a column of the first row, after checking that it is null in the second. */
async function column(bench: Bench, name: string): Promise<unknown> {
  const sql = `SELECT ${name} FROM ${bench.items} ORDER BY id`;
  const find = { find: bench.items, sort: { _id: 1 }, projection: { _id: 0, [name]: 1 } };
  const [one, two] = await bench.rows(
    bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: find }),
  );
  assert.equal(two[name], null);
  return one[name];
}

const holds = (name: string, expected: unknown) => async (bench: Bench) => {
  assert.deepEqual(await column(bench, name), expected);
};

export const values: Check[] = [
  ...variables.map(checkOf),
  {
    name: 'variable: a list, also an empty one',
    run: async (bench) => {
      const sql = `SELECT COUNT(*) AS count FROM ${bench.items} WHERE id IN (:ids)`;
      const count = { count: bench.items, query: { _id: { $in: ':ids' } } };
      const text = bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: count });
      assert.deepEqual(await bench.rows(text, { context: { ids: [1, 2, 3] } }), [{ count: 2 }]);
      assert.deepEqual(await bench.rows(text, { context: { ids: [] } }), [{ count: 0 }]);
    },
  },
  {
    name: 'variable: null',
    run: async (bench) => {
      const sql = `SELECT COUNT(*) AS count FROM ${bench.items} WHERE label IS NULL AND :v IS NULL`;
      const count = { count: bench.items, query: { label: ':v' } };
      const text = bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: count });
      const asked = { context: { v: null }, types: { v: 'string' } };
      assert.deepEqual(await bench.rows(text, asked), [{ count: 1 }]);
    },
  },
  {
    name: 'SQL in a value stays text',
    run: async (bench) => {
      const sql = `SELECT COUNT(*) AS count FROM ${bench.items} WHERE label = :v`;
      const count = { count: bench.items, query: { label: ':v' } };
      const text = bench.pick<string | object>({ postgres: sql, mysql: sql, mongodb: count });
      for (const v of ["one' OR '1'='1", "\\' OR 1=1 #", "'; DELETE FROM t; -- ", '$label']) {
        assert.deepEqual(await bench.rows(text, { context: { v } }), [{ count: 0 }]);
      }
    },
  },
  { name: 'value: decimal with all digits', run: holds('amount', exactAmount) },
  { name: 'value: bigint with all digits', run: holds('big', '9007199254740993') },
  { name: 'value: double', run: holds('ratio', 0.1) },
  { name: 'value: moment in UTC', run: holds('at', moment) },
  { name: 'value: JSON', run: holds('doc', { a: [1, 'x', null] }) },
  { name: 'value: bytes as base64', run: holds('raw', 'AP8=') },
];
