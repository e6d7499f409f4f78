/** Tables and their columns, with a search over both. */

import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { RowStore } from '../../state/rows/row-store.ts';
import { mayReadDetails, readDetails, readRows, type TableDetails } from '../../state/schema/details.ts';
import type { ColumnHit, TableHit } from '../../state/schema/protocol.ts';
import { columnsOf, loadSchema, searchTables } from '../../state/schema/schema-index.ts';
import { hubId } from '../../state/workspace.ts';
import { counted } from '../../ui/format.ts';
import { GridView } from '../../ui/grid/grid-view.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { firstQuery } from '../query/first-query.ts';

const shownMax = 200;

/** The number of tables of the source, and those that match a text. */
function useTables(sourceId: string, text: string) {
  const [tables, setTables] = useState<number>();
  const [found, setFound] = useState<{ tables: TableHit[]; total: number }>();
  const [problem, setProblem] = useState<Problem>();
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let current = true;
    setProblem(undefined);
    loadSchema(sourceId, { again: turn > 0 }).then(
      (count) => current && setTables(count),
      (err) => current && setProblem(problemOf(err)),
    );
    return () => {
      current = false;
    };
  }, [sourceId, turn]);
  useEffect(() => {
    if (tables === undefined) return;
    let current = true;
    void searchTables(sourceId, text, shownMax).then((result) => current && setFound(result));
    return () => {
      current = false;
    };
  }, [sourceId, text, tables, turn]);
  return { tables, found, problem, refresh: () => setTurn((n) => n + 1) };
}

export function SchemaBrowser({
  sourceId,
  engine,
  first,
  isBeside = false,
}: {
  sourceId: string;
  engine: string;
  first: string;
  /** True beside a statement, which needs no link to a new one. */
  isBeside?: boolean;
}) {
  const [text, setText] = useState(first);
  const { tables, found, problem, refresh } = useTables(sourceId, text);
  if (problem !== undefined) {
    return engine === 'mongodb' && problem.status === 422 ? null : <ProblemBox problem={problem} />;
  }
  if (tables === undefined || found === undefined) return <Loading what="the schema" />;
  return (
    <section class="schema" aria-label="Schema">
      <div class="schema-bar">
        <input
          type="search"
          aria-label="Search tables and columns"
          placeholder={`Search ${counted(tables, 'table')} and ${tables === 1 ? 'its' : 'their'} columns`}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button type="button" onClick={refresh}>
          <Icon name="refresh" /> Refresh
        </button>
      </div>
      {found.total === 0 && (
        <p class="empty">
          {tables === 0
            ? 'This database has no tables that the user may see.'
            : 'No table or column name contains this text.'}
        </p>
      )}
      {found.tables.map((table) => (
        <TableRow
          key={`${table.schema}.${table.name}`}
          table={table}
          engine={engine}
          open={found.total === 1}
          isBeside={isBeside}
        />
      ))}
      {found.total > found.tables.length && (
        <p class="hint">
          {counted(found.total, 'table')} match; the first {shownMax} are shown.
        </p>
      )}
    </section>
  );
}

interface TableRowProps {
  table: TableHit;
  engine: string;
  open: boolean;
  isBeside: boolean;
}

function TableRow({ table, engine, open, isBeside }: TableRowProps) {
  const { sourceId, schema, name, kind } = table;
  const [columns, setColumns] = useState<ColumnHit[]>();
  const [details, setDetails] = useState<TableDetails>();
  const load = () => {
    if (columns !== undefined) return;
    void columnsOf(sourceId, schema, name).then(setColumns);
    // The table is shown without them if the database does not tell.
    readDetails(sourceId, { engine, schema, name }).then(setDetails, () => undefined);
  };
  return (
    <details class="table" open={open} onToggle={({ currentTarget }) => currentTarget.open && load()}>
      <summary>
        <Icon name="table" />
        <span class="table-name">{name}</span>
        <span class="note">
          {schema}
          {kind !== 'table' && ` · ${kind}`}
          {details?.rows !== undefined && ` · about ${counted(details.rows, 'row')}`}
        </span>
      </summary>
      {columns !== undefined && (
        <div class="table-columns">
          {details !== undefined && details.comment !== '' && <p class="hint">{details.comment}</p>}
          <ul>
            {columns.map((column) => (
              <ColumnItem key={column.name} column={column} details={details} />
            ))}
          </ul>
          <div class="actions start">
            {mayReadDetails(engine) && <Preview table={table} engine={engine} />}
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

function ColumnItem({ column, details }: { column: ColumnHit; details: TableDetails | undefined }) {
  const { isKey = false, comment = '' } = details?.columns.get(column.name) ?? {};
  return (
    <li>
      <span>
        {column.name}
        {isKey && (
          <span class="key-mark" title="Primary key">
            <Icon name="key" />
            <span class="sr-only">, primary key</span>
          </span>
        )}
      </span>
      <span class="note">
        {column.type}
        {column.nullable ? '' : ' · not null'}
      </span>
      {comment !== '' && <span class="hint">{comment}</span>}
    </li>
  );
}

const previewedMax = 10;

function Preview({ table, engine }: { table: TableHit; engine: string }) {
  const { sourceId, schema, name } = table;
  const [store, setStore] = useState<RowStore>();
  const [problem, setProblem] = useState<Problem>();
  const read = async () => {
    setProblem(undefined);
    try {
      const query = firstQuery(engine, { schema, name });
      const rows = await readRows<object>({ sourceId, query, maxRows: previewedMax });
      const shown = new RowStore([]);
      shown.add(rows.map((row) => JSON.stringify(row)));
      setStore(shown);
    } catch (err) {
      setProblem(problemOf(err));
    }
  };
  return (
    <>
      <button type="button" onClick={read}>
        Show ten rows
      </button>
      {problem !== undefined && <ProblemBox problem={problem} />}
      {store !== undefined && store.length === 0 && <p class="hint">It has no rows.</p>}
      {store !== undefined && store.length > 0 && (
        <div class="preview">
          <GridView
            store={store}
            rows={store.length}
            isTyped={false}
            filter=""
            label={`Ten rows of ${name}`}
            onShown={() => undefined}
          />
        </div>
      )}
    </>
  );
}
