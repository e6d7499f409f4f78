import { expect, it } from 'vitest';
import { RowStore } from '../../../src/state/rows/row-store.ts';
import { widthMin } from '../../../src/ui/grid/grid-cells.ts';
import { ColumnWidths } from '../../../src/ui/grid/grid-widths.ts';

const { columns } = new RowStore([
  { name: 'note', type: 'text' },
  { name: 'total', type: 'numeric' },
]);

it('lets a person set the width of a column, but not cut a number', () => {
  const widths = new ColumnWidths(56);
  widths.measure([200, 120], columns);
  expect([widths.lefts, widths.total]).toEqual([[56, 256], 376]);
  widths.resize(columns[0], 0, 10);
  widths.resize(columns[1], 1, 10);
  expect(widths.widths).toEqual([widthMin, 120]);
  widths.resize(columns[1], 1, 300);
  widths.widen(1, 180);
  expect(widths.widths).toEqual([widthMin, 300]);
  // Rows that arrive later keep what the person set.
  widths.measure([500, 400], columns);
  expect(widths.widths).toEqual([widthMin, 400]);
  widths.resize(columns[0], 0, undefined);
  expect(widths.widths).toEqual([500, 400]);
});
