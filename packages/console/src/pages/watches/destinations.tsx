/** The destinations that a hub may tell, their deliveries, and new ones. */

import { useRef, useState } from 'preact/hooks';
import { call, callJson, callList, part } from '../../api/client.ts';
import { may } from '../../state/permissions.ts';
import { CopyBlock } from '../../ui/copy-block.tsx';
import { Dialog, FormDialog } from '../../ui/dialog.tsx';
import { Choice, Field } from '../../ui/field.tsx';
import { count, moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Menu } from '../../ui/menu.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import type { Delivery, Destination } from './words.ts';

export const readDestinations = (signal: AbortSignal) =>
  callList<Destination>('v1/destinations', { signal, pageSize: 200 });

export function Destinations({ hubId }: { hubId: string }) {
  const loaded = useLoad(readDestinations, []);
  const [making, setMaking] = useState(false);
  const all = loaded.value?.filter(({ hubIds }) => hubIds == null || hubIds.includes(hubId));
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
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {loaded.loading && all === undefined && <Loading what="destinations" />}
      {all?.length === 0 && <p class="empty">Nobody is told yet. Events are at /v1/events all the same.</p>}
      {all !== undefined && all.length > 0 && (
        <Scrolling label="List of destinations">
          <table class="facts">
            <TableHead names={['Name', 'Address', 'State']}>
              <th scope="col">
                <span class="sr-only">Actions</span>
              </th>
            </TableHead>
            <tbody>
              {all.map((one) => (
                <DestinationRow key={one.destinationId} of={one} onChange={loaded.refresh} />
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
      {making && <NewDestination hubId={hubId} onMade={loaded.refresh} onClose={() => setMaking(false)} />}
    </section>
  );
}

function stateOf({ disabled, disabledBecause, failingSince, kind, confirmedAt }: Destination): string {
  if (disabled) return `disabled. ${disabledBecause ?? ''}`;
  if (kind === 'mail' && confirmedAt === null) return 'waits until the recipient agrees';
  return failingSince == null ? 'ok' : `failing since ${moment(failingSince)}`;
}

function DestinationRow({ of: one, onChange }: { of: Destination; onChange(): void }) {
  const [open, setOpen] = useState<'deliveries' | 'delete'>();
  const { destinationId, label, kind, url, mailTo } = one;
  const address = `v1/destinations/${part(destinationId)}`;
  const test = () =>
    call(`${address}/test`, { method: 'POST' }).then(
      () => notify('A test is on its way. Look at the deliveries.'),
      (err) => notify(err.message),
    );
  return (
    <tr>
      <td>
        <strong>{label}</strong>
        <div class="note">{kind}</div>
      </td>
      <td class="watch-address">{mailTo ?? url ?? ''}</td>
      <td>
        {stateOf(one)}
        {open === 'deliveries' && <Deliveries of={one} onClose={() => setOpen(undefined)} />}
        {open === 'delete' && (
          <FormDialog
            title={`Delete “${label}”?`}
            action="Delete the destination"
            danger
            onClose={() => setOpen(undefined)}
            onSubmit={() => call(address, { method: 'DELETE' }).then(onChange)}
          >
            <p>Watches that name it tell it no more.</p>
          </FormDialog>
        )}
      </td>
      <td class="right">
        {may('destinations:write') && (
          <Menu
            label={`Actions for ${label}`}
            items={[
              { label: 'Deliveries', run: () => setOpen('deliveries') },
              { label: 'Send a test', run: test },
              { label: 'Delete …', danger: true, run: () => setOpen('delete') },
            ]}
          />
        )}
      </td>
    </tr>
  );
}

function Deliveries({ of: { destinationId, label }, onClose }: { of: Destination; onClose(): void }) {
  const loaded = useLoad(
    (signal) =>
      callJson<Delivery[]>(`v1/deliveries?destinationId=${part(destinationId)}&limit=100`, { signal }),
    [destinationId],
  );
  const again = (path: string) =>
    call(`v1/${path}/redeliver`, { method: 'POST' }).then(
      () => loaded.refresh(),
      (err) => notify(err.message),
    );
  const hasFailed = loaded.value?.some(({ state }) => state === 'failed') === true;
  return (
    <Dialog title={`Deliveries to “${label}”`} wide onClose={onClose}>
      <div class="actions">
        <button type="button" onClick={loaded.refresh}>
          Refresh
        </button>
        {hasFailed && (
          <button type="button" onClick={() => again(`destinations/${part(destinationId)}`)}>
            Send all that failed again
          </button>
        )}
      </div>
      {loaded.problem !== undefined && <ProblemBox problem={loaded.problem} />}
      {loaded.value === undefined && loaded.loading && <Loading what="deliveries" />}
      {loaded.value?.length === 0 && <p class="empty">Nothing was sent yet.</p>}
      {loaded.value !== undefined && loaded.value.length > 0 && (
        <Scrolling label="Deliveries">
          <table class="facts">
            <TableHead names={['Event', 'State', 'Attempts', 'Answer', 'Next attempt', 'Again']} />
            <tbody>
              {loaded.value.map(({ deliveryId, type, createdAt, state, attempts, status, error, nextAt }) => (
                <tr key={deliveryId}>
                  <td>
                    {type}
                    <div class="note">{moment(createdAt)}</div>
                  </td>
                  <td>{state}</td>
                  <td>{count(attempts)}</td>
                  <td>{status ?? error ?? ''}</td>
                  <td>{nextAt === null ? '' : moment(nextAt)}</td>
                  <td>
                    {state === 'failed' && (
                      <button
                        type="button"
                        class="quiet"
                        onClick={() => again(`deliveries/${part(deliveryId)}`)}
                      >
                        Send again
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
    </Dialog>
  );
}

const kinds = [
  ['webhook', 'Webhook, signed'],
  ['slack', 'Webhook of a chat product'],
  ['mail', 'Mail'],
] as const;

interface NewDestinationProps {
  hubId: string;
  onMade(): void;
  onClose(): void;
}

function NewDestination({ hubId, onMade, onClose }: NewDestinationProps) {
  const [kind, setKind] = useState('webhook');
  const [label, setLabel] = useState('');
  const [address, setAddress] = useState('');
  const [secret, setSecret] = useState<string>();
  const showsSecret = useRef(false);
  if (secret !== undefined)
    return (
      <Dialog title="The secret of the destination" onClose={onClose}>
        <p>Its receiver verifies signatures with this secret. It is shown only now.</p>
        <CopyBlock label="Secret" text={secret} />
      </Dialog>
    );
  const isMail = kind === 'mail';
  const create = async () => {
    const place = isMail ? { mailTo: address } : { url: address };
    const template = kind === 'slack' ? { template: 'slack' } : {};
    const body = { label, hubIds: [hubId], ...place, ...template };
    const made = await callJson<{ secret?: string }>('v1/destinations', { body });
    onMade();
    // The secret is shown instead of the form.
    showsSecret.current = kind === 'webhook';
    if (showsSecret.current) setSecret(made.secret);
  };
  return (
    <FormDialog
      title="New destination"
      action="Create"
      disabled={label === '' || address === ''}
      onClose={() => showsSecret.current || onClose()}
      onSubmit={create}
    >
      <Choice label="Kind" value={kind} options={kinds} onChange={setKind} />
      <Field label="Name" value={label} onInput={setLabel} required autofocus />
      <Field
        label={isMail ? 'Mail address' : 'Address'}
        value={address}
        onInput={setAddress}
        required
        hint={isMail ? 'The recipient must agree before anything is sent.' : undefined}
      />
    </FormDialog>
  );
}
