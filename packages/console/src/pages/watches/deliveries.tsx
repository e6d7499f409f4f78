/** What was sent to a destination, how it ended, and sending it again. */

import { useState } from 'preact/hooks';
import { call, callPage, part } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count, moment } from '../../ui/format.ts';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { notify } from '../../ui/notice.tsx';
import { OffsetPager } from '../../ui/pager.tsx';
import { ActionsHead, CardTable } from '../../ui/table.tsx';
import type { Delivery, Destination } from './words.ts';

const pageSize = 100;

export function Deliveries({ of: { destinationId, label }, onClose }: { of: Destination; onClose(): void }) {
  const [offset, setOffset] = useState(0);
  const loaded = useLoad(
    (signal) =>
      callPage<Delivery>(`v1/deliveries?destinationId=${part(destinationId)}`, {
        offset,
        limit: pageSize,
        signal,
      }),
    [destinationId, offset],
  );
  const again = (path: string) =>
    call(`v1/${path}/redeliver`, { method: 'POST' }).then(
      () => loaded.refresh(),
      (err) => notify(err.message),
    );
  const hasFailed = loaded.value?.items.some(({ state }) => state === 'failed') === true;
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
      <Shown of={loaded} what="deliveries">
        {(page) =>
          page.total === 0 ? (
            <p class="empty">Nothing was sent yet.</p>
          ) : (
            <>
              <DeliveryTable deliveries={page.items} onAgain={(id) => again(`deliveries/${part(id)}`)} />
              <OffsetPager page={page} size={pageSize} onChange={setOffset} />
            </>
          )
        }
      </Shown>
    </Dialog>
  );
}

interface DeliveryTableProps {
  deliveries: Delivery[];
  onAgain(deliveryId: string): void;
}

const DeliveryTable = ({ deliveries, onAgain }: DeliveryTableProps) => (
  <CardTable
    label="Deliveries"
    names={['Event', 'State', 'Attempts', 'Last answer', 'Next attempt']}
    heads={<ActionsHead />}
  >
    {deliveries.map(({ deliveryId, type, createdAt, state, attempts, status, error, nextAt }) => (
      <tr key={deliveryId}>
        <td class="when">
          {type}
          <div class="note">{moment(createdAt)}</div>
        </td>
        <td>{state}</td>
        <td data-name="Attempts">{count(attempts)}</td>
        <td data-name="Last answer">{status === null ? (error ?? 'none') : `HTTP ${status}`}</td>
        <td data-name="Next attempt" class="when">
          {nextAt === null ? 'none' : moment(nextAt)}
        </td>
        <td>
          {(state === 'failed' || (state === 'pending' && attempts > 0)) && (
            <button type="button" class="quiet" onClick={() => onAgain(deliveryId)}>
              {state === 'failed' ? 'Send again' : 'Send now'}
            </button>
          )}
        </td>
      </tr>
    ))}
  </CardTable>
);
