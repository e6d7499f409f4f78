import { describe, expect, it } from 'vitest';
import { toNames } from '../../../src/resources/documents/hub-document.ts';

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
    ['売上・月次', '売上月次'],
    ['売上･月次', '売上月次'],
    ['a\u200db\u200cc', 'aBC'],
    ['!?', 'query'],
    ['', 'query'],
  ])('turn %j into %s', (label, name) => expect(toNames([{ label }])).toEqual([name]));

  it('are all different', () => {
    const labels = ['a', 'A', 'a 2', 'a2', 'a'].map((label) => ({ label }));
    expect(toNames(labels)).toEqual(['a', 'a2', 'a22', 'a23', 'a3']);
  });

  it('come from paths first, so that labels and the order do not change them', () => {
    const [one, two] = [
      { label: 'x', path: 'reports/by-region' },
      { label: 'y', path: 'reports/by_day' },
    ];
    expect(toNames([{ label: 'Reports by region' }, two, one])).toEqual([
      'reportsByRegion2',
      'reportsBy_day',
      'reportsByRegion',
    ]);
    expect(toNames([one, { ...two, label: 'renamed' }])).toEqual(['reportsByRegion', 'reportsBy_day']);
  });
});
