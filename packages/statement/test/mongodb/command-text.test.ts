import { faultsMax } from '@datahub/contract/validation-error';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { describe, expect, it } from 'vitest';
import { compileCommand, verbOf } from '../../src/mongodb/command.ts';
import { bind, find } from '../command-fixture.ts';

const rejected = (message: string) =>
  expect.objectContaining({ code: 'SQL_REJECTED', message, stage: 'prepare', retryable: false });

describe('a text', () => {
  it.each(['', '{', '[]', 'null', '5', '"find"', '{"find', '{}', '{"Find": "o"}', '{"": 1}'])(
    '%j has no command',
    (text) => {
      expect(verbOf(text)).toBeUndefined();
    },
  );

  it.each<[string, string]>([
    ['[]', 'The query must be one JSON object, a command such as {"find": "orders"}.'],
    ['null', 'The query must be one JSON object, a command such as {"find": "orders"}.'],
    ['1e400', 'The query must be one JSON object, a command such as {"find": "orders"}.'],
    ...['', 'Find', 'find ', 'drop', 'eval', 'findAndModify', 'mapReduce', 'bulkWrite', 'getMore', 'a"'].map(
      (name): [string, string] => [
        JSON.stringify({ [name]: 'o' }),
        `The query begins with ${JSON.stringify(name)}. The hub runs these commands: find, aggregate, count, distinct, insert, update, delete.`,
      ],
    ),
    [
      '{}',
      'The query begins with "". The hub runs these commands: find, aggregate, count, distinct, insert, update, delete.',
    ],
  ])('%s is refused', (text, message) => {
    expect(() => compileCommand(text, { command: 'SELECT', variables: [] })).toThrow(rejected(message));
  });

  it.each(['9'.repeat(35), '1e9999', `0.${'9'.repeat(35)}`])('with the number %s is refused', (number) => {
    const text = `{"find": "o", "filter": {"a": [${number}]}}`;
    expect(() => compileCommand(text, { command: 'SELECT', variables: [] })).toThrow(
      rejected('/filter/a/0 has more digits than any number type of MongoDB.'),
    );
  });

  it.each([
    ['{"find": "a",\n "find": "b"}', 2, 2, '"find"'],
    ['{"find": "a", "filter": {"x": [{"a,b": 1, "y": {}, "a\\u002cb": 2}]}}', 1, 52, '"a\\u002cb"'],
    [
      `{"find": "a", "filter": {"x": "${'\\\\\\"{,'.repeat(40_000)}", "__proto__": 1, "__proto__": 2}}`,
      1,
      240_051,
      '"__proto__"',
    ],
  ])('with a member twice is refused: %#', (text, line, column, name) => {
    expect(() => compileCommand(text, { command: 'SELECT', variables: [] })).toThrow(
      expect.objectContaining({
        ...{ code: 'SQL_REJECTED', stage: 'prepare', sql: { line, column } },
        message: `The query has the member ${name} twice in one object.`,
      }),
    );
  });

  it('may have the name of a member in several objects, and as a value', () => {
    const text =
      '{"find": "find", "filter": {"find": "find", "$or": [{"find": 1}, {"find": ["find", "find"]}]}}';
    expect(compileCommand(text, { command: 'SELECT', variables: [] }).verb).toBe('SELECT');
  });

  it.each([
    ['', 1, 1, 'Unexpected end of JSON input'],
    ['{"find":', 1, 9, 'Unexpected end of JSON input'],
    ['{"find": "o', 1, 12, 'Unterminated string'],
    ['x', 1, 1, "Unexpected token 'x'"],
    ['{"find": "o",\n "limit": tru\n}', 2, 14, "Unexpected token '\n'"],
    ['{"find": "o",\r\n "limit": [1,]\r\n}', 2, 14, "Unexpected token ']'"],
    [`{"find": "${'o'.repeat(100)}",\n\n "limit": +1, "skip": 1}`, 3, 11, "Unexpected token '+'"],
    ['{"find": "o", "filter": {"at position 3": .5}}', 1, 43, "Unexpected token '.'"],
    [' at position 3 (line', 1, 2, "Unexpected token 'a'"],
    ['{"find": "o", "a": "😀é", "limit": nope}', 1, 36, "Unexpected token 'o'"],
    ['{"find": "😀",\n "a": "😀\\u00e9" x}', 2, 17, "Expected ',' or '}' after property value"],
    ['{"find": "\\x"}', 1, 12, 'Bad escaped character'],
    ['{"find": "a\nb"}', 1, 12, 'Bad control character in string literal'],
    ['{"find": 01}', 1, 11, 'Unexpected number'],
    ["{\n\n'find': 1}", 3, 1, "Expected property name or '}'"],
    ['{"find": "o"}\n;', 2, 1, 'Unexpected non-whitespace character after JSON'],
    ['{"find": "o"} {"find": "o"}', 1, 15, 'Unexpected non-whitespace character after JSON'],
  ])('%j is no JSON at line %i, column %i', (text, line, column, reason) => {
    expect(() => compileCommand(text, { command: 'SELECT', variables: [] })).toThrow(
      expect.objectContaining({
        code: 'SQL_REJECTED',
        message: `The query is not valid JSON: ${reason}.`,
        stage: 'prepare',
        retryable: false,
        sql: { line, column },
      }),
    );
  });

  it('checks escaped operators', () => {
    const compile = (text: string) => compileCommand(text, { command: 'SELECT', variables: [] });
    expect(() => compile('{"find": "o", "filter": {"\\u0024where": "x"}}')).toThrow('runs code');
  });
});

describe('variables', () => {
  const compile = (command: object, variables: Partial<Variable>[]) =>
    compileCommand(JSON.stringify(command), { command: 'SELECT', variables: variables as Variable[] });

  it('are listed once, in the order of the text, and described without values', () => {
    const filter = { b: ':b', a: [':a', ':b'], id: { $oid: ':id' }, $expr: ':a' };
    const compiled = compile(find(filter), [{ key: 'a', type: 'bigint' }, { key: 'unused' }]);
    expect(compiled.variables).toEqual(['b', 'a', 'id']);
    expect(compiled.describable()).toEqual([
      {
        key: '',
        text: '{"find":"orders","filter":{"b":null,"a":[null,null],"id":null,"$expr":{"$literal":null}}}',
        params: [],
        placeholders: ['b', 'a', 'id'],
      },
    ]);
    const given = { pinnedJson: '{"b": "pinned"}', contextJson: '{"a": 1, "b": 2, "id": null}' };
    const text =
      '{"find":"orders","filter":{"b":"pinned","a":[{"$numberLong":"1"},"pinned"],"id":null,"$expr":{"$literal":{"$numberLong":"1"}}}}';
    expect(compiled.bind(given)).toEqual({ key: '', text, params: [] });
    expect(compiled.toStored(text, { state: '2', line: 1, column: 1 })).toEqual({
      state: '2',
      line: 1,
      column: 1,
    });
  });

  it('that are missing are reported, and defaults are used', () => {
    const variables = [
      { key: 'a', valueJson: '{"b": 1.10}' },
      { key: 'b', required: false },
    ];
    expect(bind(find({ a: ':a', b: ':b' }), {}, { variables }).filter).toEqual({
      a: { b: { $numberDouble: '1.10' } },
      b: null,
    });
    expect(() => bind(find({ a: ':a', b: ':b', c: ':c', d: ':d' }), {}, { variables })).toThrow(
      expect.objectContaining({
        code: 'CONTEXT_INVALID',
        message: 'context.c is missing; "errors" lists 1 more fault.',
      }),
    );
  });

  it('with invalid values are all reported, up to the most faults of a query', () => {
    const names = Array.from({ length: faultsMax + 1 }, (_, i) => `v${i}`);
    const context = Object.fromEntries(names.map((name) => [name, 'no']));
    const filter = { good: { $date: ':d' }, $or: names.map((name) => ({ a: { $oid: `:${name}` } })) };
    expect(() => bind(find(filter), { ...context, d: '2026-11-20' })).toThrow(
      expect.objectContaining({
        code: 'CONTEXT_INVALID',
        message: `context.v0 must be an ObjectId: 24 hexadecimal digits; "errors" lists ${faultsMax - 1} more faults.`,
        stage: 'prepare',
        retryable: false,
        errors: names.slice(0, faultsMax).map((name) => ({
          path: ['context', name],
          detail: 'must be an ObjectId: 24 hexadecimal digits',
        })),
      }),
    );
  });
});

it('bounds the characters of a value in all places after the first one', () => {
  const command = find({ a: { $in: Array(1_000).fill(':v') } });
  expect(() => bind(command, { v: 'x'.repeat(2_000) })).not.toThrow();
  expect(() => bind(command, { v: 'x'.repeat(3_000) })).toThrow(
    expect.objectContaining({ code: 'TOO_LARGE' }),
  );
  expect(() => bind(find({ a: ':v' }), { v: 'x'.repeat(3_000_000) })).not.toThrow();
});
