import type { EngineName } from '@datahub/contract/engines';
import { expect, test } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { compileQuery, type DescribableForm, requireFittingFormat } from '../../src/execution/prepare.ts';

const define = (text: string, engine: EngineName, version = 1) =>
  ({
    queryId: 'q',
    versionNumber: version,
    text,
    command: 'SELECT',
    variables: [{ key: 'id', type: 'bigint' }],
    source: { engine },
  }) as unknown as QueryDefinition;

const given = (context: object) => ({ pinnedJson: '', contextJson: JSON.stringify(context) });

test('versions of a query never share a prepared statement, nor do texts of different length', () => {
  const text = 'select * from t where id in (:ids)';
  const [first, second] = [compileQuery(define(text, 'mysql')), compileQuery(define(text, 'mysql', 2))];
  const keys = [
    first.bind(given({ ids: [1] })).key,
    first.bind(given({ ids: [1, 2, 3] })).key,
    second.bind(given({ ids: [1] })).key,
    first.describable()[0]?.key,
    // Of a catalog that was restored from a backup.
    compileQuery(define(`${text} or id = 1`, 'mysql')).bind(given({ ids: [1] })).key,
  ];
  expect(new Set(keys).size).toBe(keys.length);
  expect(first.bind(given({ ids: [1, 2, 3] })).key).toBe(first.bind(given({ ids: [4, 5, 6, 7] })).key);
});

test('positions are mapped from the text of the run, also after another text was run', () => {
  const text = 'select * from t where id in (:ids) and nope = 1';
  const prepared = compileQuery(define(text, 'mysql'));
  const long = prepared.bind(given({ ids: Array.from({ length: 60 }, (_, i) => i) }));
  const short = prepared.bind(given({ ids: [1] }));
  for (const run of [long, short]) {
    const fault = { state: '42S22', line: 1, column: run.text.indexOf('nope') + 1 };
    expect(prepared.mapLocation(fault, run)).toEqual({
      state: '42S22',
      line: 1,
      column: text.indexOf('nope') + 1,
    });
  }
});

test('names are unknown if neither the text nor the session has them', () => {
  const sessionJson = JSON.stringify({ settings: { 'app.tenant': { variable: 'tenant' } } });
  const prepared = compileQuery({ ...define('select * from t where id = :id', 'postgres'), sessionJson });
  const unknown: string[] = [];
  const bind = (context: object, strict: boolean) =>
    prepared.bind({ ...given(context), strict, onUnknown: (names) => unknown.push(...names) });
  expect(bind({ id: 1, tenant: 'a' }, true)).toMatchObject({ params: [1], session: [['app.tenant', 'a']] });
  bind({ id: 1, tenant: 'a', other: 2 }, false);
  expect(unknown).toEqual(['other']);
  expect(() => bind({ id: 1, tenant: 'a', other: 2 }, true)).toThrow('context.other is not a variable');
});

test('a stored validation with a variable that the query lacks is not used', () => {
  const validationOf = (validate: string) => {
    const cache = { maxAgeS: 1, staleS: 0, ageMsMax: 1_000, validate };
    return compileQuery({ ...define('select :id as id', 'postgres'), cache }).validation;
  };
  expect(validationOf('select max(a) from t where a < :id')?.names).toEqual(['id']);
  expect(validationOf('select max(a) from t')?.names).toEqual([]);
  expect(validationOf('select max(a) from t where a < :id and :w is null')).toBeUndefined();
});

test('types are the declared ones, else those that the source reported', () => {
  const prepared = compileQuery(define('select * from t where id = :id and name = :name', 'postgres'));
  const [form] = prepared.describable();
  expect(prepared.variables({ columns: [], parameters: ['int8', 'text'] }, form as DescribableForm)).toEqual([
    { key: 'id', type: 'bigint', list: false, nullable: true },
    { key: 'name', type: 'text', list: false, nullable: true },
  ]);
});

test('the types of many variables are found in linear time', async () => {
  const typesOf = (count: number) => {
    const names = Array.from({ length: count }, (_, i) => `:v${i}`);
    const prepared = compileQuery(define(`SELECT 1 IN (0,${names})`, 'mysql'));
    const [form] = prepared.describable();
    const parameters = names.map((_, i) => `t${i}`);
    return prepared.variables({ columns: [], parameters }, form as DescribableForm);
  };
  expect(typesOf(45_000).at(-1)).toMatchObject({ key: 'v44999', type: 't44999' });
  await expectLinear(typesOf, 45_000);
});

test('messages about numbered placeholders name the variables', () => {
  const compiled = compileQuery(define('select :id, :since', 'postgres'));
  expect(compiled.nameVariables('could not determine data type of parameter $2.')).toMatch(
    / type of :since from the statement\. /,
  );
  expect(compiled.nameVariables('inconsistent types deduced for parameter $1')).toBe(
    'inconsistent types deduced for :id',
  );
  expect(compiled.nameVariables('no such parameter $7')).toBe('no such parameter $7');
});

test('Arrow is refused for documents, and XLSX for annotated rows', () => {
  const annotate = { members: [{ text: 'note', as: 'topic' }] };
  const refused = expect.objectContaining({ code: 'NOT_ACCEPTABLE' });
  expect(() => requireFittingFormat('arrow', {}, define('{}', 'mongodb'))).toThrow(refused);
  expect(() => requireFittingFormat('xlsx', { annotate }, define('select 1', 'mysql'))).toThrow(refused);
  requireFittingFormat('arrow', { annotate }, define('select 1', 'mysql'));
  requireFittingFormat('xlsx', {}, define('{}', 'mongodb'));
  requireFittingFormat('csv', { annotate }, define('{}', 'mongodb'));
});
