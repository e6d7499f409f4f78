/** The grid in a view: it follows the rows that stream in, and shows a cell whole. */

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { partsOf } from '../../state/rows/marks.ts';
import type { GridColumn, RowStore, Sort } from '../../state/rows/row-store.ts';
import { textOf } from '../../state/rows/scan.ts';
import { copyText } from '../copy.ts';
import { Dialog } from '../dialog.tsx';
import { count, counted } from '../format.ts';
import { type MenuItem, MenuList } from '../menu.tsx';
import { notify } from '../notice.tsx';
import { Grid } from './grid.ts';
import { indented } from './indented.ts';

/** Marks in longer texts would take the page too long. */
const markedMax = 200_000;

interface GridViewProps {
  store: RowStore;
  /** Changes with the rows that are shown, and with their order. */
  turn: number;
  sort: Sort | undefined;
  onSort(sort: Sort | undefined): void;
  label: string;
  /** Further actions for a column. */
  columnItems?: ((column: GridColumn) => MenuItem[]) | undefined;
  /** Opens the label that a classifier added to a row. */
  onLabel?: ((row: number) => void) | undefined;
}

export function GridView(props: GridViewProps) {
  const { store, turn, label } = props;
  const latest = useRef(props);
  latest.current = props;
  const host = useRef<HTMLDivElement>(null);
  const grid = useRef<Grid | undefined>(undefined);
  const [menu, setMenu] = useState<{ column: number; at: HTMLElement }>();
  const [cell, setCell] = useState<{ row: number; column: number }>();
  // Before the next frame, which then draws the first rows.
  useLayoutEffect(() => {
    const made = new Grid(store, {
      label,
      onSort: (sort) => latest.current.onSort(sort),
      onOpen: (row, column) => {
        const { onLabel } = latest.current;
        if (onLabel !== undefined && store.columns[column]?.added !== undefined) onLabel(row);
        else setCell({ row, column });
      },
      onCopy: ({ guarded, rows, rowsLeft }) => {
        if (rowsLeft > 0) notify(cutText(rows, rowsLeft));
        else if (guarded > 0) notify(guardedText(guarded));
      },
      onMenu: (column, at) => setMenu({ column, at }),
    });
    grid.current = made;
    made.sort = latest.current.sort;
    host.current?.replaceChildren(made.element);
    return () => made.close();
  }, [store]);
  useLayoutEffect(() => grid.current?.changed(), [store, turn]);
  return (
    <>
      <div class="grid-host" ref={host} />
      {menu !== undefined && grid.current !== undefined && (
        <ColumnMenu
          {...menu}
          grid={grid.current}
          items={props.columnItems}
          onClose={() => setMenu(undefined)}
        />
      )}
      {cell !== undefined && <CellView store={store} {...cell} onClose={() => setCell(undefined)} />}
    </>
  );
}

const cutText = (rows: number, left: number): string =>
  `Copied the first ${counted(rows, 'row')} of ${count(rows + left)}. A download has all.`;
const guardedText = (cells: number): string =>
  `${counted(cells, 'cell')} got an apostrophe, because spreadsheets run what begins with = + - or @. Open a cell to copy it as it is.`;

interface ColumnMenuProps {
  column: number;
  at: HTMLElement;
  grid: Grid;
  items: GridViewProps['columnItems'];
  onClose(): void;
}

function ColumnMenu({ column, at, grid, items, onClose }: ColumnMenuProps) {
  const shown = grid.store.columns[column];
  if (shown === undefined) return null;
  const all = [
    { label: 'Sort ascending', run: () => grid.setSort({ column, descending: false }) },
    { label: 'Sort descending', run: () => grid.setSort({ column, descending: true }) },
    ...(items?.(shown) ?? []),
  ];
  return (
    <MenuList
      label={`Actions for the column ${shown.name}`}
      items={all}
      anchor={at}
      focus={grid.element}
      onClose={onClose}
    />
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
        {json === 'null' ? <i>null</i> : <Marked text={indented(text)} />}
      </pre>
      <div class="actions">
        <button type="button" onClick={copy}>
          Copy value
        </button>
      </div>
    </Dialog>
  );
}

/** A text in which all is seen. */
function Marked({ text }: { text: string }) {
  if (text.length > markedMax) return <>{text}</>;
  const parts = partsOf(text, { breaks: true }) ?? [{ text, isMark: false }];
  return (
    <>
      {parts.map((part, i) =>
        part.isMark ? (
          <span key={i} class="mark">
            {part.text}
          </span>
        ) : (
          part.text
        ),
      )}
    </>
  );
}
