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
  isRead = true,
): Contract => ({
  variables: declared,
  isRead,
  signature: { columns, variables, checkedAt: '', version: 1 },
});

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
    'a changed type breaking',
    'a changed jsonType breaking',
    'b removed breaking',
    'c changed nullable breaking',
    'd changed nullable',
    'e added',
  ]);
  expect(shown(next, old)).toContain('a changed jsonType');
});

test('columns: another form of the values breaks callers, also where JSON has one type for both', () => {
  const typed = (type: string) => contract([column('a', { type, jsonType: 'string' })]);
  const isBreaking = (from: string, to: string) => shown(typed(from), typed(to));
  for (const [from, to] of [
    ['timestamptz', 'date'],
    ['timestamptz', 'timestamp'],
    ['date', 'text'],
    ['uuid', 'text'],
    ['bytea', 'text'],
    ['integer', 'real'],
    ['date[]', 'timestamptz[]'],
    ['integer', 'integer[]'],
    ['integer[]', 'bigint[]'],
    ['double precision[]', 'numeric[]'],
  ] as const)
    expect(isBreaking(from, to), `${from} → ${to}`).toEqual(['a changed type breaking']);
  for (const [from, to] of [
    ['integer', 'bigint'],
    ['int unsigned', 'int'],
    ['numeric', 'integer'],
    ['character varying', 'text'],
    ['varchar', 'enum'],
    ['json', 'jsonb'],
    ['text[]', 'character varying[]'],
  ] as const)
    expect(isBreaking(from, to), `${from} → ${to}`).toEqual(['a changed type']);
});

test('variables: one that is gone breaks callers, and a new one only if it is required', () => {
  const old = contract([], [variable('gone'), variable('kept')]);
  const next = contract(
    [],
    [variable('kept'), variable('must'), variable('may'), variable('defaulted')],
    [
      { key: 'may', required: false },
      { key: 'defaulted', valueJson: '1' },
    ],
  );
  expect(shown(old, next)).toEqual([
    'gone removed breaking',
    'must added breaking',
    'may added',
    'defaulted added',
  ]);
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
  expect(shown(typed('integer[]'), typed('bigint[]'))).toEqual(['x changed type']);
  expect(shown(typed('bigint'), typed('integer'))).toEqual(['x changed type breaking']);
  expect(shown(typed('varchar', false), typed('text', false))).toEqual(['x changed type']);
  expect(shown(typed('text', false), typed('string'))).toEqual(['x changed type breaking']);
  expect(shown(typed('integer'), typed('integer[]'))).toEqual([
    'x changed type breaking',
    'x changed list breaking',
  ]);
});

test('variables: an enum breaks callers if it lacks a value that was accepted', () => {
  const listed = (enumJson?: string, type?: string) =>
    contract([], [variable('x')], [{ key: 'x', type, enumJson } as Variable]);
  const values = (from: string | undefined, to: string | undefined, type?: string) =>
    shown(listed(from, type), listed(to, type));
  expect(values('["a","b"]', '["a","b"]')).toEqual([]);
  expect(values('["a","b"]', '["b", "a", "a"]')).toEqual([]);
  expect(values('[1.5,2]', '["1.50","2.0"]', 'decimal')).toEqual([]);
  expect(values('[1,2]', '["2",1]', 'bigint[]')).toEqual([]);
  expect(values('["a","b"]', '["a"]')).toEqual(['x changed enum breaking']);
  expect(values('["a","b"]', '["a","c","d"]')).toEqual(['x changed enum breaking']);
  expect(values(undefined, '["a"]')).toEqual(['x changed enum breaking']);
  expect(values('["a"]', '["a","b"]')).toEqual(['x changed enum']);
  expect(values('["a"]', undefined)).toEqual(['x changed enum']);
  expect(values(undefined, '[true,false]', 'boolean')).toEqual([]);
  expect(values(undefined, '[true,false]', 'boolean[]')).toEqual([]);
  expect(values('[true,false]', undefined, 'boolean')).toEqual([]);
  expect(values(undefined, '[true]', 'boolean')).toEqual(['x changed enum breaking']);
  expect(values(undefined, '[true,false]')).toEqual(['x changed enum breaking']);
  // It was not declared before.
  expect(shown(contract([], [variable('x')]), listed('["a"]'))).toEqual(['x changed enum breaking']);
  expect(contractChanges(listed('["a"]'), listed('["b"]'))).toMatchObject([{ from: '["a"]', to: '["b"]' }]);
  const many = JSON.stringify(Array.from({ length: 1_000 }, (_, i) => `value ${i}`));
  const [change] = contractChanges(listed(), listed(many));
  expect(change?.to).toBe(`${many.slice(0, 200)}…`);
  expect(values(many, many.replace('value 999', 'other'))).toEqual(['x changed enum breaking']);
});

test('variables: a secret breaks callers over GET', () => {
  const withSecret = (secret: boolean, isRead = true) =>
    contract([], [variable('x')], [{ key: 'x', secret }], isRead);
  expect(shown(withSecret(false), withSecret(true))).toEqual(['x changed secret breaking']);
  expect(shown(withSecret(true), withSecret(false))).toEqual(['x changed secret']);
  expect(shown(withSecret(false, false), withSecret(true, false))).toEqual(['x changed secret']);
  expect(shown(contract([], [variable('x')]), withSecret(false))).toEqual([]);
});
