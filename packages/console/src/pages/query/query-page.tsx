/** One stored query: its text, its variables, its rows. */

import { useSignal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { isAborted, problemOf } from '../../api/client.ts';
import { restored } from '../../api/connection.ts';
import type { Problem, TreeNode } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { may, needs } from '../../state/permissions.ts';
import { type QueryWork, workOf } from '../../state/query-work.ts';
import { go, route } from '../../state/route.ts';
import { findNode, hubId, loadTree, tree } from '../../state/workspace.ts';
import { engineName } from '../../ui/format.ts';
import { Icon } from '../../ui/icons.tsx';
import { modifier } from '../../ui/keyboard.ts';
import { Menu, type MenuItem } from '../../ui/menu.tsx';
import { Loading, PageHead, Tabs } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { type PendingDialog, TreeDialog } from '../../ui/tree/tree-dialogs.tsx';
import { Later } from '../lazy.tsx';
import { ConflictNote } from './conflict-note.tsx';
import { ContractView } from './contract-view.tsx';
import { QueryWorkbench } from './query-workbench.tsx';
import { type RunActions, useRun } from './run-actions.tsx';
import { RunById } from './run-by-id.tsx';
import { RunsView } from './runs-view.tsx';
import { UseDialog } from './use-dialog.tsx';

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
  if (problem?.code === 'SCOPE_DENIED') return <RunById queryId={queryId} problem={problem} />;
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
  const [using, setUsing] = useState(false);
  const tab = tabs.find(([name]) => name === route.value[4])?.[0] ?? 'query';
  const show = (name: string) =>
    go('hub', hubId.value ?? '', 'query', work.queryId, ...(name === 'query' ? [] : [name]));
  const run = useRun(work);
  const stored = work.stored.value;
  const dirty = work.dirty.value;
  useUnsavedWarning(work);
  const node = findNode(work.queryId)?.node;
  const command = work.draft.value?.command ?? '';
  const menu = menuOf(work.queryId, node, (next) => {
    asked.value = next;
  });
  return (
    <div class="query-page" data-tab={tab}>
      <PageHead
        title={node?.label ?? stored?.meta.label}
        tags={[
          `${reads(command) ? 'reads' : `writes: ${command}`} · ${engineName(work.engine.value)}`,
          dirty ? 'not saved' : undefined,
          may('queries:write') ? undefined : 'read-only key',
        ]}
      >
        <Menu label="More actions" items={menu} />
        <button type="button" onClick={() => setUsing(true)}>
          Use it
        </button>
        <SaveAndRun work={work} run={run} />
      </PageHead>
      <Tabs label="Parts of the query" tabs={tabs} value={tab} onChange={show} />
      {run.problem !== undefined && <ProblemBox problem={run.problem} />}
      <ConflictNote work={work} />
      {tab === 'query' && <QueryWorkbench work={work} run={run} />}
      {tab === 'contract' && <ContractView work={work} />}
      {tab === 'runs' && (
        <RunsView
          work={work}
          onReuse={(past) => {
            work.values.value = past.values;
            show('query');
          }}
        />
      )}
      {tab === 'versions' && (
        <Later>{({ VersionsView }) => <VersionsView work={work} chosen={route.value[5]} />}</Later>
      )}
      {tab === 'statistics' && (
        <Later>{({ StatisticsView }) => <StatisticsView queryId={work.queryId} />}</Later>
      )}
      {run.dialog}
      {using && <UseDialog work={work} onClose={() => setUsing(false)} />}
      <TreeDialog asked={asked} />
    </div>
  );
}

function menuOf(
  queryId: string,
  node: TreeNode | undefined,
  ask: (asked: PendingDialog) => void,
): MenuItem[] {
  const hub = hubId.value ?? '';
  const actions = node === undefined ? [] : (['rename', 'move', 'delete'] as const);
  return [
    { label: 'Duplicate', needs: 'queries:write', run: () => go('hub', hub, 'new-query', 'from', queryId) },
    ...actions.map((action) => ({
      label: `${action[0]?.toUpperCase()}${action.slice(1)}`,
      danger: action === 'delete',
      needs: 'queries:write' as const,
      run: () => node !== undefined && ask({ action, node }),
    })),
  ];
}

function SaveAndRun({ work, run }: { work: QueryWork; run: RunActions }) {
  const dirty = work.dirty.value;
  const running = work.runner.state.value.status === 'running';
  const asks = !reads(work.draft.value?.command ?? '');
  const words = `${dirty ? 'Save and run' : 'Run'}${asks ? ' …' : ''}`;
  return (
    <>
      {dirty && (
        <button type="button" class="quiet" onClick={() => work.revert()}>
          Discard changes
        </button>
      )}
      <button type="button" onClick={() => void run.save()} {...needs('queries:write', !dirty || run.saving)}>
        Save
      </button>
      {running ? (
        <button type="button" class="danger run-button" onClick={() => work.runner.cancel()}>
          <Icon name="stop" /> Cancel
        </button>
      ) : (
        <button
          type="button"
          class="primary run-button"
          onClick={() => run.ask()}
          {...needs(dirty ? 'queries:write' : asks ? 'queries:execute:write' : 'queries:execute')}
        >
          {words} <kbd>{modifier}⏎</kbd>
        </button>
      )}
    </>
  );
}
