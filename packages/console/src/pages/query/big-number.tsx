/** Numbers of the last row, to be read from afar. */

import type { RowStore } from '../../state/rows/row-store.ts';
import { grouped, textOf } from '../../state/rows/scan.ts';
import type { ChartSettings } from '../../ui/chart/shape.ts';
import { counted } from '../../ui/format.ts';

export function BigNumber({
  store,
  settings,
}: {
  store: Pick<RowStore, 'columns' | 'length' | 'cells'>;
  settings: ChartSettings;
}) {
  const cells = store.length === 0 ? [] : store.cells(store.length - 1);
  return (
    <div class="big-numbers">
      {settings.y.map((name) => {
        const cell = cells[store.columns.findIndex((column) => column.name === name)];
        return (
          <p key={name}>
            <b>{cell === undefined || cell === 'null' ? '–' : grouped(textOf(cell))}</b>{' '}
            <span class="note">{name}</span>
          </p>
        );
      })}
      {store.length > 1 && <p class="hint">The last of {counted(store.length, 'row')}.</p>}
    </div>
  );
}
