/** The grid in a view: it follows the rows that stream in, and shows a cell whole. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RowStore, Sort } from '../../state/rows/row-store.ts';
import { textOf } from '../../state/rows/scan.ts';
import { copyText } from '../copy.tsx';
import { Dialog } from '../dialog.tsx';
import { counted } from '../format.ts';
import { notify } from '../notice.tsx';
import { Grid } from './grid.ts';
import { indented } from './indented.ts';

interface GridViewProps {
  store: RowStore;
  /** Grows with the rows. */
  rows: number;
  isTyped: boolean;
  filter: string;
  label: string;
  /** The rows that are shown, or what they still wait for. */
  onShown(rows: number | 'filter' | 'sort'): void;
}

export function GridView({ store, rows, isTyped, filter, label, onShown }: GridViewProps) {
  const host = useRef<HTMLDivElement>(null);
  const grid = useRef<Grid | undefined>(undefined);
  const turn = useRef(0);
  const [sort, setSort] = useState<Sort>();
  const [cell, setCell] = useState<{ row: number; column: number }>();
  // Before the next frame, which then draws the first rows.
  useLayoutEffect(() => {
    const made = new Grid(store, {
      label,
      onSort: setSort,
      onOpen: (row, column) => setCell({ row, column }),
    });
    grid.current = made;
    host.current?.replaceChildren(made.element);
    setSort(undefined);
    made.changed();
    return () => made.close();
  }, [store]);
  useLayoutEffect(() => {
    const mine = ++turn.current;
    const isCurrent = () => turn.current === mine;
    // What is drawn until then has the order and the rows from before.
    const filters = filter.trim() !== '' || sort !== undefined;
    if (filters) onShown(sort === undefined ? 'filter' : 'sort');
    void store.arrange({ sort, filter }, isCurrent).then(() => {
      if (!isCurrent()) return;
      grid.current?.changed();
      onShown(store.length);
    });
  }, [store, isTyped, rows, sort, filter, onShown]);
  return (
    <>
      <div class="grid-host" ref={host} />
      {cell !== undefined && <CellView store={store} {...cell} onClose={() => setCell(undefined)} />}
    </>
  );
}

interface CellViewProps {
  store: RowStore;
  row: number;
  column: number;
  onClose(): void;
}

function CellView({ store, row, column, onClose }: CellViewProps) {
  const json = store.cells(row)[column];
  const { name = '', type = '' } = store.columns[column] ?? {};
  const text = json === undefined ? '' : textOf(json);
  const copy = async () =>
    notify((await copyText(text)) ? 'Copied the exact value.' : 'This browser does not let pages copy here.');
  return (
    <Dialog title={name} onClose={onClose} wide>
      <p class="hint">
        Row {row + 1} · {type || 'no type'} · {json === 'null' ? 'null' : counted(text.length, 'character')}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it. */}
      <pre class="cell-text" tabIndex={0}>
        {json === 'null' ? <i>null</i> : indented(text)}
      </pre>
      <div class="actions">
        <button type="button" onClick={copy}>
          Copy value
        </button>
      </div>
    </Dialog>
  );
}
