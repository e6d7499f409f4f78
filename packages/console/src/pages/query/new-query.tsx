/** The form of a new query: a name, a source, a text. The query opens when it is stored. */

import { useMemo, useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../../api/client.ts';
import type { Problem, Query, Variable } from '../../api/types.ts';
import { commandOf } from '../../state/commands.ts';
import { needs } from '../../state/permissions.ts';
import { go, linkTo, route } from '../../state/route.ts';
import { namesIn } from '../../state/variables.ts';
import { category, hubId, loadTree, sources, walk } from '../../state/workspace.ts';
import { CodeEditor } from '../../ui/editor/code-editor.tsx';
import type { Fault } from '../../ui/editor/protocol.ts';
import { Choice, Field } from '../../ui/field.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { useBrokenCheck } from './broken-dialog.tsx';
import { type CheckedText, faultsIn, useCheck } from './check.ts';
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
  // The text that the form begins with may be a part of a statement.
  const checked = useCheck(edited ? checkedText({ text, sourceId, context: [] }, engine) : undefined);
  return useMemo(
    () => faultsIn(problem === undefined ? (checked?.problems ?? []) : [problem]),
    [problem, checked],
  );
}

function checkedText(
  { text, sourceId, context }: Pick<Start, 'text' | 'sourceId' | 'context'>,
  engine: string,
): CheckedText {
  const command = commandOf(text, engine);
  return { query: text, sourceId, context, ...(command === undefined ? {} : { command }) };
}

/** `create` stores the query and opens it. A statement with errors is stored only if the user confirms. */
function useCreate(query: Start, engine: string) {
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const broken = useBrokenCheck();
  const store = async () => {
    setBusy(true);
    try {
      const queryId = await storeQuery(query, engine);
      await loadTree();
      go('hub', hubId.value ?? '', 'query', queryId);
    } catch (err) {
      setProblem(problemOf(err));
      setBusy(false);
    }
  };
  const create = async () => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    if (await broken.check(checkedText(query, engine), store)) await store();
    else setBusy(false);
  };
  return { busy, problem, create, dialog: broken.dialog };
}

function NewQueryForm({ start }: { start: Start }) {
  const [label, setLabel] = useState(start.label);
  const [text, setText] = useState(start.text);
  const [sourceId, setSourceId] = useState(start.sourceId);
  const root = category('queries');
  const [parent, setParent] = useState(start.parentNodeId || root?.nodeId || '');
  const engine = sources.value.find((one) => one.sourceId === sourceId)?.engine ?? '';
  const { busy, problem, create, dialog } = useCreate(
    { label, text, sourceId, context: start.context, parentNodeId: parent },
    engine,
  );
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
      {dialog}
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
async function storeQuery(
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
