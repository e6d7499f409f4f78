/** The frame of the console, with the view that the address names. */

import { type Signal, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { restored } from '../api/connection.ts';
import { key } from '../api/session.ts';
import { ofTab } from '../api/storage.ts';
import { HubPage } from '../pages/hub/hub-page.tsx';
import { Later, loadLater } from '../pages/lazy.tsx';
import { loadPermissions } from '../state/permissions.ts';
import { goInstead, isAtStart, route } from '../state/route.ts';
import { openKey } from '../state/shown-keys.ts';
import {
  Connection,
  Notice,
  notify,
  RunningDownloads,
  UnconfirmedKeys,
  WaitingForRate,
} from '../ui/notice.tsx';
import { Loading } from '../ui/page.tsx';
import { LeadsOn } from '../ui/page-problem.tsx';
import { ProblemBox } from '../ui/problem.tsx';
import { Bar } from './bar.tsx';
import { Side } from './side.tsx';
import { keepsNothing, SignIn } from './sign-in.tsx';
import '../state/theme.ts';
import { hubId, hubs, hubsProblem, loadClassifiers, loadHubs, loadTree } from '../state/workspace.ts';

export function App() {
  if (key.value === undefined) return <SignIn />;
  return <Frame />;
}

/** Closes the drawer with the tree, and gives the focus back to its button. */
function useEscape(sideOpen: Signal<boolean>): void {
  useEffect(() => {
    const close = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || !sideOpen.value || document.querySelector('dialog[open]') !== null)
        return;
      sideOpen.value = false;
      document.querySelector<HTMLElement>('.side-button')?.focus();
    };
    addEventListener('keydown', close);
    return () => removeEventListener('keydown', close);
  }, [sideOpen]);
}

/** Others can change hubs and trees, so they are read again when the tab becomes visible, or the hub answers again. */
function useReread(): void {
  useEffect(() => {
    const readAgain = () => {
      void loadHubs();
      void loadTree();
      void loadClassifiers();
    };
    const refresh = () => {
      if (document.visibilityState === 'visible') readAgain();
    };
    document.addEventListener('visibilitychange', refresh);
    let times = restored.value;
    const stop = restored.subscribe((now) => {
      if (now === times) return;
      times = now;
      readAgain();
      void loadPermissions();
    });
    return () => {
      stop();
      document.removeEventListener('visibilitychange', refresh);
    };
  }, []);
}

const firstActs = ['pointermove', 'pointerdown', 'keydown', 'wheel'];

/** Loads the code of the other pages when the person does something, so that it is there when they choose one. */
function useLaterAtFirstAct(): void {
  useEffect(() => {
    const loaded = new AbortController();
    const load = () => {
      loaded.abort();
      loadLater().catch(() => undefined);
    };
    for (const act of firstActs) addEventListener(act, load, { signal: loaded.signal });
    return () => loaded.abort();
  }, []);
}

/** Opens the first hub, if the address names no page. */
function leaveStart(): void {
  if (!isAtStart()) return;
  const first = hubs.value?.find(({ archived }) => !archived);
  if (first !== undefined) goInstead('hub', first.hubId);
  else goInstead(hubs.value === undefined ? 'run' : 'hubs');
}

function Frame() {
  const sideOpen = useSignal(false);
  useEffect(() => {
    void loadHubs().then(leaveStart);
    void loadPermissions();
    void loadClassifiers();
    if (!ofTab.keeps()) notify(keepsNothing);
  }, []);
  useLaterAtFirstAct();
  useSignalEffect(() => {
    if (hubId.value !== undefined) void loadTree(hubId.value);
  });
  // A person can come back to the start.
  useSignalEffect(() => {
    void route.value;
    if (hubs.value !== undefined) leaveStart();
  });
  useSignalEffect(() => {
    void route.value;
    sideOpen.value = false;
  });
  useReread();
  useEscape(sideOpen);
  return (
    <div class="frame" data-side={sideOpen.value}>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to the content
      </button>
      <Bar
        sideOpen={sideOpen.value}
        onSide={() => {
          sideOpen.value = !sideOpen.value;
        }}
      />
      <Side />
      {sideOpen.value && (
        <button
          type="button"
          class="shade"
          aria-label="Hide the tree"
          onClick={() => {
            sideOpen.value = false;
          }}
        />
      )}
      <main id="main" class="main" tabIndex={-1}>
        <View />
      </main>
      <div class="bars">
        <UnconfirmedKeys />
        <WaitingForRate />
        <Connection />
      </div>
      {openKey.value !== undefined && (
        <Later>{({ ShownKeyDialog }) => openKey.value && <ShownKeyDialog shown={openKey.value} />}</Later>
      )}
      <RunningDownloads />
      <Notice />
    </div>
  );
}

const NoPage = () => (
  <>
    <h1 class="loading">There is no such page.</h1>
    <LeadsOn />
  </>
);

function View() {
  const [area, hub, page, id] = route.value;
  if (area === 'run')
    return <Later>{({ RunById }) => <RunById queryId={hub} problem={hubsProblem.value} />}</Later>;
  if (area === 'hubs') return <Later>{({ HubsPage }) => <HubsPage />}</Later>;
  if (area === 'q' && hub !== undefined)
    return <Later>{({ ShortLink }) => <ShortLink key={hub} queryId={hub} />}</Later>;
  if (area !== undefined && (area !== 'hub' || hub === undefined)) return <NoPage />;
  if (hub === undefined) {
    return hubsProblem.value === undefined ? (
      <Loading what="hubs" />
    ) : (
      <ProblemBox problem={hubsProblem.value} />
    );
  }
  if (page === undefined) return <HubPage key={hub} />;
  if (page === 'query' && id !== undefined)
    return <Later>{({ QueryPage }) => <QueryPage key={id} queryId={id} />}</Later>;
  if (page === 'source' && id !== undefined)
    return <Later>{({ SourcePage }) => <SourcePage key={id} sourceId={id} />}</Later>;
  if (page === 'boards') return <Later>{({ BoardsPage }) => <BoardsPage />}</Later>;
  if (page === 'new-query') return <Later>{({ NewQuery }) => <NewQuery key={hub} />}</Later>;
  if (page === 'new-source') return <Later>{({ NewSource }) => <NewSource key={hub} />}</Later>;
  if (page === 'classifier' && id !== undefined)
    return <Later>{({ ClassifierPage }) => <ClassifierPage key={id} classifierId={id} />}</Later>;
  if (page === 'new-classifier') return <Later>{({ NewClassifier }) => <NewClassifier />}</Later>;
  if (page === 'summary') return <Later>{({ SummaryPage }) => <SummaryPage />}</Later>;
  if (page === 'statistics') return <Later>{({ StatisticsPage }) => <StatisticsPage />}</Later>;
  if (page === 'keys') return <Later>{({ KeysPage }) => <KeysPage key={hub} />}</Later>;
  if (page === 'people') return <Later>{({ PeoplePage }) => <PeoplePage />}</Later>;
  if (page === 'agents') return <Later>{({ AgentsPage }) => <AgentsPage />}</Later>;
  if (page === 'watches') return <Later>{({ WatchesPage }) => <WatchesPage key={hub} />}</Later>;
  if (page === 'audit') return <Later>{({ AuditPage }) => <AuditPage />}</Later>;
  return <NoPage />;
}
