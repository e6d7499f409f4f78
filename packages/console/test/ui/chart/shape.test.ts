import { describe, expect, it } from 'vitest';
import type { Aggregate } from '../../../src/state/rows/decimals.ts';
import { RowStore } from '../../../src/state/rows/row-store.ts';
import { defaultChart, storedChart } from '../../../src/ui/chart/defaults.ts';
import { type Shaped, shape } from '../../../src/ui/chart/shape.ts';
import { bandsOf } from '../../../src/ui/chart/stack.ts';
import { leftOf, notesOf } from '../../../src/ui/chart/words.ts';

function storeOf(columns: Record<string, string>, rows: unknown[][], text = ''): RowStore {
  const names = Object.keys(columns);
  const store = new RowStore(names.map((name) => ({ name, type: columns[name] as string })));
  const line = (row: unknown[]) => JSON.stringify(Object.fromEntries(names.map((name, i) => [name, row[i]])));
  store.add(rows.map(line));
  store.statement = { text, engine: 'postgres' };
  return store;
}

const rows = [
  ['2026-02-01', 'east', 20],
  ['2026-01-01', 'east', 10],
  ['2026-01-01', 'west', '11.50'],
  ['2026-02-01', 'west', null],
];
const columns = { month: 'date', region: 'text', revenue: 'numeric' };
const sales = storeOf(columns, rows, 'SELECT month, region, sum(x) AS revenue FROM t GROUP BY 1, 2');
const averages = storeOf(columns, rows);

describe('a chart of rows', () => {
  it('has one series for each value of the column that splits it, in the order of time', async () => {
    const settings = {
      kind: 'stacked-bars' as const,
      x: 'month',
      y: ['revenue'],
      split: 'region',
      aggregate: 'none' as const,
    };
    expect(await shape(sales, settings)).toMatchObject({
      x: { kind: 'label', labels: ['2026-01', '2026-02'] },
      series: [
        { name: 'east', values: [10, 20], texts: ['10', '20'] },
        { name: 'west', values: [11.5, null], texts: ['11.50', null] },
      ],
      rows: 4,
      repeats: false,
    });
  });

  it('tells a value that is NULL from a series without a row, which adds nothing to areas', async () => {
    const readings = [
      ['2026-01-01', 'east', 10],
      ['2026-01-02', 'west', 5],
      ['2026-01-03', 'east', null],
      ['2026-01-03', 'west', 5],
    ];
    const settings = { kind: 'stacked-areas' as const, x: 'month', y: ['revenue'], split: 'region' };
    const shaped = await shape(storeOf(columns, readings), { ...settings, aggregate: 'none' });
    expect(shaped?.series.map(({ values }) => values)).toEqual([
      [10, undefined, null],
      [undefined, 5, 5],
    ]);
    expect(bandsOf(shaped?.series ?? [], 'stacked-areas').map(({ tops }) => tops)).toEqual([
      [10, 0, null],
      [10, 5, null],
    ]);
    expect(leftOf(shaped as Shaped, { ...settings, aggregate: 'none' })).toEqual([
      '1 value is NULL or no finite number, and not drawn.',
      'At 2 places a series has no row; there its area has no height.',
    ]);
  });

  it('keeps NULL apart from texts that read like it', async () => {
    const some = [
      [null, 1],
      ['null', 4],
      ['"null"', 8],
      [null, 32],
      ['null', 64],
    ];
    const store = storeOf({ k: 'text', v: 'numeric' }, some);
    const along = await shape(store, { kind: 'bars', x: 'k', y: ['v'], aggregate: 'sum' });
    expect(along).toMatchObject({
      x: { labels: ['null', '"null"', '""null""'] },
      series: [{ texts: ['33', '68', '8'] }],
    });
    const split = await shape(store, { kind: 'bars', x: 'v', y: ['v'], split: 'k', aggregate: 'sum' });
    expect(split?.series.map(({ name }) => name)).toEqual(['null', '"null"', '""null""']);
  });

  it('combines rows with the same place as it is told, exactly', async () => {
    const big = [
      ['a', '9007199254740993'],
      ['a', '2'],
      ['b', '0.1'],
      ['b', '0.2'],
      ['b', null],
    ];
    const store = storeOf({ k: 'text', v: 'numeric' }, big);
    const textsOf = async (aggregate: Aggregate) =>
      (await shape(store, { kind: 'bars', x: 'k', y: ['v'], aggregate }))?.series[0]?.texts;
    expect(await textsOf('sum')).toEqual(['9007199254740995', '0.3']);
    expect(await textsOf('mean')).toEqual(['4503599627370497.5', '0.15']);
    expect(await textsOf('min')).toEqual(['2', '0.1']);
    expect(await textsOf('max')).toEqual(['9007199254740993', '0.2']);
    expect(await textsOf('count')).toEqual(['2', '2']);
    expect(await textsOf('last')).toEqual(['2', null]);
    expect(await textsOf('none')).toEqual(['9007199254740993', '2', '0.1', '0.2', null]);
  });

  it('draws each row by itself if nothing says that the values may be added', async () => {
    const shaped = await shape(averages, { kind: 'lines', x: 'month', y: ['revenue'], aggregate: 'none' });
    expect(shaped).toMatchObject({
      x: { kind: 'time', texts: ['2026-01-01', '2026-01-01', '2026-02-01', '2026-02-01'] },
      series: [{ texts: ['10', '11.50', '20', null] }],
      repeats: true,
    });
  });

  it('takes texts such as 2026-01 for time', async () => {
    const store = storeOf({ month: 'text', n: 'int4' }, [
      ['2026-02', 2],
      ['2025-12', 1],
      [null, 3],
    ]);
    const shaped = await shape(store, { kind: 'lines', x: 'month', y: ['n'], aggregate: 'none' });
    expect(shaped).toMatchObject({ x: { kind: 'time', texts: ['2025-12', '2026-02'] }, rowsLeft: 1 });
    expect(defaultChart(store)).toMatchObject({ x: 'month', y: ['n'] });
    const codes = storeOf({ code: 'text', n: 'int4' }, [
      ['2026-13', 2],
      ['2026-02', 1],
    ]);
    expect((await shape(codes, { kind: 'lines', x: 'code', y: ['n'], aggregate: 'none' }))?.x.kind).toBe(
      'label',
    );
  });

  it('draws each row as a point', async () => {
    const store = storeOf({ a: 'int4', b: 'int4' }, [
      [3, 1],
      [1, 2],
      [1, 3],
    ]);
    const shaped = await shape(store, { kind: 'points', x: 'a', y: ['b'], aggregate: 'none' });
    expect(shaped).toMatchObject({
      x: { kind: 'number', values: [1, 1, 3] },
      series: [{ values: [2, 3, 1] }],
    });
  });

  it('says how many labels and series have no room', async () => {
    const rows = Array.from({ length: 1_200 }, (_, i) => [`name ${i}`, `part ${i % 20}`, 1]);
    const store = storeOf({ name: 'text', part: 'text', n: 'int4' }, rows);
    const settings = { kind: 'bars' as const, x: 'name', y: ['n'], split: 'part' };
    const shaped = await shape(store, { ...settings, aggregate: 'sum' });
    expect([shaped?.labelsLeft, shaped?.series.length, shaped?.merged]).toEqual([200, 8, 13]);
    const total = shaped?.series
      .flatMap(({ values }) => values)
      .reduce<number>((sum, n) => sum + (n ?? 0), 0);
    expect(total).toBe(1_000);
    const apart = await shape(store, { ...settings, aggregate: 'none' });
    expect([apart?.series.length, apart?.merged, apart?.seriesLeft]).toEqual([8, 0, 12]);
    expect(leftOf(apart as Shaped, { ...settings, aggregate: 'none' })).toEqual([
      'The first 1,000 values of name are drawn; 200 more have no room.',
      '12 series of part have no room and are not drawn.',
    ]);
  });

  it('keeps the sum of any number of series, one of which has the name of the rest', async () => {
    const rows = Array.from({ length: 700 }, (_, i) => [
      i === 3 ? 'all others' : `part ${i}`,
      i === 3 ? 50 : 1,
    ]);
    const store = storeOf({ part: 'text', n: 'int4' }, rows);
    const settings = { kind: 'stacked-bars' as const, x: '', y: ['n'], split: 'part' };
    const shaped = await shape(storeOf({ part: 'text', n: 'int4' }, rows), {
      ...settings,
      aggregate: 'sum',
      kind: 'stacked-bars',
    });
    const total = shaped?.series
      .flatMap(({ values }) => values)
      .reduce<number>((sum, n) => sum + (n ?? 0), 0);
    expect([shaped?.series.length, shaped?.merged, total]).toEqual([8, 693, 749]);
    const apart = await shape(store, { ...settings, aggregate: 'none' });
    expect([apart?.series.length, apart?.seriesLeft, apart?.hasSum]).toEqual([8, 692, false]);
  });

  it('combines numbers that are equal', async () => {
    const store = storeOf({ x: 'numeric', v: 'int4' }, [
      ['1.0', 1],
      [1, 2],
      ['1.00', 4],
      ['0.0', 8],
      [0, 16],
      ['100', 32],
      ['1.05', 64],
    ]);
    const shaped = await shape(store, { kind: 'bars', x: 'x', y: ['v'], aggregate: 'sum' });
    expect(shaped?.series[0]?.texts).toEqual(['24', '7', '64', '32']);
  });

  it('says which values have no place', async () => {
    const values = [1, null, 'NaN', 'Infinity', 5];
    const store = storeOf(
      { k: 'text', v: 'float8' },
      values.map((value, i) => [`k${i}`, value]),
    );
    const settings = { kind: 'bars' as const, x: 'k', y: ['v'], aggregate: 'none' as const };
    const shaped = (await shape(store, settings)) as Shaped;
    expect(notesOf(shaped, { settings, truncated: false, filter: '' })).toEqual([
      '3 values are NULL or no finite number, and not drawn.',
    ]);
    const counted = { ...settings, aggregate: 'count' as const };
    const notes = notesOf((await shape(store, counted)) as Shaped, {
      settings: counted,
      truncated: false,
      filter: '',
    });
    expect(notes).toEqual(['All 5 rows are drawn.']);
  });
});

describe('the usual chart', () => {
  it('splits by a column with few values, if the places repeat', () => {
    expect(defaultChart(sales)).toEqual({
      kind: 'stacked-bars',
      x: 'month',
      y: ['revenue'],
      split: 'region',
      aggregate: 'sum',
    });
  });

  it('adds nothing that may not be added, and draws the first measure behind the axis', () => {
    expect(defaultChart(averages)).toMatchObject({ kind: 'lines', split: 'region', aggregate: 'none' });
    const store = storeOf({ month: 'date', revenue: 'numeric', orders: 'bigint' }, [
      ['2026-01-01', 1, 2],
      ['2026-02-01', 3, 4],
    ]);
    expect(defaultChart(store)).toMatchObject({ y: ['revenue'] });
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
    const stored = { kind: 'areas', x: 'month', y: ['revenue'], aggregate: 'mean', unit: '€' };
    expect(storedChart(stored, sales)).toEqual({ settings: { ...stored, split: undefined } });
    const older = { kind: 'areas', x: 'month', y: ['revenue'] };
    expect(storedChart(older, sales)).toMatchObject({ settings: { aggregate: 'sum', unit: undefined } });
    expect(storedChart(older, averages)).toMatchObject({ settings: { aggregate: 'none' } });
    expect(storedChart({ ...older, aggregate: 'product', unit: 5 }, averages)).toMatchObject({
      settings: { aggregate: 'none', unit: undefined },
    });
    expect(storedChart({ ...stored, y: ['gone'] }, sales)).toEqual({ missing: 'gone' });
    expect(storedChart({ ...stored, kind: 'pie' }, sales)).toBeUndefined();
    expect(storedChart(undefined, sales)).toBeUndefined();
  });
});
