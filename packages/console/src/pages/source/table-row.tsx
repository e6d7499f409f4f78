/** A table of a schema: its columns with keys and comments, its first rows, and a query to begin with. */

import { useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { RowStore } from '../../state/rows/row-store.ts';
import type { ColumnHit, TableHit, TableJson } from '../../state/schema/protocol.ts';
import { readTable } from '../../state/schema/schema-index.ts';
import { hubId } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { counted } from '../../ui/format.ts';
import { GridView } from '../../ui/grid/grid-view.tsx';
import { useArranged } from '../../ui/grid/use-arranged.ts';
import { Icon } from '../../ui/icons.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { firstQuery } from './first-query.ts';

interface TableRowProps {
  table: TableHit;
  engine: string;
  open: boolean;
  isBeside: boolean;
  /** Shows the tables with this text. */
  onSearch(text: string): void;
}

export function TableRow({ table, engine, open, isBeside, onSearch }: TableRowProps) {
  const { sourceId, schema, name, kind, comment = '', rowEstimate } = table;
  const [whole, setWhole] = useState<TableJson>();
  const load = () => {
    if (whole === undefined) void readTable(sourceId, schema, name).then(setWhole);
  };
  return (
    <details class="table" open={open} onToggle={({ currentTarget }) => currentTarget.open && load()}>
      <summary>
        <Icon name="chevron" />
        <span class="table-name">{name}</span>
        <span class="note">
          {schema}
          {kind !== 'table' && ` · ${kind}`}
        </span>
        <span class="table-comment" title={comment}>
          {comment}
        </span>
        {rowEstimate !== undefined && (
          <span class="note table-rows" title="The estimate of the database">
            ≈ {counted(rowEstimate, 'row')}
          </span>
        )}
      </summary>
      {whole !== undefined && (
        <div class="table-columns">
          <ul aria-label={`Columns of ${name}`}>
            {whole.columns.map((column) => (
              <ColumnItem key={column.name} column={column} table={whole} onSearch={onSearch} />
            ))}
          </ul>
          <div class="actions start">
            {mayPreview(engine) && <Preview sourceId={sourceId} table={whole} engine={engine} />}
            {!isBeside && may('queries:write') && (
              <a
                class="button"
                href={linkTo('hub', hubId.value ?? '', 'new-query', 'table', sourceId, schema, name)}
              >
                Query this table
              </a>
            )}
          </div>
        </div>
      )}
    </details>
  );
}

interface ColumnItemProps {
  column: ColumnHit;
  table: TableJson;
  onSearch(text: string): void;
}

function ColumnItem({ column, table, onSearch }: ColumnItemProps) {
  const { name, type, nullable, comment = '' } = column;
  const references = table.foreignKeys.flatMap((key) => {
    const at = key.columns.indexOf(name);
    return at < 0 ? [] : [{ table: key.table, column: key.referencedColumns[at] ?? '' }];
  });
  return (
    <li>
      <span class="column-name">
        {name}
        {table.primaryKey.includes(name) && (
          <span class="key-mark" title="Primary key">
            <Icon name="key" />
            <span class="sr-only">, primary key</span>
          </span>
        )}
      </span>
      <span class="note">
        {type}
        {nullable ? '' : ' · not null'}
      </span>
      {(references.length > 0 || comment !== '') && (
        <span class="column-note">
          {references.map((to) => (
            <button
              key={`${to.table}.${to.column}`}
              type="button"
              class="reference"
              title={`Show ${to.table}`}
              onClick={() => onSearch(to.table)}
            >
              <span class="sr-only">references </span>
              <span aria-hidden="true">→ </span>
              {to.table}.{to.column}
            </button>
          ))}
          {comment}
        </span>
      )}
    </li>
  );
}

interface PreviewProps {
  sourceId: string;
  table: TableJson;
  engine: string;
}

function Preview({ sourceId, table, engine }: PreviewProps) {
  const { schema, name, columns } = table;
  const [store, setStore] = useState<RowStore>();
  const { problem, run } = useAction();
  const read = () =>
    run(async () => {
      const rows = await readFirstRows(sourceId, firstQuery(engine, { schema, name }));
      const shown = new RowStore(columns);
      shown.add(rows.map((row) => JSON.stringify(row)));
      setStore(shown);
    });
  return (
    <>
      <button type="button" onClick={read}>
        Show ten rows
      </button>
      {problem !== undefined && <ProblemBox problem={problem} />}
      {store !== undefined && store.length === 0 && <p class="hint">It has no rows.</p>}
      {store !== undefined && store.length > 0 && (
        <div class="preview" ref={(shown) => shown?.style.setProperty('--rows', String(store.length))}>
          <FirstRows store={store} label={`Ten rows of ${name}`} />
        </div>
      )}
    </>
  );
}

function FirstRows({ store, label }: { store: RowStore; label: string }) {
  const { turn, sort, setSort } = useArranged(store, { rows: store.length, filter: '' });
  return <GridView store={store} turn={turn} sort={sort} onSort={setSort} label={label} />;
}

export const previewedMax = 10;

const mayPreview = (engine: string): boolean =>
  engine !== 'mongodb' && may('queries:write') && may('queries:execute');

async function readFirstRows(sourceId: string, query: string): Promise<object[]> {
  const body = { sourceId, query, options: { maxRows: previewedMax } };
  return (await callJson<{ data: object[] }>('v1/queries/try', { body })).data;
}
