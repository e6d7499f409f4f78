/** The rows of a stored query as input: which query, the values of its variables, and which of its columns. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../../api/client.ts';
import type { Column, Problem } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { may } from '../../state/permissions.ts';
import { linkTo } from '../../state/route.ts';
import { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { category, hubId, walk } from '../../state/workspace.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { focusFault, VariableInputs } from './variable-inputs.tsx';

/** What a column is for. */
export interface ColumnUse {
  /** Its member in the body of the call. */
  member: string;
  label: string;
  hint?: string;
  /** Names of columns that are chosen at first. */
  defaultNames: string[];
}

export interface QueryRows {
  uses: ColumnUse[];
  queryId: string;
  choose(queryId: string): void;
  editor: StoredQueryEditor | undefined;
  problem: Problem | undefined;
  /** A call was tried, so values that are missing are marked. */
  tried: boolean;
  columnFor(use: ColumnUse): string;
  setColumn(use: ColumnUse, name: string): void;
  /** The query and its columns are chosen. */
  isReady: boolean;
  /** Members of the body with their JSON, as they stand now. */
  current: [string, string][];
  /** The same; undefined if a value is missing, which is then marked. */
  members(): [string, string][] | undefined;
}

/** Whether the key can choose queries and read their rows. */
export const mayReadRows = (): boolean => may('queries:read') && may('queries:execute');

/** `uses` stays the same from one call to the next. */
export function useQueryRows(uses: ColumnUse[]): QueryRows {
  const [queryId, choose] = useState('');
  const [chosen, setChosen] = useState<Record<string, string>>({});
  const [tried, setTried] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  // What is stored counts, and not what is being edited on the page of the query.
  const editor = useMemo(() => (queryId === '' ? undefined : new StoredQueryEditor(queryId)), [queryId]);
  useEffect(() => {
    setChosen({});
    setTried(false);
    setProblem(undefined);
    const stop = new AbortController();
    editor?.load({ stop: stop.signal }).catch((err) => !isAborted(err) && setProblem(problemOf(err)));
    return () => stop.abort();
  }, [editor]);
  const columns = editor?.signature.value?.columns ?? [];
  const columnFor = ({ member, defaultNames }: ColumnUse) =>
    chosen[member] ?? columns.find(({ name }) => defaultNames.includes(name.toLowerCase()))?.name ?? '';
  const draft = editor?.draft.value;
  const isReady =
    draft !== undefined && reads(draft.command) && uses.every((use) => columnFor(use).trim() !== '');
  const current: [string, string][] = [
    ['queryId', JSON.stringify(queryId)],
    ['context', editor?.sent.value.context ?? '{}'],
    ...uses.map((use): [string, string] => [use.member, JSON.stringify(columnFor(use))]),
  ];
  const members = (): [string, string][] | undefined => {
    setTried(true);
    return editor === undefined || focusFault(editor) ? undefined : current;
  };
  const setColumn = ({ member }: ColumnUse, name: string) => setChosen({ ...chosen, [member]: name });
  return { uses, queryId, choose, editor, problem, tried, columnFor, setColumn, isReady, current, members };
}

export function QueryRowsFields({ rows }: { rows: QueryRows }) {
  const { editor, problem } = rows;
  const draft = editor?.draft.value;
  return (
    <>
      <QueryChoice value={rows.queryId} onChange={rows.choose} />
      {problem !== undefined && <ProblemBox problem={problem} />}
      {editor !== undefined && draft === undefined && problem === undefined && <Loading what="the query" />}
      {draft !== undefined && !reads(draft.command) && (
        <p class="banner">This query writes. Choose one that only reads.</p>
      )}
      {editor !== undefined && draft !== undefined && reads(draft.command) && (
        <>
          {editor.fields.value.length > 0 && (
            <fieldset class="values">
              <legend>Values of its variables</legend>
              <VariableInputs editor={editor} shown={rows.tried} />
            </fieldset>
          )}
          <ColumnChoices rows={rows} editor={editor} />
        </>
      )}
    </>
  );
}

function QueryChoice({ value, onChange }: { value: string; onChange(queryId: string): void }) {
  const options = [...walk(category('queries'))]
    .filter(({ node }) => node.nodeType === 'query')
    .map(({ node, path }) => {
      const folders = path.filter(({ nodeType }) => nodeType === 'folder');
      return [node.nodeId, [...folders, node].map(({ label }) => label).join(' / ')] as const;
    });
  if (options.length === 0) {
    const to = linkTo('hub', hubId.value ?? '', 'new-query');
    return (
      <p class="hint">
        This hub has no queries yet. {may('queries:write') && <a href={to}>Write the first one</a>}
      </p>
    );
  }
  return (
    <Choice label="Query" value={value} options={[['', 'Choose a query'], ...options]} onChange={onChange} />
  );
}

/** A choice of the columns that the source describes; names to type if it does not. */
function ColumnChoices({ rows, editor }: { rows: QueryRows; editor: StoredQueryEditor }) {
  const signature = editor.signature.value;
  if (signature === undefined) return <Loading what="its columns" />;
  if (signature?.problem !== undefined)
    return (
      <ProblemBox
        problem={{ status: 422, title: 'The database rejected this query', ...signature.problem }}
      />
    );
  const columns = signature?.columns ?? [];
  return (
    <>
      <div class={rows.uses.length === 1 ? undefined : 'columns-3'}>
        {rows.uses.map((use) => {
          const { member, label, hint } = use;
          const shared = { label, value: rows.columnFor(use), ...(hint === undefined ? {} : { hint }) };
          const set = (name: string) => rows.setColumn(use, name);
          if (columns.length === 0) return <Field key={member} {...shared} onInput={set} />;
          return <Choice key={member} {...shared} options={optionsOf(columns)} onChange={set} />;
        })}
      </div>
      {signature === null && (
        <p class="hint">
          The source did not describe the columns, so type their names.{' '}
          {editor.engine.value !== 'mongodb' && (
            <button type="button" class="quiet" onClick={() => void editor.describe()}>
              Ask again
            </button>
          )}
        </p>
      )}
    </>
  );
}

const optionsOf = (columns: Column[]): (readonly [string, string])[] => [
  ['', 'Choose a column'],
  ...columns.map(({ name, type }) => [name, `${name} (${type})`] as const),
];
