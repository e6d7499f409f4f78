/** A watch: what it does, when it runs next, and its last runs. */

import { callJson } from '../../api/client.ts';
import { go, linkTo } from '../../state/route.ts';
import { findNode } from '../../state/workspace.ts';
import { moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { FactList } from './fact-list.tsx';
import { RunTable, readRuns, Strip } from './runs.tsx';
import { WatchMenu } from './watch-menu.tsx';
import { addressOf, nextInZone, ruleOf, scheduleOf, stateWords, type Watch } from './words.ts';

export function WatchPage({ watchId }: { watchId: string }) {
  const loaded = useLoad((signal) => callJson<Watch>(addressOf(watchId), { signal }), [watchId]);
  const runs = useLoad((signal) => readRuns(watchId, signal), [watchId]);
  const refresh = () => {
    loaded.refresh();
    runs.refresh();
  };
  const watch = loaded.value;
  return (
    <div class="page">
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {watch === undefined && loaded.loading && <Loading what="the watch" />}
      {watch !== undefined && (
        <>
          <PageHead title={watch.label} {...tagOf(watch)}>
            <button type="button" onClick={refresh}>
              Refresh
            </button>
            <WatchMenu of={watch} onChange={refresh} onDeleted={() => go('hub', watch.hubId, 'watches')} />
          </PageHead>
          <Facts of={watch} />
          <section aria-label="Last runs" class="last-runs">
            <h2>Last 50 runs</h2>
            {runs.problem !== undefined && <ProblemBox problem={runs.problem} />}
            {runs.value?.length === 0 && <p class="empty">It has not run yet.</p>}
            {runs.value !== undefined && runs.value.length > 0 && (
              <>
                <Strip runs={runs.value} of={watch.label} />
                <RunTable watch={watch} runs={runs.value} />
              </>
            )}
          </section>
        </>
      )}
    </div>
  );
}

/** What a person should look into is a warning. */
const tagOf = ({ paused, state }: Watch) =>
  paused || state === 'failing' || state === 'firing'
    ? { warning: paused ? 'paused' : stateWords[state] }
    : { tags: [stateWords[state]] };

function Facts({ of: watch }: { of: Watch }) {
  const { hubId, queryId, by, include, nextAt, pausedBecause } = watch;
  const inZone = nextInZone(watch);
  return (
    <FactList
      facts={[
        ['Paused because', pausedBecause],
        [
          'Query',
          <a key="query" href={linkTo('hub', hubId, 'query', queryId)}>
            {findNode(queryId)?.node.label ?? 'a query'}
          </a>,
        ],
        ['Tells', ruleOf(watch)],
        ['Rows are told apart by', by.join(', ')],
        ['Values that are told', include.join(', ') || 'none'],
        ['Runs', scheduleOf(watch)],
        ['Next run', nextAt === null ? 'none' : moment(nextAt)],
        ['In the zone of the watch', inZone],
      ]}
    />
  );
}
