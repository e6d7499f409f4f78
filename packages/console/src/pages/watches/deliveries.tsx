/** What was sent to a destination, how it ended, and sending it again. */

import { call, callJson, part } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count, moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { notify } from '../../ui/notice.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import type { Delivery, Destination } from './words.ts';

export function Deliveries({ of: { destinationId, label }, onClose }: { of: Destination; onClose(): void }) {
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
          <table class="facts stacked">
            <TableHead names={['Event', 'State', 'Attempts', 'Answer', 'Next attempt', 'Again']} />
            <tbody>
              {loaded.value.map(({ deliveryId, type, createdAt, state, attempts, status, error, nextAt }) => (
                <tr key={deliveryId}>
                  <td>
                    {type}
                    <div class="note">{moment(createdAt)}</div>
                  </td>
                  <td>{state}</td>
                  <td data-name="Attempts">{count(attempts)}</td>
                  <td data-name="Answer">{status ?? error ?? ''}</td>
                  <td data-name="Next attempt">{nextAt === null ? 'none' : moment(nextAt)}</td>
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
