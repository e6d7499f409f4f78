/** A new query: a name, a source, a text, which can be run before it is stored. The query opens when it is stored. */

import { useSignal } from '@preact/signals';
import { useMemo, useState } from 'preact/hooks';
import { callJson, part, problemOf } from '../../api/client.ts';
import type { Problem, Query, Variable } from '../../api/types.ts';
import { type Checked, type CheckedText, errorsIn } from '../../state/check.ts';
import { useKeptDraft } from '../../state/drafts/use-kept-draft.ts';
import { NewQueryEditor } from '../../state/new-query-editor.ts';
import { needs } from '../../state/permissions.ts';
import type { Draft } from '../../state/query-editor.ts';
import { go, linkTo, route } from '../../state/route.ts';
import { draftOf, editorOf } from '../../state/stored-query-editor.ts';
import { readOutline } from '../../state/variables.ts';
import { category, hubId, loadTree, sources, tree, treeProblem, walk } from '../../state/workspace.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { firstQuery } from '../source/first-query.ts';
import { QueryWorkbench } from './query-workbench.tsx';
import { useRun, useShortcuts } from './run-actions.tsx';
import { RunButton } from './run-button.tsx';
import { SourceChoice } from './source-choice.tsx';

/** What the form begins with. */
interface Start {
  label: string;
  text: string;
  sourceId: string;
  context: Variable[];
  parentNodeId: string;
  copied?: Draft;
  /** The settings of the original that the form does not show. */
  settings?: Settings;
}

type Settings = Omit<Query['config'], 'query' | 'source' | 'command' | 'context' | 'tool'>;

/** What the form shows, and what belongs to one query: the name of a tool. */
const apart = new Set(['query', 'source', 'command', 'context', 'tool']);

function settingsOf(config: Query['config']): Settings {
  const settings = Object.entries(config).filter(([name]) => !apart.has(name));
  return Object.fromEntries(settings) as Settings;
}

const settingWords: Partial<Record<keyof Settings, string>> = {
  session: 'session settings',
  cache: 'cache',
  notNull: 'columns that must not be null',
  keepValues: 'kept values',
  steps: 'steps',
};

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
  const gone = copied.problem !== undefined && id !== undefined ? startOfGone(id) : undefined;
  if (copied.problem !== undefined && gone === undefined) return <PageProblem problem={copied.problem} />;
  if (tree.value === undefined && treeProblem.value === undefined) return <Loading what="the hub" />;
  const source = sources.value.find(({ sourceId }) => sourceId === id) ?? sources.value[0];
  const table = how === 'table' && schema !== undefined && name !== undefined ? { schema, name } : undefined;
  const start: Start =
    copied.value !== undefined
      ? {
          label: `${copied.value.meta.label} (copy)`,
          text: copied.value.config.query.query,
          sourceId: copied.value.config.source.sourceId,
          context: copied.value.config.context,
          parentNodeId: copied.value.meta.parentNodeId ?? '',
          copied: draftOf(copied.value),
          settings: settingsOf(copied.value.config),
        }
      : (gone ?? {
          label: table === undefined ? '' : `Rows of ${table.name}`,
          text: firstQuery(source?.engine ?? '', table),
          sourceId: source?.sourceId ?? '',
          context: [],
          parentNodeId: '',
        });
  if (sources.value.length === 0) return <NoSource />;
  return <NewQueryForm key={`${how} ${id} ${name}`} start={start} />;
}

/** What this tab has of a query that was deleted. */
function startOfGone(queryId: string): Start | undefined {
  const editor = editorOf(queryId);
  const [stored, draft] = [editor.stored.value, editor.draft.value];
  if (!editor.isGone.value || stored === undefined || draft === undefined) return undefined;
  const { label, parentNodeId = '' } = stored.meta;
  const { text, sourceId, context } = draft;
  return { label, text, sourceId, context, parentNodeId, copied: draft, settings: settingsOf(stored.config) };
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

interface Place extends Pick<Start, 'settings'> {
  label: string;
  parentNodeId: string;
}

/** What a person typed while the draft was checked and stored. */
const editsSince = (stored: Draft, now: Draft): Partial<Draft> =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => value !== stored[name as keyof Draft]));

/** `create` stores the query and opens it. A statement with errors is stored only if the user confirms. */
function useCreate(editor: NewQueryEditor, place: Place, onDone: () => void) {
  const [problem, setProblem] = useState<Problem>();
  const [busy, setBusy] = useState(false);
  const broken = useBrokenCheck();
  const store = async (draft: Draft) => {
    setBusy(true);
    try {
      const queryId = await storeQuery(draft, place, editor.engine.value);
      onDone();
      await loadTree();
      const created = editorOf(queryId);
      created.values.value = editor.values.value;
      created.resultView.value = editor.resultView.value;
      const typed = editsSince(draft, editor.draft.value ?? draft);
      go('hub', hubId.value ?? '', 'query', queryId);
      // Its page reports a failure of loading.
      await created.load().catch(() => undefined);
      created.edit(typed);
      // The person saw rows of the draft, so the page of the query begins with its rows.
      if (editor.runner.state.value.status === 'done' && !editor.writes) await created.run();
    } catch (err) {
      setProblem(problemOf(err));
      setBusy(false);
    }
  };
  const create = async () => {
    const draft = editor.draft.value;
    if (busy || draft === undefined || draft.text.trim() === '') return;
    setBusy(true);
    setProblem(undefined);
    if (await broken.check(editor.checkedText(draft), () => store(draft))) await store(draft);
    else setBusy(false);
  };
  return { busy, problem, create, dialog: broken.dialog };
}

function NewQueryForm({ start }: { start: Start }) {
  const editor = useMemo(() => new NewQueryEditor(start), []);
  const label = useSignal(start.label);
  const root = category('queries');
  const [parent, setParent] = useState(start.parentNodeId || root?.nodeId || '');
  const isDone = useSignal(false);
  useKeptDraft({
    hubId: hubId.value ?? '',
    page: route.value.slice(2).join('/'),
    content: () => {
      const draft = editor.draft.value;
      if (draft === undefined || draft.text === start.text || isDone.value) return undefined;
      return { label: label.value.trim() || 'New query', draft, base: { label: label.value } };
    },
    resume: (kept) => {
      editor.draft.value = kept.draft;
      label.value = (kept.base as { label: string }).label;
    },
  });
  const onDone = () => {
    isDone.value = true;
  };
  const { settings } = start;
  const place: Place = { label: label.value, parentNodeId: parent, ...(settings && { settings }) };
  const copied = Object.keys(settings ?? {}).flatMap((name) => settingWords[name as keyof Settings] ?? []);
  const { busy, problem, create, dialog } = useCreate(editor, place, onDone);
  const run = useRun(editor);
  useShortcuts(run.ask, create);
  const draft = editor.draft.value;
  return (
    <div class="query-page">
      <PageHead title="New query">
        <button
          type="button"
          onClick={() => void create()}
          {...needs('queries:write', busy || draft?.text.trim() === '')}
        >
          Create query
        </button>
        <RunButton editor={editor} run={run} isNext />
      </PageHead>
      <div class="new-place columns-3">
        <Field
          label="Name"
          value={label.value}
          onInput={(text) => {
            label.value = text;
          }}
          placeholder="Untitled query"
          autofocus
        />
        <SourceChoice value={draft?.sourceId ?? ''} onChange={(sourceId) => editor.edit({ sourceId })} />
        <FolderChoice value={parent} onChange={setParent} />
      </div>
      {copied.length > 0 && <p class="hint">Copied with it: {copied.join(', ')}.</p>}
      {problem !== undefined && <ProblemBox problem={problem} />}
      <QueryWorkbench
        editor={editor}
        run={run}
        // The text that the form begins with may be a part of a statement.
        isChecked={draft?.text !== start.text}
        onSave={() => void create()}
      />
      {run.dialog || dialog}
    </div>
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
  draft: Draft,
  { label, parentNodeId, settings }: Place,
  engine: string,
): Promise<string> {
  const { text, command, sourceId, context } = draft;
  const { names } = readOutline({ text, engine, context });
  const kept = context.filter(({ key }) => names.includes(key));
  const body = {
    ...settings,
    hubId: hubId.value,
    label: label.trim() || 'Untitled query',
    sourceId,
    query: text,
    // Members that are undefined are left out.
    command: command === '' ? undefined : command,
    context: kept.length === 0 ? undefined : kept,
    parentNodeId: parentNodeId === '' ? undefined : parentNodeId,
  };
  return (await callJson<Query>('v1/queries', { body })).config.query.queryId;
}

interface Pending {
  errors: Checked['problems'];
  save(): Promise<unknown>;
}

/** `check` resolves to true if the text has no errors. Otherwise it opens the dialog, whose button calls `save`. */
function useBrokenCheck() {
  const [pending, setPending] = useState<Pending>();
  const check = async (text: CheckedText, save: () => Promise<unknown>): Promise<boolean> => {
    const errors = await errorsIn(text);
    if (errors.length > 0) setPending({ errors, save });
    return errors.length === 0;
  };
  const close = () => setPending(undefined);
  const dialog = pending && (
    <Dialog title="Create a broken query?" onClose={close}>
      <div class="form">
        <p>It was not created, because callers would get an error:</p>
        <ul>
          {pending.errors.map(({ code, detail, sql }) => (
            <li key={code + detail}>
              {sql?.line !== undefined && `Line ${sql.line}: `}
              {detail}
            </li>
          ))}
        </ul>
        <div class="actions">
          <button type="button" onClick={close}>
            Keep editing
          </button>
          <button
            type="button"
            class="danger"
            onClick={() => {
              close();
              void pending.save();
            }}
          >
            Create anyway
          </button>
        </div>
      </div>
    </Dialog>
  );
  return { check, dialog };
}
