/** One stored query: its text, its variables, its rows. */

import { useCallback, useEffect, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../../api/client.ts';
import { restored } from '../../api/connection.ts';
import type { Problem, TreeNode } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { useKeptDraft } from '../../state/drafts/use-kept-draft.ts';
import { may, needs } from '../../state/permissions.ts';
import { go, linkTo, route } from '../../state/route.ts';
import { editorOf, type StoredQuery, type StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { askChange } from '../../state/tree-actions.ts';
import { findNode, hubId, loadTree, tree } from '../../state/workspace.ts';
import { engineName } from '../../ui/format.ts';
import { Menu, type MenuItem } from '../../ui/menu.tsx';
import { Loading, PageHead, Tabs } from '../../ui/page.tsx';
import { PageProblem } from '../../ui/page-problem.tsx';
import { StatisticsView } from '../statistics/statistics-view.tsx';
import { useClassify } from './classify/use-classify.tsx';
import { ContractView } from './contract-view.tsx';
import type { Saved } from './presentation.ts';
import { lossesOf } from './publish/losses.ts';
import { PublishPanel } from './publish/publish-panel.tsx';
import { QueryWorkbench } from './query-workbench.tsx';
import { type RunActions, useReread, useRun, useShortcuts } from './run-actions.tsx';
import { RunButton } from './run-button.tsx';
import { RunsView } from './runs-view.tsx';
import { ShortLink } from './short-link.tsx';
import { DriftNote } from './upkeep/drift-note.tsx';
import { PathDialog } from './upkeep/path-dialog.tsx';
import { UseView } from './use/use-view.tsx';
import { copyLink, useAddress } from './use-address.ts';
import { ConflictView } from './versions/conflict-view.tsx';
import { VersionsView } from './versions/versions-view.tsx';

export function QueryPage({ queryId }: { queryId: string }) {
  const editor = editorOf(queryId);
  const [problem, setProblem] = useState<Problem>();
  useKeptDraft({
    hubId: hubId.value ?? '',
    page: `query/${queryId}`,
    content: () => {
      const edited = editor.edited.value;
      return edited && { ...edited, label: edited.base.query.meta.label };
    },
    resume: ({ draft, base }) => editor.resume({ draft, base: base as StoredQuery }),
  });
  useEffect(() => {
    const stop = new AbortController();
    editor.load({ stop: stop.signal }).then(
      () => {
        setProblem(undefined);
        // Another key or tab may have created it.
        if (tree.value !== undefined && findNode(queryId) === undefined) void loadTree();
      },
      (err) => !isAborted(err) && setProblem(problemOf(err)),
    );
    return () => stop.abort();
  }, [editor, restored.value]);
  // Its page stays while the query runs; this one would be left with the address.
  if (problem?.code === 'SCOPE_DENIED') return <ShortLink queryId={queryId} />;
  if (problem !== undefined && editor.draft.value === undefined) return <PageProblem problem={problem} />;
  if (editor.draft.value === undefined) return <Loading what="the query" />;
  return <LoadedQuery editor={editor} />;
}

const tabs = [
  ['query', 'Query'],
  ['contract', 'Contract'],
  ['runs', 'Runs'],
  ['versions', 'Versions'],
  ['statistics', 'Statistics'],
  ['use', 'Use it'],
] as const;

function LoadedQuery({ editor }: { editor: StoredQueryEditor }) {
  const [naming, setNaming] = useState(false);
  const tab = tabs.find(([name]) => name === route.value[4])?.[0] ?? 'query';
  const show = (name: string) =>
    go('hub', hubId.value ?? '', 'query', editor.queryId, ...(name === 'query' ? [] : [name]));
  const run = useRun(editor);
  const stored = editor.stored.value;
  const publishing = usePublishing(editor);
  useReread(editor, run.asking);
  useShortcuts(run.ask, publishing.open);
  useAddress(editor);
  const node = findNode(editor.queryId)?.node;
  const command = editor.draft.value?.command ?? '';
  const menu = menuOf(editor, node, () => setNaming(true));
  return (
    <div class="query-page" data-tab={tab} data-publishing={publishing.isOpen}>
      <PageHead
        title={node?.label ?? stored?.meta.label}
        tags={[
          `${reads(command) ? 'reads' : `writes: ${command}`} · ${engineName(editor.engine.value)}`,
          may('queries:write') ? undefined : 'read-only key',
        ]}
        warning={editor.dirty.value ? 'Draft · not published' : undefined}
      >
        <Menu label="More actions" items={menu} />
        <PublishAndRun editor={editor} run={run} publishing={publishing} isNext={tab !== 'use'} />
      </PageHead>
      <Tabs label="Parts of the query" tabs={tabs} value={tab} onChange={show} />
      <Notes editor={editor} onPublish={publishing.open} />
      <div class="query-body">
        <div class="query-part">
          <TabContent tab={tab} editor={editor} run={run} show={show} onSave={publishing.open} />
        </div>
        {publishing.isOpen && <PublishPanel editor={editor} onClose={publishing.close} />}
      </div>
      {run.dialog}
      {naming && <PathDialog editor={editor} onClose={() => setNaming(false)} />}
    </div>
  );
}

/** What the person must know of the query before anything else. */
function Notes({ editor, onPublish }: { editor: StoredQueryEditor; onPublish(): void }) {
  const stored = editor.stored.value;
  if (editor.isGone.value) return <GoneNote queryId={editor.queryId} />;
  return (
    <>
      {(stored?.state === 'broken' || stored?.drift !== undefined) && <DriftNote editor={editor} />}
      {editor.conflict.value !== undefined && <ConflictView editor={editor} onPublish={onPublish} />}
    </>
  );
}

function GoneNote({ queryId }: { queryId: string }) {
  return (
    <p class="banner" role="alert">
      This query was deleted, and cannot be published any more. What you see of it is only here:{' '}
      <a href={linkTo('hub', hubId.value ?? '', 'new-query', 'from', queryId)}>make a new query of it</a>.
    </p>
  );
}

interface TabContentProps {
  tab: string;
  editor: StoredQueryEditor;
  run: RunActions;
  show(tab: string): void;
  onSave(): void;
}

function TabContent({ tab, editor, run, show, onSave }: TabContentProps) {
  return (
    <>
      {tab === 'query' && <StoredWorkbench editor={editor} run={run} onSave={onSave} />}
      {tab === 'contract' && <ContractView editor={editor} />}
      {tab === 'runs' && (
        <RunsView
          editor={editor}
          queryId={editor.queryId}
          onReuse={(values) => {
            editor.values.value = values;
            show('query');
          }}
        />
      )}
      {tab === 'versions' && <VersionsView editor={editor} chosen={route.value[5]} />}
      {tab === 'statistics' && <StatisticsView queryId={editor.queryId} />}
      {tab === 'use' && <UseView editor={editor} />}
    </>
  );
}

function StoredWorkbench({ editor, run, onSave }: Pick<TabContentProps, 'editor' | 'run' | 'onSave'>) {
  const classifying = useClassify(editor);
  const [published, draft] = [editor.published.value, editor.draft.value];
  return (
    <QueryWorkbench
      editor={editor}
      run={run}
      losses={published && draft && lossesOf(published, draft)}
      saved={savedOf(editor)}
      classifying={classifying}
      onSave={onSave}
    />
  );
}

function menuOf(editor: StoredQueryEditor, node: TreeNode | undefined, onPath: () => void): MenuItem[] {
  const { queryId } = editor;
  const hub = hubId.value ?? '';
  const actions = node === undefined ? [] : (['rename', 'move', 'delete'] as const);
  return [
    { label: 'Copy link', run: () => void copyLink(editor) },
    { label: 'Path …', needs: 'queries:write', run: onPath },
    { label: 'Duplicate', needs: 'queries:write', run: () => go('hub', hub, 'new-query', 'from', queryId) },
    ...actions.map((action) => ({
      label: `${action[0]?.toUpperCase()}${action.slice(1)}`,
      danger: action === 'delete',
      needs: 'queries:write' as const,
      run: () => node !== undefined && askChange(action, node),
    })),
  ];
}

/** How the rows of the query are drawn. */
const savedOf = (editor: StoredQueryEditor): Saved => ({
  presentation: editor.stored.value?.config.presentation ?? {},
  refusal:
    editor.rowsOf.value === undefined
      ? undefined
      : `The chart draws rows of ${editor.rowsOf.value}. Run again to save it.`,
  save: (change) => editor.present(change),
});

interface Publishing {
  isOpen: boolean;
  open(): void;
  close(): void;
}

/** Whether the step before publishing is open. It needs a draft, and no conflict about it. */
function usePublishing(editor: StoredQueryEditor): Publishing {
  const [asked, setAsked] = useState(false);
  const isPossible = canPublish(editor);
  const close = useCallback(() => setAsked(false), []);
  useEffect(() => {
    if (!isPossible) close();
  }, [isPossible]);
  return { isOpen: asked && isPossible, open: () => setAsked(canPublish(editor)), close };
}

const canPublish = (editor: StoredQueryEditor): boolean =>
  editor.dirty.value && !editor.isGone.value && editor.conflict.value === undefined && may('queries:write');

interface PublishAndRunProps {
  editor: StoredQueryEditor;
  run: RunActions;
  publishing: Publishing;
  /** True if running may be the next thing to do. */
  isNext: boolean;
}

function PublishAndRun({ editor, run, publishing, isNext }: PublishAndRunProps) {
  const dirty = editor.dirty.value;
  return (
    <>
      {dirty && (
        <button type="button" class="quiet" onClick={() => editor.revert()}>
          Discard changes
        </button>
      )}
      {editor.canUndoDiscard.value && (
        <button
          type="button"
          class="quiet"
          title="Brings the discarded changes back, until this tab is closed"
          onClick={() => editor.undoDiscard()}
        >
          Undo discard
        </button>
      )}
      <button
        type="button"
        aria-expanded={publishing.isOpen}
        onClick={publishing.isOpen ? publishing.close : publishing.open}
        {...needs('queries:write', !dirty || editor.isGone.value || editor.conflict.value !== undefined)}
      >
        Publish …
      </button>
      <RunButton
        editor={editor}
        run={run}
        isNext={isNext && !publishing.isOpen && editor.conflict.value === undefined}
      />
    </>
  );
}
