/** The watches of a hub: what each found last, when it runs next, and its last runs; and who is told. */

import { callList, part } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { go, goInstead, linkTo, route } from '../../state/route.ts';
import { findNode, hubId } from '../../state/workspace.ts';
import { moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ActionsHead, Scrolling, TableHead } from '../../ui/table.tsx';
import { Destinations } from './destinations.tsx';
import { RunPage } from './run-page.tsx';
import { RunStrip } from './runs.tsx';
import { StateTag } from './state-tag.tsx';
import { WatchForm } from './watch-form.tsx';
import { WatchMenu } from './watch-menu.tsx';
import { WatchPage } from './watch-page.tsx';
import { nextInZone, ruleOf, scheduleOf, type Watch } from './words.ts';

/** The list, a watch, or one of its runs, as the address names it. */
export function WatchesPage() {
  const [, , , watchId, runId] = route.value;
  if (watchId === undefined || watchId === 'new')
    return <WatchList queryId={runId} isNew={watchId === 'new'} />;
  if (runId === undefined) return <WatchPage key={watchId} watchId={watchId} />;
  return <RunPage key={runId} watchId={watchId} runId={runId} />;
}

/** `queryId`: of the query that the person comes from. */
function WatchList({ isNew, queryId }: { isNew: boolean; queryId: string | undefined }) {
  const id = hubId.value ?? '';
  const loaded = useLoad(
    (signal) => callList<Watch>(`v1/watches?hubId=${part(id)}`, { signal, pageSize: 200 }),
    [id],
  );
  return (
    <div class="page">
      <PageHead title="Watches">
        <button type="button" onClick={loaded.refresh}>
          Refresh
        </button>
        {may('watches:write') && (
          <button type="button" class="primary" onClick={() => go('hub', id, 'watches', 'new')}>
            New watch
          </button>
        )}
      </PageHead>
      <p class="hint">A watch runs a query by a schedule, and tells when rows are new, changed or gone.</p>
      <Listed of={loaded} what="watches" empty="No watches yet.">
        {(watches) => <WatchTable watches={watches} onChange={loaded.refresh} />}
      </Listed>
      <Destinations hubId={id} />
      {isNew && (
        <WatchForm
          queryId={queryId}
          onDone={loaded.refresh}
          onClose={() => goInstead('hub', id, 'watches')}
        />
      )}
    </div>
  );
}

interface Changing {
  onChange(): void;
}

function WatchTable({ watches, onChange }: Changing & { watches: readonly Watch[] }) {
  return (
    <Scrolling label="Watches">
      <table class="facts watches stacked">
        <TableHead names={['Name', 'State', 'Last run', 'Next run', 'Last 50 runs']}>
          <ActionsHead />
        </TableHead>
        <tbody>
          {watches.map((watch) => (
            <WatchRow key={watch.watchId} of={watch} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

function WatchRow({ of: watch, onChange }: Changing & { of: Watch }) {
  const { hubId: hub, watchId, label, queryId, pausedBecause, lastRun, nextAt } = watch;
  const inZone = nextInZone(watch);
  return (
    <tr>
      <td>
        <a class="watch-name" href={linkTo('hub', hub, 'watches', watchId)}>
          {label}
        </a>
        <div class="note">
          {ruleOf(watch)} of{' '}
          <a href={linkTo('hub', hub, 'query', queryId)}>{findNode(queryId)?.node.label ?? 'a query'}</a>,{' '}
          {scheduleOf(watch)}
        </div>
      </td>
      <td>
        <StateTag of={watch} />
        {pausedBecause !== null && <div class="note">{pausedBecause}</div>}
      </td>
      <td data-name="Last run">
        {lastRun === null ? (
          'none'
        ) : (
          <a href={linkTo('hub', hub, 'watches', watchId, lastRun.runId)}>
            {lastRun.outcome}, {moment(lastRun.endedAt)}
          </a>
        )}
        {lastRun?.detail && <div class="note">{lastRun.detail}</div>}
      </td>
      <td data-name="Next run">
        {nextAt === null ? 'none' : moment(nextAt)}
        {inZone !== undefined && <div class="note">{inZone}</div>}
      </td>
      <td>
        <RunStrip watch={watch} />
      </td>
      <td class="right">
        <WatchMenu of={watch} onChange={onChange} onDeleted={onChange} />
      </td>
    </tr>
  );
}
