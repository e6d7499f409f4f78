/** The destinations that a hub may tell, their deliveries, and new ones. */

import { useRef, useState } from 'preact/hooks';
import { setMembers } from '../../api/change-document.ts';
import { call, callJson, callList } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { FormDialog } from '../../ui/dialog.tsx';
import { moment } from '../../ui/format.ts';
import { Listed } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { ActionsHead, CardTable } from '../../ui/table.tsx';
import { Deliveries } from './deliveries.tsx';
import { DestinationForm, destinationPath, SecretDialog, settingsOf } from './destination-form.tsx';
import type { Destination } from './words.ts';

export const readDestinations = (signal: AbortSignal) =>
  callList<Destination>('v1/destinations', { signal, pageSize: 200 });

export function Destinations({ hubId }: { hubId: string }) {
  const loaded = useLoad(readDestinations, []);
  const [making, setMaking] = useState(false);
  const ofHub = loaded.value?.filter(({ hubIds }) => hubIds == null || hubIds.includes(hubId));
  return (
    <section class="destinations" aria-label="Destinations">
      <div class="head">
        <h2>Destinations</h2>
        <span class="spring" />
        {may('destinations:write') && (
          <button type="button" onClick={() => setMaking(true)}>
            New destination
          </button>
        )}
      </div>
      <Listed
        of={{ ...loaded, value: ofHub }}
        what="destinations"
        empty="Nobody is told yet. Events are at /v1/events all the same."
      >
        {(all) => (
          <CardTable
            label="List of destinations"
            names={['Name', 'Address', 'State']}
            heads={<ActionsHead />}
          >
            {all.map((one) => (
              <DestinationRow key={one.destinationId} of={one} hubId={hubId} onChange={loaded.refresh} />
            ))}
          </CardTable>
        )}
      </Listed>
      {making && <DestinationForm hubId={hubId} onDone={loaded.refresh} onClose={() => setMaking(false)} />}
    </section>
  );
}

function stateOf({ disabled, disabledBecause, failingSince, kind, confirmedAt }: Destination): string {
  if (disabled) return `disabled. ${disabledBecause ?? ''}`;
  if (kind === 'mail' && confirmedAt === null) return 'waits until the recipient agrees';
  return failingSince == null ? 'ok' : `failing since ${moment(failingSince)}`;
}

interface RowProps {
  of: Destination;
  hubId: string;
  onChange(): void;
}

type What = 'deliveries' | 'rotate' | 'delete';

function DestinationRow({ of: one, hubId, onChange }: RowProps) {
  const [open, setOpen] = useState<What>();
  const [edited, setEdited] = useState<Destination>();
  const { destinationId, label, kind, url, mailTo, disabled } = one;
  const address = destinationPath(destinationId);
  const say = (work: Promise<unknown>, said: string) =>
    work.then(
      () => notify(said),
      (err) => notify(err.message),
    );
  const enable = () => setMembers<Destination>(address, (now) => ({ ...settingsOf(now), disabled: false }));
  // Others may have changed it since the list was read.
  const edit = () => callJson<Destination>(address).then(setEdited, (err) => notify(err.message));
  const items = [
    { label: 'Deliveries', run: () => setOpen('deliveries') },
    {
      label: 'Send a test',
      run: () =>
        say(call(`${address}/test`, { method: 'POST' }), 'A test is on its way. Look at the deliveries.'),
    },
    { label: 'Edit …', run: () => void edit() },
    ...(disabled
      ? [{ label: 'Enable', run: () => say(enable(), 'The destination is told again.').then(onChange) }]
      : []),
    ...(kind === 'webhook' ? [{ label: 'New secret …', run: () => setOpen('rotate') }] : []),
    { label: 'Delete …', danger: true, run: () => setOpen('delete') },
  ];
  return (
    <tr>
      <td>
        <strong>{label}</strong>
        <div class="note">{kind}</div>
      </td>
      <td class="watch-address">{mailTo ?? url ?? ''}</td>
      <td>
        <span class={disabled || one.failingSince != null ? 'failed-text' : undefined}>{stateOf(one)}</span>
        {open !== undefined && (
          <OpenedDialog what={open} of={one} onChange={onChange} onClose={() => setOpen(undefined)} />
        )}
        {edited !== undefined && (
          <DestinationForm of={edited} hubId={hubId} onDone={onChange} onClose={() => setEdited(undefined)} />
        )}
      </td>
      <td class="right">
        {may('destinations:write') && <Menu label={`Actions for ${label}`} items={items} />}
      </td>
    </tr>
  );
}

interface OpenedProps extends Pick<RowProps, 'of' | 'onChange'> {
  what: What;
  onClose(): void;
}

function OpenedDialog({ what, of: one, onChange, onClose }: OpenedProps) {
  const address = destinationPath(one.destinationId);
  if (what === 'deliveries') return <Deliveries of={one} onClose={onClose} />;
  if (what === 'rotate') return <NewSecret of={one} onClose={onClose} />;
  return (
    <FormDialog
      title={`Delete “${one.label}”?`}
      action="Delete the destination"
      danger
      onClose={onClose}
      onSubmit={() => call(address, { method: 'DELETE' }).then(onChange)}
    >
      <p>Watches that name it tell it no more.</p>
    </FormDialog>
  );
}

function NewSecret({ of: { destinationId, label }, onClose }: { of: Destination; onClose(): void }) {
  const [secret, setSecret] = useState<string>();
  const isMade = useRef(false);
  if (secret !== undefined) return <SecretDialog secret={secret} onClose={onClose} />;
  const make = async () => {
    const path = `${destinationPath(destinationId)}/rotate`;
    const made = await callJson<{ secret: string }>(path, { method: 'POST' });
    isMade.current = true;
    setSecret(made.secret);
  };
  return (
    <FormDialog
      title={`A new secret for “${label}”?`}
      action="Make a new secret"
      onClose={() => isMade.current || onClose()}
      onSubmit={make}
    >
      <p>For a day, deliveries are signed with both, so that the receiver can change over.</p>
    </FormDialog>
  );
}
