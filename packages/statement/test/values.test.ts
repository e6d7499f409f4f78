import { listElementsMax } from '@datahub/contract/limits';
import type { Variable } from '@datahub/proto/catalog/v1/catalog';
import { describe, expect, it } from 'vitest';
import {
  declare,
  ExactNumber,
  faultOfDefault,
  parseValue,
  resolveValues,
  toJsonText,
} from '../src/values.ts';

const exact = (text: string) => new ExactNumber(text);

/** What a variable of these declarations takes of a JSON text: the value, or what is wrong with it. */
function take(json: string | undefined, variable: object = {}) {
  const declaration = declare('x', { key: 'x', ...variable });
  const contextJson = json === undefined ? '{}' : `{"x":${json}}`;
  try {
    return { value: resolveValues([declaration], { pinnedJson: '', contextJson })[0] };
  } catch (err) {
    return { fault: (err as { errors: { detail: string }[] }).errors[0]?.detail };
  }
}

describe('JSON', () => {
  it.each([
    '1',
    '-1',
    '1.5',
    '1.05',
    '-0.5',
    '10',
    '100',
    '123456789012345',
    '0.12345678901234',
    '9007199254740991',
  ])('%s is a number', (text) => expect(parseValue(text)).toBe(Number(text)));

  it.each([
    ...['-0', '1.0', '1.50', '0.10', '1e2', '1E2', '1e400', '9007199254740993', '12345678901234567890'],
    ...['0.1234567890123456', '1234567.8901234567', '-9007199254740993'],
  ])('%s keeps its digits', (text) => expect(parseValue(text)).toEqual(exact(text)));

  it('keeps them anywhere, and leaves texts as they are', () => {
    const text = '{"a":[1.10,"1.10",{"b":1e5}],"c":"-0","__proto__":2.0,"d":1}';
    const value = parseValue(text) as Record<string, unknown>;
    expect(value.a).toEqual([exact('1.10'), '1.10', { b: exact('1e5') }]);
    expect([value.c, value.d, Object.hasOwn(value, '__proto__')]).toEqual(['-0', 1, true]);
    expect(toJsonText(value as never)).toBe(text);
  });

  it.each(['null', 'true', '"a\\"b\\n"', '[]', '{}', '[null,[1.10],{}]', '{"a b":{"c":[]}}', '-0'])(
    '%s is written as it came',
    (text) => expect(toJsonText(parseValue(text))).toBe(text),
  );
});

const types: Record<string, { must: string; good: string[]; bad: string[] }> = {
  string: { must: 'must be a string', good: ['"a"', '""'], bad: ['1', 'true', '[]', '{}', '1.0'] },
  boolean: { must: 'must be true or false', good: ['true', 'false'], bad: ['"true"', '0', '[]'] },
  number: {
    must: 'must be a number',
    good: ['1', '1.5', '1.10', '1e400'],
    bad: ['"1"', 'true', '[1]', '{}'],
  },
  integer: {
    must: 'must be a whole number from -2147483648 to 2147483647',
    good: ['0', '1', '2147483647', '-2147483648', '1.0', '1e3'],
    bad: ['2147483648', '-2147483649', '1.5', '1e-400', '"1"', 'true', '[1]', '1e30', '2147483648.0'],
  },
  bigint: {
    must: 'must be a whole number of at most 19 digits',
    good: [
      ...['1', '-1', '"1"', '"-9223372036854775808"', '9223372036854775807', '"0123456789012345678"'],
      ...['1.0', '1e5', '-9007199254740993.0'],
    ],
    bad: [
      ...['12345678901234567890', '1e30', '"1.0"', '"1.5"', '1.5'],
      '""',
      '"-"',
      '"1e5"',
      'true',
      '[1]',
      '"x1"',
      '"1x"',
      '{}',
    ],
  },
  decimal: {
    must: 'must be a decimal number',
    good: ['1', '1.50', '"1.50"', '".5"', '"5."', '"-12.34"', '"1e5"', '"1.5E-10"', '"1e+9999"', '1e5', '-0'],
    bad: [
      '"abc"',
      '"1.2.3"',
      '" 1"',
      '"1 "',
      '"--1"',
      '"1e"',
      '"1e99999"',
      '"."',
      '""',
      '"x1"',
      'true',
      '["1"]',
      '{}',
    ],
  },
  date: {
    must: 'must be a date that exists, such as 2026-11-20',
    good: ['"2026-01-01"', '"2026-12-31"', '"2026-09-30"', '"2026-10-29"', '"0001-11-09"', '"2026-07-19"'],
    bad: [
      ...['"2026-00-01"', '"2026-13-01"', '"2026-20-01"', '"2026-01-00"', '"2026-01-32"', '"2026-01-40"'],
      ...[
        '"26-01-01"',
        '"2026-1-01"',
        '"2026-01-1"',
        '"x2026-01-01"',
        '"2026-01-01x"',
        '20260101',
        '["2026-01-01"]',
      ],
    ],
  },
  timestamp: {
    must: 'must be a timestamp that exists, in the years 1 to 9999, such as 2026-11-20T13:04:05.123Z',
    good: [
      ...['"2026-11-20"', '"2026-11-20T13:04"', '"2026-11-20 13:04:05"', '"2026-11-20T13:04:05.123Z"'],
      ...['"2026-11-20T13:04:05.123456789+01:00"', '"2026-11-20T13:04-0130"', '"2026-11-20 13:04:05+02"'],
    ],
    bad: [
      ...[
        '"2026-11-20T"',
        '"2026-11-20T13"',
        '"2026-11-20Z"',
        '"2026-11-20T13:04:05."',
        '"26-11-20"',
        '"2026-1-20"',
      ],
      ...[
        '"2026-11-20T13:04:05.1234567890"',
        '"2026-11-20T1:04"',
        '"2026-11-20T13:4"',
        '"2026-11-20T13:04:5"',
      ],
      ...[
        '"2026-11-20x13:04"',
        '"2026-11-20T13:04ZZ"',
        '"2026-11-20T13:04+1"',
        '"2026-11-20T13:04+01:0"',
        '1',
      ],
      ...['"x2026-11-20"', '"2026-11-2"', '"2026-11-20T13:04+01:00x"', '["2026-11-20"]'],
    ],
  },
  uuid: {
    must: 'must be a UUID',
    good: ['"0e37df36-f698-11e6-8dd4-cb9ced3df976"', '"0E37DF36-F698-11E6-8DD4-CB9CED3DF976"'],
    bad: [
      ...['"0e37df36-f698-11e6-8dd4-cb9ced3df97"', '"0e37df36-f698-11e6-8dd4-cb9ced3df9760"', '1', '""'],
      ...['"0e37df36f69811e68dd4cb9ced3df976"', '"ge37df36-f698-11e6-8dd4-cb9ced3df976"'],
      ...['"0e37df36-f698-11e6-cb9ced3df976"', '"0e37df3-f698-11e6-8dd4-cb9ced3df976"'],
      ...['"x0e37df36-f698-11e6-8dd4-cb9ced3df976"', '["0e37df36-f698-11e6-8dd4-cb9ced3df976"]'],
    ],
  },
};

describe.each(Object.entries(types))('a %s', (type, { must, good, bad }) => {
  it.each(good)('is %s', (json) => expect(take(json, { type })).toEqual({ value: parseValue(json) }));
  it.each([...bad, '{"toString":1,"valueOf":1}', '[{"toString":1,"valueOf":1}]'])('is not %s', (json) =>
    expect(take(json, { type })).toEqual({ fault: must }),
  );

  it('may be null, unless it is required', () => {
    expect(take('null', { type })).toEqual({ value: null });
    expect(take('null', { type, required: false })).toEqual({ value: null });
    expect(take('null', { type, required: true })).toEqual({ fault: 'must not be null' });
  });

  it('may come in an array', () => {
    const array = `[${[...good, 'null'].join(',')}]`;
    expect(take(array, { type: `${type}[]` })).toEqual({ value: parseValue(array) });
    expect(take('[]', { type: `${type}[]` })).toEqual({ value: [] });
    expect(take(`[${good[0]},${bad[0]}]`, { type: `${type}[]` })).toEqual({
      fault: `must be an array of ${type}; element 1 is not`,
    });
    expect(take(`[${bad[0]}]`, { type: `${type}[]` })).toEqual({
      fault: `must be an array of ${type}; element 0 is not`,
    });
    for (const json of [good[0] as string, '{}']) {
      expect(take(json, { type: `${type}[]` })).toEqual({ fault: `must be an array of ${type}` });
    }
  });
});

describe('a value', () => {
  it.each(['1', '"a"', 'true', '[1,"a",{}]', '{"a":[1.10]}'])('%s may be JSON, or undeclared', (json) => {
    for (const type of ['json', undefined]) {
      expect(take(json, { type })).toEqual({ value: parseValue(json) });
    }
  });

  it('that is missing is null only if that is declared', () => {
    expect(take(undefined)).toEqual({ fault: 'is missing' });
    expect(take(undefined, { required: true })).toEqual({ fault: 'is missing' });
    expect(take(undefined, { required: false })).toEqual({ value: null });
    expect(take(undefined, { valueJson: '1.10', required: false })).toEqual({ value: exact('1.10') });
    expect(take(undefined, { valueJson: '0' })).toEqual({ value: 0 });
    expect(take(undefined, { valueJson: 'null' })).toEqual({ value: null });
    expect(take(undefined, { valueJson: 'null', required: true })).toEqual({ fault: 'must not be null' });
    expect(take('2', { valueJson: '1' })).toEqual({ value: 2 });
    expect(take(undefined, { valueJson: '"a"', type: 'integer' })).toMatchObject({
      fault: types.integer?.must,
    });
    const declaration = declare('x', undefined);
    expect(resolveValues([declaration], { pinnedJson: '{"x":1}', contextJson: '' })).toEqual([1]);
    expect(() => resolveValues([declaration], { pinnedJson: '', contextJson: '' })).toThrow('is missing');
  });

  it.each([
    ['bigint', '["9007199254740993",7]', ['"9007199254740993"', '9007199254740993', '"007"'], ['8', '"-7"']],
    ['bigint', '[1,2]', ['1', '"1"', '"02"'], ['3', '"12"']],
    ['number', '[1e-7,1.0,2]', ['1', '1.0', '1e0', '0.0000001', '2.00'], ['1.1', '-1', '20']],
    ['decimal', '[1.5,2,"-0.0"]', ['"1.5"', '1.50', '2.0', '"2."', '"15e-1"', '0'], ['"1.51"', '"-2"']],
    ['integer', '[1,2,"3"]', ['1.0', '2', '1e0'], ['3', '-1']],
    [
      'uuid',
      '["0E37DF36-f698-11e6-8dd4-cb9ced3df976"]',
      ['"0e37df36-F698-11e6-8dd4-cb9ced3df976"'],
      ['"1e37df36-f698-11e6-8dd4-cb9ced3df976"'],
    ],
    [
      'timestamp',
      '["2026-01-02T03:04:05Z","2026-01-02"]',
      ['"2026-01-02 03:04:05"', '"2026-01-02T04:04:05.00+01:00"', '"2026-01-02T00:00"'],
      ['"2026-01-02T03:04:05.1Z"', '"2026-01-02T03:04:05-01"'],
    ],
    ['json', '[{"a":1,"b":[1.0]},"1"]', ['{"b":[1],"a":1.0}', '"1"'], ['{"a":1}', '1', '"1.0"']],
    ['string', '["a","1.0"]', ['"a"', '"1.0"'], ['"A"', '"1"']],
    ['boolean', '[true]', ['true'], ['false']],
    ['date', '["2026-01-02"]', ['"2026-01-02"'], ['"2026-01-03"']],
  ])('of type %s is allowed by its value: %s', (type, enumJson, good, bad) => {
    const fault = 'must be one of the values that the query allows';
    for (const json of good) {
      expect(take(json, { type, enumJson }), json).toEqual({ value: parseValue(json) });
      expect(take(`[${json}]`, { type: `${type}[]`, enumJson }), json).toEqual({
        value: parseValue(`[${json}]`),
      });
    }
    for (const json of bad) {
      expect(take(json, { type, enumJson }), json).toEqual({ fault });
      expect(take(`[${good[0]},${json}]`, { type: `${type}[]`, enumJson }), json).toEqual({ fault });
    }
  });

  it('of type json is a whole document, also if that is a list', () => {
    const variable = { type: 'json', enumJson: '[{"a":1},[1]]' };
    expect(take('[1]', variable)).toEqual({ value: [1] });
    for (const json of ['[]', '[{"a":1}]', '[[1]]']) expect(take(json, variable)).toHaveProperty('fault');
  });

  it('without a type is one of those that are allowed, digit by digit', () => {
    const variable = { enumJson: '["a",1.10,null,{"b":1}]' };
    for (const json of ['"a"', '1.10', 'null', '{"b":1}', '["a",1.10]', '[]']) {
      expect(take(json, variable)).toEqual({ value: parseValue(json) });
    }
    for (const json of ['"b"', '1.1', '{"b":2}', '["a","b"]', '"1.10"']) {
      expect(take(json, variable)).toEqual({ fault: 'must be one of the values that the query allows' });
    }
  });

  it('has a bound if it is an array', () => {
    const array = (length: number) => JSON.stringify(Array(length).fill(1));
    expect(listElementsMax).toBe(10_000);
    expect(take(array(10_000))).toMatchObject({ value: expect.any(Array) });
    expect(take(array(10_001))).toEqual({ fault: 'must have at most 10000 elements' });
  });

  it('holds no NUL, alone or in an array', () => {
    const fault = 'must not contain a NUL character';
    for (const json of ['"a\\u0000"', '["a","\\u0000"]']) expect(take(json)).toEqual({ fault });
    expect(take('["a",1,null]')).toMatchObject({ value: ['a', 1, null] });
  });

  it('comes from the key before the call, and all faults are reported at once', () => {
    const declarations = ['a', 'b', 'c'].map((key) => declare(key, { key, type: 'integer' }));
    const resolve = (pinnedJson: string, contextJson: string) =>
      resolveValues(declarations, { pinnedJson, contextJson });
    expect(resolve('{"a":1,"b":2}', '{"a":9,"c":3}')).toEqual([1, 2, 3]);
    expect(() => resolve('{"a":1,"b":2}', '')).toThrow(
      expect.objectContaining({
        code: 'CONTEXT_INVALID',
        message: 'context.c is missing.',
        errors: [{ path: ['context', 'c'], detail: 'is missing' }],
        stage: 'prepare',
        retryable: false,
      }),
    );
    expect(() => resolve('', '{"a":"x"}')).toThrow(
      `context.a ${types.integer?.must}; "errors" lists 2 more faults.`,
    );
  });

  it.each(['{"a":', 'null', '[1]', '"a"', '1', '{"a":1}}'])('is a member of an object, not of %s', (text) => {
    for (const given of [
      { pinnedJson: '', contextJson: text },
      { pinnedJson: text, contextJson: '' },
    ]) {
      expect(() => resolveValues([declare('a', undefined)], given)).toThrow(
        expect.objectContaining({ code: 'CONTEXT_INVALID', message: 'context must be a JSON object.' }),
      );
    }
  });
});

describe('names that are no variables', () => {
  const declarations = [declare('x', undefined)];
  const unknownIn = (context: object) => {
    const unknown: string[][] = [];
    const contextJson = JSON.stringify({ x: 1, ...context });
    resolveValues(declarations, { pinnedJson: '', contextJson, onUnknown: (names) => unknown.push(names) });
    return unknown;
  };
  const faultsOf = (context: object, known?: Set<string>) => {
    const contextJson = JSON.stringify({ x: 1, ...context });
    try {
      resolveValues(declarations, { pinnedJson: '', contextJson, strict: true }, known);
      return [];
    } catch (err) {
      return (err as { errors: object[] }).errors;
    }
  };

  it('are told', () => {
    expect(unknownIn({})).toEqual([]);
    expect(unknownIn({ y: 1, z: 2 })).toEqual([['y', 'z']]);
  });

  it('are refused by strict keys, with at most 200 faults and 100 characters each', () => {
    expect(faultsOf({})).toEqual([]);
    expect(faultsOf({ y: 1 }, new Set(['x', 'y']))).toEqual([]);
    const detail = 'is not a variable of this query';
    expect(faultsOf({ y: 1 })).toEqual([{ path: ['context', 'y'], detail }]);
    expect(faultsOf({ ['y'.repeat(101)]: 1 })).toEqual([{ path: ['context', 'y'.repeat(100)], detail }]);
    expect(faultsOf(Object.fromEntries(Array.from({ length: 210 }, (_, i) => [`y${i}`, 1])))).toHaveLength(
      200,
    );
  });

  it('do not hide a fault of a variable', () => {
    expect(() =>
      resolveValues(declarations, { pinnedJson: '', contextJson: '{"y":1}', strict: true }),
    ).toThrow(
      expect.objectContaining({
        errors: [
          { path: ['context', 'x'], detail: 'is missing' },
          { path: ['context', 'y'], detail: 'is not a variable of this query' },
        ],
      }),
    );
  });
});

it('a single pinned value is a list of one if the variable is a list', () => {
  const pinnedAs = (pinned: string, type: string | undefined, scalarsAsLists = ['x']) =>
    resolveValues([declare('x', { key: 'x', type } as Variable)], {
      pinnedJson: `{"x":${pinned}}`,
      contextJson: '',
      scalarsAsLists,
    })[0];
  expect(pinnedAs('1', 'integer[]')).toEqual([1]);
  expect(pinnedAs('[1,2]', 'integer[]')).toEqual([1, 2]);
  expect(pinnedAs('null', 'integer[]')).toBeNull();
  for (const type of ['integer', undefined]) expect(pinnedAs('1', type)).toBe(1);
  expect(() => pinnedAs('1', 'integer[]', [])).toThrow('must be an array of integer');
  const missing = { pinnedJson: '', contextJson: '', scalarsAsLists: ['x'] };
  expect(() => resolveValues([declare('x', { key: 'x', type: 'integer[]' } as Variable)], missing)).toThrow(
    'is missing',
  );
});

it('a default that every execution would reject is a fault, and none or null is not', () => {
  const faultOf = (valueJson: string | undefined) =>
    faultOfDefault({ key: 'x', type: 'integer', enumJson: '[1,2]', valueJson } as Variable);
  for (const good of [undefined, 'null', '1']) expect(faultOf(good)).toBeUndefined();
  expect(faultOf('"a"')).toContain('must be a whole number');
  expect(faultOf('3')).toBe('must be one of the values that the query allows');
});

it('at most 200 faults are listed', () => {
  const declarations = Array.from({ length: 210 }, (_, i) => declare(`x${i}`, undefined));
  const errors = Array.from({ length: 200 }, (_, i) => ({
    path: ['context', `x${i}`],
    detail: 'is missing',
  }));
  expect(() => resolveValues(declarations, { pinnedJson: '', contextJson: '' })).toThrow(
    expect.objectContaining({ errors }),
  );
});
