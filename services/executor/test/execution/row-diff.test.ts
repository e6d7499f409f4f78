import { describe, expect, it } from 'vitest';
import { compareRows } from '../../src/execution/row-diff.ts';

const countsOf = (before: string[], after: string[]) => {
  const { samples: _, ...counts } = compareRows(before, after);
  return counts;
};

describe('compareRows', () => {
  it.each([
    ['1', '1.0'],
    ['100', '1e2'],
    ['-0', '0.00'],
    ['0.10', '1E-1'],
    ['[1.0,{"a":2.50}]', '[1,{"a":2.5}]'],
  ])('takes %s and %s for the same', (one, other) => {
    expect(countsOf([`{"a":${one}}`], [`{"a":${other}}`])).toMatchObject({ unchanged: 1, changed: 0 });
  });

  it.each([
    ['1', '10'],
    ['1', '-1'],
    ['1', '"1"'],
    ['"1"', '"1.0"'],
    ['"a\\"1.0"', '"a\\"1"'],
    ['9007199254740992', '9007199254740993'],
  ])('tells %s and %s apart', (one, other) => {
    expect(countsOf([`{"a":${one}}`], [`{"a":${other}}`])).toMatchObject({ unchanged: 0 });
  });

  it('compares decimals that are strings because they are long', () => {
    const rows = (digits: string) => [`{"a":"${digits}","list":["${digits}"],"text":"1.0"}`];
    const [one, other] = [rows('12345678901234567890.10'), rows('12345678901234567890.1')];
    expect(compareRows(one, other, new Set(['a', 'list']))).toMatchObject({ unchanged: 1 });
    expect(compareRows(one, other, new Set(['a', 'text']))).toMatchObject({ unchanged: 0 });
  });

  it('counts rows that occur several times, however their numbers are written', () => {
    const rows = (values: string[]) => values.map((value) => `{"n":${value}}`);
    expect(countsOf(rows(['1', '1.0', '1.00', '2']), rows(['1.000', '1', '3', '3']))).toEqual({
      added: 2,
      removed: 2,
      changed: 0,
      unchanged: 2,
    });
  });

  it('pairs rows by their first member, however its number is written', () => {
    expect(countsOf(['{"id":1,"a":"x"}'], ['{"id":1.0,"a":"y"}'])).toMatchObject({ changed: 1, added: 0 });
  });
});
