/** One stored query: its text, its variables, its rows. */

import { useSignal } from '@preact/signals';
import { useCallback, useEffect, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../../api/client.ts';
import { restored } from '../../api/connection.ts';
import type { Problem, TreeNode } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { may, needs } from '../../state/permissions.ts';
import { type QueryWork, workOf } from '../../state/query-work.ts';
import { go, route } from '../../state/route.ts';
import { findNode, hubId, loadTree, tree } from '../../state/workspace.ts';
import { engineName } from '../../ui/format.ts';
import { Menu, type MenuItem } from '../../ui/menu.tsx';
import { Loading, PageHead, Tabs } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { type PendingDialog, TreeDialog } from '../../ui/tree/tree-dialogs.tsx';
import { Later } from '../lazy.tsx';
import { useClassify } from './classify/use-classify.tsx';
import type { Saved } from './presentation.ts';
import { QueryWorkbench } from './query-workbench.tsx';
import { type RunActions, useReread, useRun, useShortcuts } from './run-actions.tsx';
import { RunButton } from './run-button.tsx';
import { ShortLink } from './short-link.tsx';
import { copyLink, useAddress } from './use-address.ts';

export function QueryPage({ queryId }: { queryId: string }) {
  const work = workOf(queryId);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const stop = new AbortController();
    work.load({ stop: stop.signal }).then(
      () => {
        setProblem(undefined);
        // Another key or tab may have created it.
        if (tree.value !== undefined && findNode(queryId) === undefined) void loadTree();
      },
      (err) => !isAborted(err) && setProblem(problemOf(err)),
    );
    return () => stop.abort();
  }, [work, restored.value]);
  // Its page stays while the query runs; this one would be left with the address.
  if (problem?.code === 'SCOPE_DENIED') return <ShortLink queryId={queryId} />;
  if (problem !== undefined && work.draft.value === undefined) return <ProblemBox problem={problem} />;
  if (work.draft.value === undefined) return <Loading what="the query" />;
  return <LoadedQuery work={work} />;
}

const tabs = [
  ['query', 'Query'],
  ['contract', 'Contract'],
  ['runs', 'Runs'],
  ['versions', 'Versions'],
  ['statistics', 'Statistics'],
  ['use', 'Use it'],
] as const;

/** Makes the browser ask before it closes a tab with unsaved changes. Within the console, changes are kept. */
function useUnsavedWarning(work: QueryWork): void {
  useEffect(() => {
    const warn = (event: Event) => work.dirty.value && event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [work]);
}

function LoadedQuery({ work }: { work: QueryWork }) {
  const asked = useSignal<PendingDialog | undefined>(undefined);
  const [naming, setNaming] = useState(false);
  const tab = tabs.find(([name]) => name === route.value[4])?.[0] ?? 'query';
  const show = (name: string) =>
    go('hub', hubId.value ?? '', 'query', work.queryId, ...(name === 'query' ? [] : [name]));
  const run = useRun(work);
  const stored = work.stored.value;
  const publishing = usePublishing(work);
  useReread(work, run.asking);
  useShortcuts(run.ask, publishing.open);
  useUnsavedWarning(work);
  useAddress(work);
  const node = findNode(work.queryId)?.node;
  const command = work.draft.value?.command ?? '';
  const menu = menuOf(work, node, {
    ask: (next) => {
      asked.value = next;
    },
    onPath: () => setNaming(true),
  });
  return (
    <div class="query-page" data-tab={tab} data-publishing={publishing.isOpen}>
      <PageHead
        title={node?.label ?? stored?.meta.label}
        tags={[
          `${reads(command) ? 'reads' : `writes: ${command}`} · ${engineName(work.engine.value)}`,
          may('queries:write') ? undefined : 'read-only key',
        ]}
        warning={work.dirty.value ? 'Draft · not published' : undefined}
      >
        <Menu label="More actions" items={menu} />
        <PublishAndRun work={work} run={run} publishing={publishing} isNext={tab !== 'use'} />
      </PageHead>
      <Tabs label="Parts of the query" tabs={tabs} value={tab} onChange={show} />
      <Notes work={work} onPublish={publishing.open} />
      <div class="query-body">
        <div class="query-part">
          <TabContent tab={tab} work={work} run={run} show={show} onSave={publishing.open} />
        </div>
        {publishing.isOpen && (
          <Later>{({ PublishPanel }) => <PublishPanel work={work} onClose={publishing.close} />}</Later>
        )}
      </div>
      {run.dialog}
      {naming && (
        <Later>{({ PathDialog }) => <PathDialog work={work} onClose={() => setNaming(false)} />}</Later>
      )}
      <TreeDialog asked={asked} />
    </div>
  );
}

/** What the person must know of the query before anything else. */
function Notes({ work, onPublish }: { work: QueryWork; onPublish(): void }) {
  const stored = work.stored.value;
  return (
    <>
      {(stored?.state === 'broken' || stored?.drift !== undefined) && (
        <Later>{({ DriftNote }) => <DriftNote work={work} />}</Later>
      )}
      {work.conflict.value !== undefined && (
        <Later>{({ ConflictView }) => <ConflictView work={work} onPublish={onPublish} />}</Later>
      )}
    </>
  );
}

interface TabContentProps {
  tab: string;
  work: QueryWork;
  run: RunActions;
  show(tab: string): void;
  onSave(): void;
}

function TabContent({ tab, work, run, show, onSave }: TabContentProps) {
  return (
    <>
      {tab === 'query' && <StoredWorkbench work={work} run={run} onSave={onSave} />}
      {tab === 'contract' && <Later>{({ ContractView }) => <ContractView work={work} />}</Later>}
      {tab === 'runs' && (
        <Later>
          {({ RunsView }) => (
            <RunsView
              work={work}
              onReuse={(past) => {
                work.values.value = past.values;
                show('query');
              }}
            />
          )}
        </Later>
      )}
      {tab === 'versions' && (
        <Later>{({ VersionsView }) => <VersionsView work={work} chosen={route.value[5]} />}</Later>
      )}
      {tab === 'statistics' && (
        <Later>{({ StatisticsView }) => <StatisticsView queryId={work.queryId} />}</Later>
      )}
      {tab === 'use' && <Later>{({ UseView }) => <UseView work={work} />}</Later>}
    </>
  );
}

function StoredWorkbench({ work, run, onSave }: Pick<TabContentProps, 'work' | 'run' | 'onSave'>) {
  const classifying = useClassify(work);
  return (
    <QueryWorkbench work={work} run={run} saved={savedOf(work)} classifying={classifying} onSave={onSave} />
  );
}

function menuOf(
  work: QueryWork,
  node: TreeNode | undefined,
  { ask, onPath }: { ask(asked: PendingDialog): void; onPath(): void },
): MenuItem[] {
  const { queryId } = work;
  const hub = hubId.value ?? '';
  const actions = node === undefined ? [] : (['rename', 'move', 'delete'] as const);
  return [
    { label: 'Copy link', run: () => void copyLink(work) },
    { label: 'Path …', needs: 'queries:write', run: onPath },
    { label: 'Duplicate', needs: 'queries:write', run: () => go('hub', hub, 'new-query', 'from', queryId) },
    ...actions.map((action) => ({
      label: `${action[0]?.toUpperCase()}${action.slice(1)}`,
      danger: action === 'delete',
      needs: 'queries:write' as const,
      run: () => node !== undefined && ask({ action, node }),
    })),
  ];
}

/** How the rows of the query are drawn. */
const savedOf = (work: QueryWork): Saved => ({
  presentation: work.stored.value?.config.presentation ?? {},
  save: (change) => work.present(change),
});

interface Publishing {
  isOpen: boolean;
  open(): void;
  close(): void;
}

/** Whether the step before publishing is open. It needs a draft, and no conflict about it. */
function usePublishing(work: QueryWork): Publishing {
  const [asked, setAsked] = useState(false);
  const isPossible = canPublish(work);
  const close = useCallback(() => setAsked(false), []);
  useEffect(() => {
    if (!isPossible) close();
  }, [isPossible]);
  return { isOpen: asked && isPossible, open: () => setAsked(canPublish(work)), close };
}

const canPublish = (work: QueryWork): boolean =>
  work.dirty.value && work.conflict.value === undefined && may('queries:write');

interface PublishAndRunProps {
  work: QueryWork;
  run: RunActions;
  publishing: Publishing;
  /** True if running may be the next thing to do. */
  isNext: boolean;
}

function PublishAndRun({ work, run, publishing, isNext }: PublishAndRunProps) {
  const dirty = work.dirty.value;
  return (
    <>
      {dirty && (
        <button type="button" class="quiet" onClick={() => work.revert()}>
          Discard changes
        </button>
      )}
      <button
        type="button"
        aria-expanded={publishing.isOpen}
        onClick={publishing.isOpen ? publishing.close : publishing.open}
        {...needs('queries:write', !dirty || work.conflict.value !== undefined)}
      >
        Publish …
      </button>
      <RunButton
        work={work}
        run={run}
        isNext={isNext && !publishing.isOpen && work.conflict.value === undefined}
      />
    </>
  );
}
