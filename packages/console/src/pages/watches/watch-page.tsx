/** A watch: what it does, when it runs next, and its last runs. */

import { callJson } from '../../api/client.ts';
import { go, linkTo } from '../../state/route.ts';
import { findNode } from '../../state/workspace.ts';
import { moment } from '../../ui/format.ts';
import { Listed, Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { PageHead } from '../../ui/page.tsx';
import { FactList } from './fact-list.tsx';
import { RunTable, readRuns, Strip } from './runs.tsx';
import { StateTag } from './state-tag.tsx';
import { WatchMenu } from './watch-menu.tsx';
import { addressOf, nextInZone, ruleOf, scheduleOf, type Watch } from './words.ts';

export function WatchPage({ watchId }: { watchId: string }) {
  const loaded = useLoad((signal) => callJson<Watch>(addressOf(watchId), { signal }), [watchId]);
  const runs = useLoad((signal) => readRuns(watchId, signal), [watchId]);
  const refresh = () => {
    loaded.refresh();
    runs.refresh();
  };
  return (
    <div class="page">
      <Shown of={loaded} what="the watch">
        {(watch) => (
          <>
            <PageHead title={watch.label} state={<StateTag of={watch} />}>
              <button type="button" onClick={refresh}>
                Refresh
              </button>
              <WatchMenu of={watch} onChange={refresh} onDeleted={() => go('hub', watch.hubId, 'watches')} />
            </PageHead>
            <Facts of={watch} />
            <section aria-label="Last runs" class="last-runs">
              <h2>Last 50 runs</h2>
              <Listed of={runs} what="its runs" empty="It has not run yet.">
                {(all) => (
                  <>
                    <Strip runs={all} of={watch.label} />
                    <RunTable watch={watch} runs={all} />
                  </>
                )}
              </Listed>
            </section>
          </>
        )}
      </Shown>
    </div>
  );
}

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
