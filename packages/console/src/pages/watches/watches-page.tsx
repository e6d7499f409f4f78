/** The watches of a hub: what each found last, when it runs next, and its last runs; and who is told. */

import { useState } from 'preact/hooks';
import { call, callList, part } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { go, goInstead, linkTo, route } from '../../state/route.ts';
import { findNode, hubId } from '../../state/workspace.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading, PageHead } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { Destinations } from './destinations.tsx';
import { NewWatch } from './new-watch.tsx';
import { RunStrip, RunsDialog } from './runs.tsx';
import { inZone, ruleOf, scheduleOf, stateWords, type Watch } from './words.ts';

export function WatchesPage() {
  const id = hubId.value ?? '';
  const [, , , how, queryId] = route.value;
  const loaded = useLoad(
    (signal) => callList<Watch>(`v1/watches?hubId=${part(id)}`, { signal, pageSize: 200 }),
    [id],
  );
  const watches = loaded.value;
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
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {loaded.loading && watches === undefined && <Loading what="watches" />}
      {watches?.length === 0 && <p class="empty">No watches yet.</p>}
      {watches !== undefined && watches.length > 0 && (
        <WatchTable watches={watches} onChange={loaded.refresh} />
      )}
      <Destinations hubId={id} />
      {how === 'new' && (
        <NewWatch queryId={queryId} onMade={loaded.refresh} onClose={() => goInstead('hub', id, 'watches')} />
      )}
    </div>
  );
}

interface Changing {
  onChange(): void;
}

function WatchTable({ watches, onChange }: Changing & { watches: Watch[] }) {
  return (
    <Scrolling label="Watches">
      <table class="facts watches">
        <TableHead names={['Name', 'State', 'Last run', 'Next run', 'Last 50 runs']}>
          <th scope="col">
            <span class="sr-only">Actions</span>
          </th>
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

const addressOf = ({ watchId }: Watch) => `v1/watches/${part(watchId)}`;

function WatchRow({ of: watch, onChange }: Changing & { of: Watch }) {
  const [open, setOpen] = useState<'runs' | 'delete'>();
  const { label, queryId, state, paused, pausedBecause, lastRun, nextAt } = watch;
  const change = (work: Promise<unknown>, said: string) => tellEnd(work, said).then(onChange);
  const setPaused = () => call(addressOf(watch), { method: 'PUT', body: { ...watch, paused: !paused } });
  return (
    <tr>
      <td>
        <strong>{label}</strong>
        <div class="note">
          {ruleOf(watch)} of{' '}
          <a href={linkTo('hub', watch.hubId, 'query', queryId)}>
            {findNode(queryId)?.node.label ?? 'a query'}
          </a>
          , {scheduleOf(watch)}
        </div>
      </td>
      <td>
        <span class={`tag watch-${paused ? 'paused' : state}`}>{paused ? 'paused' : stateWords[state]}</span>
        {pausedBecause !== null && <div class="note">{pausedBecause}</div>}
      </td>
      <td>
        {lastRun === null ? 'none' : `${lastRun.outcome}, ${moment(lastRun.endedAt)}`}
        {lastRun?.detail && <div class="note">{lastRun.detail}</div>}
      </td>
      <td>
        {nextAt === null ? 'none' : moment(nextAt)}
        {nextAt !== null && watch.schedule.timeZone !== undefined && (
          <div class="note">{inZone(nextAt, watch.schedule.timeZone)}</div>
        )}
      </td>
      <td>
        <RunStrip watch={watch} onOpen={() => setOpen('runs')} />
        {open !== undefined && (
          <WatchDialog open={open} of={watch} onClose={() => setOpen(undefined)} onChange={onChange} />
        )}
      </td>
      <td class="right">
        <Menu
          label={`Actions for ${label}`}
          items={[
            { label: 'Runs', run: () => setOpen('runs') },
            {
              label: 'Run now',
              needs: 'watches:write',
              run: () => change(call(`${addressOf(watch)}/run`, { method: 'POST' }), 'The watch runs.'),
            },
            {
              label: paused ? 'Resume' : 'Pause',
              needs: 'watches:write',
              run: () => change(setPaused(), paused ? 'The watch runs again.' : 'The watch is paused.'),
            },
            { label: 'Delete …', danger: true, needs: 'watches:write', run: () => setOpen('delete') },
          ]}
        />
      </td>
    </tr>
  );
}

/** Says how an action ended. */
const tellEnd = (work: Promise<unknown>, said: string): Promise<void> =>
  work.then(
    () => notify(said),
    (err) => notify(err.message),
  );

interface WatchDialogProps extends Changing {
  open: 'runs' | 'delete';
  of: Watch;
  onClose(): void;
}

function WatchDialog({ open, of: watch, onClose, onChange }: WatchDialogProps) {
  if (open === 'runs') return <RunsDialog watch={watch} onClose={onClose} />;
  return (
    <FormDialog
      title={`Delete “${watch.label}”?`}
      action="Delete the watch"
      danger
      onClose={onClose}
      onSubmit={() => call(addressOf(watch), { method: 'DELETE' }).then(onChange)}
    >
      <p>Its runs stay in the list of runs until they expire.</p>
    </FormDialog>
  );
}
