import { describe, expect, it } from 'vitest';
import { toNames } from '../../../src/routes/documents/names.ts';

describe('names of queries', () => {
  it.each([
    ['By region', 'byRegion'],
    ['orders_by-day (EU)', 'orders_byDayEu'],
    ['SELECT', 'select'],
    ['2 largest', 'query2Largest'],
    ['Größe 大きさ', 'größe大きさ'],
    ['delete', 'deleteQuery'],
    ['lambda', 'lambdaQuery'],
    ['__proto__', 'query__proto__'],
    ['*/ alert(1) /*', 'alert1'],
    ['!?', 'query'],
    ['', 'query'],
  ])('turn %j into %s', (label, name) => expect(toNames([label])).toEqual([name]));

  it('are all different', () => {
    expect(toNames(['a', 'A', 'a 2', 'a2', 'a'])).toEqual(['a', 'a2', 'a22', 'a23', 'a3']);
  });
});
