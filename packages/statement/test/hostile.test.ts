/** Statements of the longest text that the hub stores, made to cost time: what they cost grows with their length alone. */

import { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../tests/support/growth.ts';
import { compileStatement, type Dialect } from '../src/compile.ts';

const charactersMax = 262_144;

function repeat(piece: (i: number) => string, characters = charactersMax): string {
  let text = '';
  for (let i = 0; text.length < characters - 100; i++) text += piece(i);
  return text;
}

/** Compiles and binds, twice, with as much as a call can hold; what is refused is refused in time as well. */
function run(text: string, dialect: Dialect | 'mongodb', value: unknown): string {
  try {
    const compiled = compileStatement(text, { dialect, command: 'SELECT', variables: [] });
    const contextJson = JSON.stringify(Object.fromEntries(compiled.variables.map((name) => [name, value])));
    compiled.bind({ pinnedJson: '', contextJson });
    return compiled.bind({ pinnedJson: '', contextJson }).text;
  } catch (err) {
    if (err instanceof HubError) return err.code;
    throw err;
  }
}

const manyNames = (characters?: number) => `SELECT 1${repeat((i) => `,:v${i.toString(36)}`, characters)}`;
const oneName = (characters?: number) => `SELECT 1${repeat(() => ',:v', characters).slice(0, 3 * 65_535)}`;
const lists = (characters?: number) =>
  `SELECT 1 WHERE true${repeat((i) => ` OR a IN(:v${i % 15})`, characters)}`;

// The texts of MariaDB have the syntax of MySQL.
describe.each(['postgres', 'mysql'] as const)('on %s', (dialect) => {
  it.each([
    ['a variable in every place', manyNames],
    ['one variable everywhere', oneName],
    ['lists everywhere', lists],
  ])('%s costs time that grows with the length alone', async (_name, text) => {
    expect(run(text(), dialect, 1).length).toBeGreaterThan(80_000);
    await expectLinear((characters) => run(text(characters), dialect, 1), charactersMax);
  });

  it('variables in more places than any server takes are refused', () => {
    expect(run(`${oneName()},:v`, dialect, 1)).toBe('SQL_REJECTED');
  });

  it.each([
    ['line breaks after a string', (characters: number) => `SELECT E'a'${repeat(() => '\n', characters)}1`],
    ['comments after a string', (characters: number) => `SELECT E'a'${repeat(() => '\n--x', characters)}`],
    ['dashes after a string', (characters: number) => `SELECT E'a'${repeat(() => '--', characters)}`],
    ['braces in a string', (characters: number) => `SELECT '${repeat(() => '{{ ', characters)}'`],
    ['openings of comments', (characters: number) => `SELECT ${repeat(() => '/*', characters)}`],
    [
      'nested variables',
      (characters: number) => `SELECT ${'('.repeat(characters / 8)}${repeat(() => ':v,', characters / 2)}`,
    ],
    [
      'rows in rows',
      (characters: number) =>
        `SELECT ${repeat(() => '(:v,', characters / 2)}1${repeat(() => ')', characters / 8)}`,
    ],
    ['dollar tags', (characters: number) => `SELECT ${repeat((i) => `$a${i}$ `, characters)}`],
  ])('%s cost time that grows with the length alone', async (_name, text) => {
    await expectLinear((characters) => run(text(characters), dialect, 1), charactersMax);
  });
});

const factsOf = (text: string, dialect: Dialect) =>
  compileStatement(text, { dialect, command: 'SELECT', variables: [] }).columnFacts();

describe.each(['postgres', 'mysql'] as const)('the columns on %s', (dialect) => {
  const columns = (count: number, column: string) => Array.from({ length: count }, () => column).join(',');

  it.each([
    ['one table in many relations', (i: number) => `,t a${i}`, 0],
    ['many tables', (i: number) => `,t${i} a${i}`, 1],
  ])('of %s are traced in time that grows with the length alone', async (_name, relation, few) => {
    const text = (characters?: number) => `SELECT a.id FROM t a${repeat(relation, characters)}`;
    const { keptTables, kept } = factsOf(text(), dialect);
    expect([Math.min(keptTables.size, 1), kept]).toEqual([few, [true]]);
    await expectLinear((characters) => factsOf(text(characters), dialect), charactersMax);
  });

  it.each([
    ['NOT', (depth: number) => `${'NOT '.repeat(depth)}EXISTS (SELECT 1)`],
    ['COALESCE', (depth: number) => `${'COALESCE(a,'.repeat(depth)}1${')'.repeat(depth)}`],
    [
      'COALESCE with casts',
      (depth: number) => `${'COALESCE(a,'.repeat(depth)}1${')::int'.repeat(depth - 1)})`,
    ],
    ['CASE', (depth: number) => `${'CASE WHEN a THEN 1 ELSE '.repeat(depth)}1${' END'.repeat(depth)}`],
    ['brackets', (depth: number) => `${'('.repeat(depth)}1${')'.repeat(depth)}`],
    ['COALESCE before others', (depth: number) => `COALESCE(${'b,'.repeat(depth)}COALESCE(a,b),1)`],
  ])('with many %s are never NULL, in time that grows with the length alone', async (name, column) => {
    const text = (depth: number, count: number) => `SELECT ${columns(count, column(depth))}`;
    // MySQL has no such casts.
    const isProven = name !== 'COALESCE with casts' || dialect === 'postgres';
    expect(factsOf(text(40, 1), dialect).neverNull).toEqual([isProven]);
    await expectLinear((depth) => factsOf(text(depth, 10), dialect), 1_600);
    await expectLinear((depth) => factsOf(text(depth, 1), dialect), 10_000);
  });

  it.each([
    'NOT NOT',
    'NOT EXISTS (SELECT 1) = NULL',
    'COALESCE(a, COALESCE(b, c))',
    'COALESCE(a, COALESCE(b, 1)) + b',
    'COALESCE(a, COALESCE(b, 1) + b)',
    'COALESCE(1)',
    'COALESCE(a, (SELECT 1, 2))',
    'COALESCE(a, 1))',
    'COALESCE(a, 1',
  ])('of %s may be NULL', (column) => {
    expect(factsOf(`SELECT ${column}`, dialect).neverNull).toEqual([false]);
  });
});

it('of missing values some are reported, and how many more there are', () => {
  const { bind } = compileStatement(manyNames(), { dialect: 'postgres', command: 'SELECT', variables: [] });
  const call = () => bind({ pinnedJson: '', contextJson: '' });
  expect(call).toThrow(expect.objectContaining({ code: 'CONTEXT_INVALID' }));
  expect(call).toThrow(expect.toSatisfy(({ errors }) => errors.length === 200));
  expect(call).toThrow(/^context\.v0 is missing; "errors" lists 199 more faults\.$/);
});

it('lists that no MySQL takes are not written out', async () => {
  const dialect = 'mysql';
  const long = Array.from({ length: 9_000 }, (_, i) => i);
  expect(run(lists(), dialect, long)).toBe('CONTEXT_INVALID');
  await expectLinear((characters) => run(lists(characters), dialect, long), charactersMax);
  const few = `SELECT 1 WHERE a IN (:a) OR a IN (:b) OR a IN (:c) OR a IN (:d)`;
  expect(run(few, dialect, long)).toBe('CONTEXT_INVALID');
  expect(run(few.replace(' OR a IN (:d)', ''), dialect, long)).toContain('?,?');
});

it('variables in every place of a command of MongoDB cost time that grows with the length alone', async () => {
  const text = (characters?: number) => {
    const names = repeat((i) => `":v${i.toString(36)}",`, characters).slice(0, -1);
    return `{"find":"o","filter":{"a":{"$in":[${names}]}}}`;
  };
  expect(run(text(), 'mongodb', 1).length).toBeGreaterThan(30_000);
  await expectLinear((characters) => run(text(characters), 'mongodb', 1), charactersMax);
});
