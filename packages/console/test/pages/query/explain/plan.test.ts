import { expect, it } from 'vitest';
import { analyzeOf, misjudged, readPlan, stepsOf } from '../../../../src/pages/query/explain/plan.ts';

const shown = (plan: unknown) => {
  const tree = readPlan(plan);
  return tree === undefined
    ? []
    : [...stepsOf(tree)].map(({ step, depth }) => [
        depth,
        step.name,
        step.ownMs,
        step.estimated,
        step.actual,
      ]);
};

const scan = {
  'Node Type': 'Seq Scan',
  'Relation Name': 'orders',
  'Plan Rows': 10,
  'Actual Rows': 500,
  'Actual Total Time': 2,
  'Actual Loops': 3,
  Filter: "(status = 'paid')",
  'Rows Removed by Filter': 4,
};

it("counts all repetitions in PostgreSQL's steps, and only their own time", () => {
  const plan = {
    'Node Type': 'Sort',
    'Plan Rows': 5,
    'Actual Rows': 5,
    'Actual Total Time': 7,
    'Actual Loops': 1,
  };
  expect(shown([{ Plan: { ...plan, 'Sort Key': ['a', 'b'], Plans: [scan] } }])).toEqual([
    [0, 'Sort', 1, 5, 5],
    [1, 'Seq Scan on orders', 6, 30, 1_500],
  ]);
  expect(readPlan([{ Plan: scan }])?.detail).toBe("(status = 'paid') · 12 rows left out");
});

it('shows a plan that was not measured without times', () => {
  expect(shown([{ Plan: { 'Node Type': 'Result', 'Plan Rows': 1 } }])).toEqual([
    [0, 'Result', undefined, 1, undefined],
  ]);
});

it("reads MariaDB's measured blocks", () => {
  const table = { table_name: 't', access_type: 'ref', key: 'a', r_loops: 10, rows: 1, r_rows: 2 };
  const block = {
    r_total_time_ms: 9,
    filesort: {
      r_total_time_ms: 0.5,
      sort_key: 'count(0)',
      temporary_table: { nested_loop: [{ table: { ...table, r_table_time_ms: 1, r_other_time_ms: 0.25 } }] },
    },
  };
  expect(shown({ query_optimization: { r_total_time_ms: 1 }, query_block: block })).toEqual([
    [0, 'Sort', 0.5, undefined, undefined],
    [1, 'Temporary table', undefined, undefined, undefined],
    [2, 'Look up t', 1.25, 10, 20],
  ]);
});

it("reads both forms of MySQL's plans", () => {
  const inputs = [{ operation: 'Table scan on t', table_name: 't', estimated_rows: 3 }];
  expect(shown({ query_plan: { operation: 'Sort: t.a', inputs } })).toEqual([
    [0, 'Sort: t.a', undefined, undefined, undefined],
    [1, 'Table scan on t', undefined, 3, undefined],
  ]);
  const table = { table_name: 't', access_type: 'ALL', rows_examined_per_scan: 3 };
  expect(shown({ query_block: { ordering_operation: { table } } })).toEqual([
    [0, 'Sort', undefined, undefined, undefined],
    [1, 'Read the table t', undefined, 3, undefined],
  ]);
});

it('answers nothing for a plan that it does not know', () => {
  for (const plan of [null, 'text', [], {}, { query_block: {} }]) expect(readPlan(plan)).toBeUndefined();
});

it('calls ten times as many or as few rows misjudged', () => {
  const of = (estimated: number, actual: number) =>
    misjudged({ name: '', detail: '', estimated, actual, children: [] });
  expect(of(10, 99)).toBeUndefined();
  expect(of(10, 100)).toEqual({ times: 10, more: true });
  expect(of(1_000, 0)).toEqual({ times: 1_000, more: false });
});

it.each([
  ['orders', 'postgres', 'select * from orders', 'ANALYZE orders;'],
  ['Orders', 'postgres', 'select * from "Orders"', 'ANALYZE "Orders";'],
  ['orders', 'mariadb', 'select * from orders', 'ANALYZE TABLE orders;'],
  ['o', 'mariadb', 'SELECT * FROM shop.orders AS o JOIN lines l ON l.o = o.id', 'ANALYZE TABLE shop.orders;'],
  ['l', 'mariadb', 'SELECT * FROM orders o, `lines` l', 'ANALYZE TABLE `lines`;'],
])('names the table %s of %s as a statement can: %s', (table, engine, text, statement) => {
  expect(analyzeOf(table, { text, engine })).toBe(statement);
});
