import { describe, expect, it } from 'vitest';
import { RowStore } from '../../../src/state/rows/row-store.ts';
import { defaultChart, storedChart } from '../../../src/ui/chart/defaults.ts';
import { shape } from '../../../src/ui/chart/shape.ts';

function storeOf(columns: Record<string, string>, rows: unknown[][]): RowStore {
  const names = Object.keys(columns);
  const store = new RowStore(names.map((name) => ({ name, type: columns[name] as string })));
  const line = (row: unknown[]) => JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i]])));
  store.add(rows.map(line));
  return store;
}

const sales = storeOf({ month: 'date', region: 'text', revenue: 'numeric' }, [
  ['2026-02-01', 'east', 20],
  ['2026-01-01', 'east', 10],
  ['2026-01-01', 'west', '11.5'],
  ['2026-02-01', 'west', null],
]);

describe('a chart of rows', () => {
  it('has one series for each value of the column that splits it, in the order of time', async () => {
    const settings = { kind: 'stacked-bars' as const, x: 'month', y: ['revenue'], split: 'region' };
    expect(await shape(sales, settings)).toMatchObject({
      x: { kind: 'label', labels: ['2026-01', '2026-02'] },
      series: [
        { name: 'east', values: [10, 20] },
        { name: 'west', values: [11.5, null] },
      ],
      rows: 4,
      isSum: false,
    });
  });

  it('adds rows with the same place, and says so', async () => {
    const shaped = await shape(sales, { kind: 'lines', x: 'month', y: ['revenue'] });
    expect(shaped).toMatchObject({ x: { kind: 'time' }, series: [{ values: [21.5, 20] }], isSum: true });
  });

  it('draws each row as a point', async () => {
    const store = storeOf({ a: 'int4', b: 'int4' }, [
      [3, 1],
      [1, 2],
      [1, 3],
    ]);
    const shaped = await shape(store, { kind: 'points', x: 'a', y: ['b'] });
    expect(shaped).toMatchObject({
      x: { kind: 'number', values: [1, 1, 3] },
      series: [{ values: [2, 3, 1] }],
    });
  });

  it('says how many labels and series have no room', async () => {
    const rows = Array.from({ length: 1_200 }, (_, i) => [`name ${i}`, `part ${i % 20}`, 1]);
    const store = storeOf({ name: 'text', part: 'text', n: 'int4' }, rows);
    const shaped = await shape(store, { kind: 'bars', x: 'name', y: ['n'], split: 'part' });
    expect([shaped?.labelsLeft, shaped?.series.length, shaped?.merged]).toEqual([200, 8, 13]);
    const total = shaped?.series
      .flatMap(({ values }) => values)
      .reduce<number>((sum, n) => sum + (n ?? 0), 0);
    expect(total).toBe(1_000);
  });
});

describe('the usual chart', () => {
  it('splits by a column with few values, if the places repeat', () => {
    expect(defaultChart(sales)).toEqual({
      kind: 'stacked-bars',
      x: 'month',
      y: ['revenue'],
      split: 'region',
    });
  });

  it.each([
    ['one row', { orders: 'bigint' }, [[5]], { kind: 'number', y: ['orders'] }],
    [
      'names',
      { id: 'int4', name: 'text', n: 'int4' },
      [
        [1, 'a', 2],
        [2, 'b', 3],
      ],
      { kind: 'bars', x: 'name', y: ['n'] },
    ],
    [
      'rising numbers',
      { x: 'int4', y: 'int4' },
      [
        [1, 2],
        [2, 1],
      ],
      { kind: 'lines', x: 'x', y: ['y'] },
    ],
    [
      'numbers in any order',
      { x: 'int4', y: 'int4' },
      [
        [2, 2],
        [1, 1],
      ],
      { kind: 'points', x: 'x', y: ['y'] },
    ],
  ])('of %s', (_, columns, rows, expected) => {
    expect(defaultChart(storeOf(columns as never, rows))).toMatchObject(expected);
  });

  it('of many days is a line, and of texts none', () => {
    const days = Array.from({ length: 90 }, (_, i) => [new Date(i * 86_400_000).toISOString(), i]);
    expect(defaultChart(storeOf({ at: 'timestamptz', n: 'int4' }, days))).toMatchObject({
      kind: 'lines',
      x: 'at',
    });
    expect(defaultChart(storeOf({ name: 'text' }, [['a'], ['b']]))).toBeUndefined();
  });

  it('gives way to the stored one, as long as the rows have its columns', () => {
    const stored = { kind: 'areas', x: 'month', y: ['revenue'] };
    expect(storedChart(stored, sales)).toEqual({ ...stored, split: undefined });
    expect(storedChart({ ...stored, y: ['gone'] }, sales)).toBeUndefined();
    expect(storedChart({ ...stored, kind: 'pie' }, sales)).toBeUndefined();
    expect(storedChart(undefined, sales)).toBeUndefined();
  });
});
