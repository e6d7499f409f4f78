/** The form of a new query: a name, a source, a text. The query opens when it is stored. */

import { useMemo, useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../api/client.ts';
import { needs } from '../api/permissions.ts';
import type { Problem, Query, Variable } from '../api/types.ts';
import type { Fault } from '../editor/protocol.ts';
import { Choice, Field } from '../parts/field.tsx';
import { useLoad } from '../parts/load.tsx';
import { Loading, PageHead } from '../parts/page.tsx';
import { ProblemBox } from '../parts/problem.tsx';
import { go, linkTo, route } from '../shell/route.ts';
import { category, hubId, loadTree, sources, walk } from '../shell/workspace.ts';
import { namesIn } from '../variables/variables.ts';
import { faultsIn, useCheck } from './check.ts';
import { CodeEditor } from './code-editor.tsx';
import { commandOf } from './commands.ts';
import { firstQuery } from './first-query.ts';
import { SourceChoice } from './source-choice.tsx';

interface Start {
  label: string;
  text: string;
  sourceId: string;
  context: Variable[];
  parentNodeId: string;
}

/**
 * `new-query`, `new-query/from/<queryId>`, `new-query/on/<sourceId>`, `new-query/table/<sourceId>/<schema>/<table>`.
 */
export function NewQuery() {
  const [, , , how, id, schema, name] = route.value;
  const copied = useLoad(
    async (signal) =>
      how === 'from' && id !== undefined
        ? await callJson<Query>(`v1/queries/${part(id)}`, { signal })
        : undefined,
    [how, id],
  );
  if (copied.loading) return <Loading what="the query" />;
  const source = sources.value.find(({ sourceId }) => sourceId === id) ?? sources.value[0];
  const table = how === 'table' && schema !== undefined && name !== undefined ? { schema, name } : undefined;
  const start: Start =
    copied.value !== undefined
      ? {
          label: `${copied.value.meta.label} (copy)`,
          text: copied.value.config.query.query,
          sourceId: copied.value.config.source.sourceId,
          context: copied.value.config.context ?? [],
          parentNodeId: copied.value.meta.parentNodeId ?? '',
        }
      : {
          label: table === undefined ? '' : `Rows of ${table.name}`,
          text: firstQuery(source?.engine ?? '', table),
          sourceId: source?.sourceId ?? '',
          context: [],
          parentNodeId: '',
        };
  if (sources.value.length === 0) return <NoSource />;
  return <NewQueryForm key={`${how} ${id} ${name}`} start={start} />;
}

function NoSource() {
  return (
    <div class="page">
      <PageHead title="New query" />
      <p class="empty">
        A query needs a source to run on.{' '}
        <a href={linkTo('hub', hubId.value ?? '', 'new-source')}>Connect one first.</a>
      </p>
    </div>
  );
}

function useNewFaults(
  { text, sourceId, engine, edited }: { text: string; sourceId: string; engine: string; edited: boolean },
  problem: Problem | undefined,
): Fault[] {
  const command = commandOf(text, engine);
  const draft = { query: text, sourceId, context: [], ...(command === undefined ? {} : { command }) };
  // The text that the form begins with may be a part of a statement.
  const checked = useCheck(edited ? draft : undefined);
  return useMemo(
    () => faultsIn(problem === undefined ? (checked?.problems ?? []) : [problem]),
    [problem, checked],
  );
}

function NewQueryForm({ start }: { start: Start }) {
  const [label, setLabel] = useState(start.label);
  const [text, setText] = useState(start.text);
  const [sourceId, setSourceId] = useState(start.sourceId);
  const root = category('queries');
  const [parent, setParent] = useState(start.parentNodeId || root?.nodeId || '');
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const engine = sources.value.find((one) => one.sourceId === sourceId)?.engine ?? '';
  const create = async () => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const queryId = await store(
        { label, text, sourceId, context: start.context, parentNodeId: parent },
        engine,
      );
      await loadTree();
      go('hub', hubId.value ?? '', 'query', queryId);
    } catch (err) {
      setProblem(problemOf(err));
      setBusy(false);
    }
  };
  const faults = useNewFaults({ text, sourceId, engine, edited: text !== start.text }, problem);
  return (
    <form
      class="new-query"
      onSubmit={(event) => {
        event.preventDefault();
        void create();
      }}
    >
      <PageHead title="New query">
        <button type="submit" class="primary" {...needs('queries:write', busy || text.trim() === '')}>
          Create query
        </button>
      </PageHead>
      <div class="page columns-3">
        <Field label="Name" value={label} onInput={setLabel} placeholder="Untitled query" autofocus />
        <SourceChoice value={sourceId} onChange={setSourceId} />
        <FolderChoice value={parent} onChange={setParent} />
      </div>
      {problem !== undefined && <ProblemBox problem={problem} />}
      <div class="new-editor">
        <CodeEditor
          text={text}
          engine={engine}
          sourceId={sourceId}
          label="Statement"
          faults={faults}
          variables={() => namesIn(text, engine)}
          onChange={setText}
          onRun={() => void create()}
          onSave={() => void create()}
        />
      </div>
      <p class="hint page">
        Write <code>:name</code> in place of a value. Creating the query does not run it: the hub stores the
        text and opens it, ready to run.
      </p>
    </form>
  );
}

function FolderChoice({ value, onChange }: { value: string; onChange(nodeId: string): void }) {
  const root = category('queries');
  const folders = [...walk(root)].filter(({ node }) => node.nodeType === 'folder');
  const nameOf = ({ node, path }: (typeof folders)[number]) =>
    [...path, node].map(({ label }) => label).join(' / ');
  const options = folders.map((folder) => [folder.node.nodeId, nameOf(folder)] as const);
  return (
    <Choice
      label="Folder"
      value={value}
      options={[[root?.nodeId ?? '', 'Queries'], ...options]}
      onChange={onChange}
    />
  );
}

/** Stores the query and resolves to its id. */
async function store(
  { label, text, sourceId, context, parentNodeId }: Start,
  engine: string,
): Promise<string> {
  const command = commandOf(text, engine);
  const names = namesIn(text, engine);
  const kept = context.filter(({ key }) => names.includes(key));
  const body = {
    hubId: hubId.value,
    label: label.trim() || 'Untitled query',
    sourceId,
    query: text,
    ...(command === undefined ? {} : { command }),
    ...(kept.length === 0 ? {} : { context: kept }),
    ...(parentNodeId === '' ? {} : { parentNodeId }),
  };
  return (await callJson<Query>('v1/queries', { body })).config.query.queryId;
}
