/** Tables and their columns, with a search over both. */

import { useEffect, useState } from 'preact/hooks';
import { problemOf } from '../../api/client.ts';
import type { Problem } from '../../api/types.ts';
import type { TableHit } from '../../state/schema/protocol.ts';
import { loadSchema, searchTables } from '../../state/schema/schema-index.ts';
import { counted } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { TableRow } from './table-row.tsx';

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
          placeholder={
            isBeside
              ? `Search ${counted(tables, 'table')}`
              : `Search ${counted(tables, 'table')} and ${tables === 1 ? 'its' : 'their'} columns`
          }
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
        <button
          type="button"
          class={isBeside ? 'icon-only' : undefined}
          aria-label="Refresh"
          title="Read the schema again"
          onClick={refresh}
        >
          <Icon name="refresh" /> {!isBeside && 'Refresh'}
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
          onSearch={setText}
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
