/** What a person can do with a watch, in a list and on its page. */

import { useState } from 'preact/hooks';
import { setMembers } from '../../api/change-document.ts';
import { call, callJson } from '../../api/client.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { WatchForm } from './watch-form.tsx';
import { addressOf, type Run, type Watch } from './words.ts';

/** Runs take longer if their query does. */
const runMaxMs = 30_000;
const pauseMs = 500;

/** Runs a watch, and waits for its end for a while. Resolves to what to tell the person. */
async function runOnce(address: string): Promise<string> {
  const { runId } = await callJson<{ runId: string }>(`${address}/run`, { method: 'POST' });
  const until = performance.now() + runMaxMs;
  while (performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const runs = await callJson<Run[]>(`${address}/runs?limit=5`);
    const run = runs.find((one) => one.runId === runId);
    if (run !== undefined) return `The run ended: ${run.outcome}.`;
  }
  return 'The watch still runs. Refresh the page to see how it ends.';
}

interface WatchMenuProps {
  of: Watch;
  onChange(): void;
  onDeleted(): void;
}

export function WatchMenu({ of: watch, onChange, onDeleted }: WatchMenuProps) {
  const [edited, setEdited] = useState<Watch>();
  const [isDeleting, setDeleting] = useState(false);
  const { label, paused } = watch;
  const address = addressOf(watch.watchId);
  const change = (work: Promise<unknown>, said: string) =>
    work
      .then(
        () => notify(said),
        (err) => notify(err.message),
      )
      .then(onChange);
  const setPaused = () => setMembers<Watch>(address, (now) => ({ ...now, paused: !paused }));
  // Others may have changed it since the page was read.
  const edit = () => callJson<Watch>(address).then(setEdited, (err) => notify(err.message));
  return (
    <>
      <Menu
        label={`Actions for ${label}`}
        items={[
          {
            label: 'Run now',
            needs: 'watches:write',
            run: () => {
              notify('The watch runs.');
              void runOnce(address)
                .then(notify, (err) => notify(err.message))
                .then(onChange);
            },
          },
          { label: 'Edit …', needs: 'watches:write', run: () => void edit() },
          {
            label: paused ? 'Resume' : 'Pause',
            needs: 'watches:write',
            run: () => change(setPaused(), paused ? 'The watch runs again.' : 'The watch is paused.'),
          },
          { label: 'Delete …', danger: true, needs: 'watches:write', run: () => setDeleting(true) },
        ]}
      />
      {edited !== undefined && (
        <WatchForm watch={edited} onDone={onChange} onClose={() => setEdited(undefined)} />
      )}
      {isDeleting && (
        <FormDialog
          title={`Delete “${label}”?`}
          action="Delete the watch"
          danger
          onClose={() => setDeleting(false)}
          onSubmit={() => call(address, { method: 'DELETE' }).then(onDeleted)}
        >
          <p>Its runs stay in the list of runs until they expire.</p>
        </FormDialog>
      )}
    </>
  );
}
