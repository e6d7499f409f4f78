/** Tables and their columns, with a search over both. */

import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import { may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import type { ColumnHit, TableHit } from '../../state/schema/protocol.ts';
import { columnsOf, loadSchema, searchTables } from '../../state/schema/schema-index.ts';
import { hubId } from '../../state/workspace.ts';
import { counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';

const shownMax = 200;

export function SchemaBrowser({
  sourceId,
  engine,
  first,
}: {
  sourceId: string;
  engine: string;
  first: string;
}) {
  const [text, setText] = useState(first);
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
        <button type="button" onClick={() => setTurn((n) => n + 1)}>
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
        <TableRow key={`${table.schema}.${table.name}`} table={table} open={found.total === 1} />
      ))}
      {found.total > found.tables.length && (
        <p class="hint">
          {counted(found.total, 'table')} match; the first {shownMax} are shown.
        </p>
      )}
    </section>
  );
}

function TableRow({ table, open }: { table: TableHit; open: boolean }) {
  const { sourceId, schema, name, kind } = table;
  const [columns, setColumns] = useState<ColumnHit[]>();
  const load = () => {
    if (columns === undefined) void columnsOf(sourceId, schema, name).then(setColumns);
  };
  return (
    <details class="table" open={open} onToggle={({ currentTarget }) => currentTarget.open && load()}>
      <summary>
        <Icon name="table" />
        <span class="table-name">{name}</span>
        <span class="note">
          {schema}
          {kind !== 'table' && ` · ${kind}`}
        </span>
      </summary>
      {columns !== undefined && (
        <div class="table-columns">
          <ul>
            {columns.map((column) => (
              <li key={column.name}>
                <span>{column.name}</span>
                <span class="note">
                  {column.type}
                  {column.nullable ? '' : ' · not null'}
                </span>
              </li>
            ))}
          </ul>
          {may('queries:write') && (
            <a
              class="button"
              href={linkTo('hub', hubId.value ?? '', 'new-query', 'table', sourceId, schema, name)}
            >
              Query this table
            </a>
          )}
        </div>
      )}
    </details>
  );
}
