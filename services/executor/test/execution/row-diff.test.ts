import { setImmediate as nextIteration } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectLinear } from '../../../../tests/support/growth.ts';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import { compareRows, diffQueries } from '../../src/execution/row-diff.ts';

const compare = (before: string[], after: string[], decimals: string[] = []) =>
  compareRows({ before, after, decimals: new Set(decimals), pause: () => undefined });
const countsOf = async (before: string[], after: string[]) => {
  const { samples: _, ...counts } = await compare(before, after);
  return counts;
};

describe('compareRows', () => {
  it.each([
    ['1', '1.0'],
    ['100', '1e2'],
    ['-0', '0.00'],
    ['0.10', '1E-1'],
    ['1e500', '10.0e499'],
    ['[1.0,{"a":2.50}]', '[1,{"a":2.5}]'],
    ['{"a":1,"b":[1,2]}', '{"b": [1, 2], "a": 1}'],
    ['{"a":{"c":1,"b":{}},"":[]}', '{ "": [\t], "a": {"b": { }, "c": 1.0} }'],
    ['{"\\u0061":"\\u0041\\/\\u00e9"}', '{"a":"A/é"}'],
  ])('takes %s and %s for the same', async (one, other) => {
    expect(await countsOf([`{"a":${one}}`], [`{"a":${other}}`])).toMatchObject({ unchanged: 1, changed: 0 });
  });

  it.each([
    ['1', '10'],
    ['1', '-1'],
    ['1', '"1"'],
    ['"1"', '"1.0"'],
    ['"a\\"1.0"', '"a\\"1"'],
    ['"\\\\u0041"', '"A"'],
    ['9007199254740992', '9007199254740993'],
    ['[1,2]', '[2,1]'],
    ['[1,[2]]', '[1,2]'],
    ['{"a":1}', '{"a":1,"b":null}'],
    ['{"a":{"b":1},"c":1}', '{"a":{"b":1,"c":1}}'],
    ['{"a":1,"a":2}', '{"a":2,"a":1}'],
    ['"a b"', '"ab"'],
    ['1e5000000000000000', '1e50000000000000000'],
  ])('tells %s and %s apart', async (one, other) => {
    expect(await countsOf([`{"a":${one}}`], [`{"a":${other}}`])).toMatchObject({ unchanged: 0 });
  });

  it('keeps the order of columns', async () => {
    expect(await countsOf(['{"a":1,"b":2}'], ['{"b":2,"a":1}'])).toMatchObject({ added: 1, removed: 1 });
  });

  it('compares objects of many members', async () => {
    const members = Array.from({ length: 3_000 }, (_, i) => `"${(i * 7_919) % 3_000}":${i}`);
    const rowOf = (all: string[]) => [`{"a":{${all.join(', ')}}}`];
    expect(await countsOf(rowOf(members), rowOf(members.toReversed()))).toMatchObject({ unchanged: 1 });
    expect(await countsOf(rowOf(members), rowOf(members.slice(1)))).toMatchObject({ unchanged: 0 });
  });

  it('compares decimals that are strings because they are long', async () => {
    const rows = (digits: string) => [`{"a":"${digits}","list":["${digits}"],"text":"1.0"}`];
    const [one, other] = [rows('12345678901234567890.10'), rows('12345678901234567890.1')];
    expect(await compare(one, other, ['a', 'list'])).toMatchObject({ unchanged: 1 });
    expect(await compare(one, other, ['a', 'text'])).toMatchObject({ unchanged: 0 });
  });

  it('counts rows that occur several times, however their numbers are written', async () => {
    const rows = (values: string[]) => values.map((value) => `{"n":${value}}`);
    expect(await countsOf(rows(['1', '1.0', '1.00', '2']), rows(['1.000', '1', '3', '3']))).toEqual({
      added: 2,
      removed: 2,
      changed: 0,
      unchanged: 2,
    });
  });

  it.each([
    ['1', '1.0'],
    ['"A"', '"\\u0041"'],
  ])('pairs rows by their first member, even if it is written %s and %s', async (one, other) => {
    const [before, after] = [[`{"id":${one},"a":"x"}`], [`{"id":${other},"a":"y"}`]];
    expect(await countsOf(before, after)).toMatchObject({ changed: 1, added: 0 });
  });

  it.each(['null', '{}', '[1]'])('pairs no rows whose first member is %s', async (value) => {
    const counts = await countsOf([`{"id":${value},"a":"x"}`], [`{"id":${value},"a":"y"}`]);
    expect(counts).toMatchObject({ changed: 0, added: 1, removed: 1 });
  });

  const deep = (bracket: string, size: number) => bracket.repeat(Math.ceil(size / 10));
  const rowsOf: [string, (size: number, last: number) => string][] = [
    ['zeros', (size, last) => `0.${'0'.repeat(size)}${last}`],
    ['zeros, as a string', (size, last) => `"0.${'0'.repeat(size)}${last}"`],
    ['backslashes', (size, last) => `"${'\\\\'.repeat(size)}${last}"`],
    ['blanks', (size, last) => `[${' '.repeat(size)}${last}]`],
    ['brackets', (size, last) => `[${`${deep('[', size)}${deep(']', size)},`.repeat(8)}${last}]`],
    ['objects', (size, last) => `[${`${deep('{"a":', size)}1${deep('}', size)},`.repeat(8)}${last}]`],
    [
      'members',
      (size, last) => `{${Array.from({ length: size }, (_, i) => `"${size - i}":${last}`).join()}}`,
    ],
  ];

  it.each(rowsOf)('costs time that grows with the length alone, for a row of %s', async (_name, value) => {
    const work = (size: number) => compare([`{"d":${value(size, 1)}}`], [`{"d":${value(size, 2)}}`], ['d']);
    expect(await work(100)).toMatchObject({ unchanged: 0 });
    await expectLinear(work, 160_000);
  });

  it('refuses values in more levels than it has memory for', async () => {
    const row = (last: number) => [`{"a":${'['.repeat(100_000)}${last}${']'.repeat(100_000)}}`];
    await expect(compare(row(1), row(2))).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED' });
    expect(await compare(row(1), row(1))).toMatchObject({ unchanged: 1 });
  });

  it('pauses between rows and inside of them, and ends with the call', async () => {
    const rows = (last: number) => Array.from({ length: 1_000 }, (_, i) => `{"id":${i},"last":${last}}`);
    const wide = (last: number) => [`{"a":{${Array.from({ length: 10_000 }, (_, i) => `"${-i}":${last}`)}}}`];
    for (const rowsFor of [rows, wide]) {
      let pauses = 0;
      const pause = () => nextIteration().then(() => void pauses++);
      await compareRows({ before: rowsFor(1), after: rowsFor(2), pause });
      expect(pauses).toBeGreaterThan(1_000);
      const left = new Error('The caller left.');
      const stop = () => (--pauses < 500 ? Promise.reject(left) : undefined);
      await expect(compareRows({ before: rowsFor(1), after: rowsFor(2), pause: stop })).rejects.toBe(left);
    }
  });
});

it('refuses to compare rows of different sessions, which one snapshot cannot have', async () => {
  const define = (tenant: string) =>
    ({
      queryId: 'q',
      versionNumber: 1,
      text: 'select 1',
      command: 'SELECT',
      variables: [],
      sessionJson: JSON.stringify({ settings: { 'app.tenant': { value: tenant } } }),
      source: { engine: 'postgres', sourceId: 's' },
    }) as unknown as QueryDefinition;
  const diff = (one: string, other: string) =>
    diffQueries([define(one), define(other)], {
      valuesJson: '{}',
      compile: compileQuery,
      withConnection: () => Promise.reject(new Error('compares')),
    } as unknown as Parameters<typeof diffQueries>[1]);
  await expect(diff('a', 'a')).rejects.toThrow('compares');
  await expect(diff('a', 'b')).rejects.toMatchObject({ code: 'OPTION_REFUSED' });
});
