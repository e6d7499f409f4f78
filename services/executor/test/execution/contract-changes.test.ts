import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import type { Column, DescribedVariable } from '@datahub/proto/executor/v1/executor';
import { expect, test } from 'vitest';
import { type Contract, contractChanges } from '../../src/execution/contract-changes.ts';

const column = (name: string, change: Partial<Column> = {}): Column => ({
  name,
  type: 'integer',
  nullable: false,
  jsonType: 'number',
  ...change,
});
const variable = (key: string, change: Partial<DescribedVariable> = {}): DescribedVariable => ({
  key,
  list: false,
  nullable: true,
  ...change,
});
const contract = (
  columns: Column[],
  variables: DescribedVariable[] = [],
  declared: Variable[] = [],
): Contract => ({ variables: declared, signature: { columns, variables, checkedAt: '', version: 1 } });

const shown = (from: Contract, to: Contract) =>
  contractChanges(from, to).map(({ name, change, member, breaking }) =>
    [name, change, member, breaking ? 'breaking' : ''].filter(Boolean).join(' '),
  );

test('columns: removing one, widening its type or making it nullable breaks callers', () => {
  const old = contract([column('a'), column('b'), column('c'), column('d', { nullable: true })]);
  expect(shown(old, old)).toEqual([]);
  const next = contract([
    column('a', { type: 'numeric', jsonType: 'number|string' }),
    column('c', { nullable: true }),
    column('d'),
    column('e'),
  ]);
  expect(shown(old, next)).toEqual([
    'a changed type',
    'a changed jsonType breaking',
    'b removed breaking',
    'c changed nullable breaking',
    'd changed nullable',
    'e added',
  ]);
  expect(shown(next, old)).toContain('a changed jsonType');
});

test('variables: a new one breaks callers only if it is required', () => {
  const old = contract([], [variable('gone'), variable('kept')]);
  const next = contract(
    [],
    [variable('kept'), variable('must'), variable('may'), variable('defaulted')],
    [
      { key: 'may', required: false },
      { key: 'defaulted', valueJson: '1' },
    ],
  );
  expect(shown(old, next)).toEqual(['gone removed', 'must added breaking', 'may added', 'defaulted added']);
  const optional = contract([], [variable('kept')], [{ key: 'kept', required: false }]);
  expect(shown(optional, contract([], [variable('kept')]))).toEqual(['kept changed required breaking']);
});

test('variables: a declared type may become wider', () => {
  const typed = (type: string | undefined, declared = type !== undefined) =>
    contract(
      [],
      [variable('x', { ...(type === undefined ? {} : { type }), list: type?.endsWith('[]') ?? false })],
      declared ? [{ key: 'x', type: type as string }] : [],
    );
  expect(shown(typed('integer'), typed('bigint'))).toEqual(['x changed type']);
  expect(shown(typed('bigint'), typed('integer'))).toEqual(['x changed type breaking']);
  expect(shown(typed('varchar', false), typed('text', false))).toEqual(['x changed type']);
  expect(shown(typed('text', false), typed('string'))).toEqual(['x changed type breaking']);
  expect(shown(typed('integer'), typed('integer[]'))).toEqual([
    'x changed type breaking',
    'x changed list breaking',
  ]);
});
