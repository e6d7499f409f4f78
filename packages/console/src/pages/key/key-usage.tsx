/** How much a key is used: its executions and signed-in users by day. */

import { callJson, part } from '../../api/client.ts';
import type { Answer, Key } from '../../api/types.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count, counted } from '../../ui/format.ts';
import { Shown } from '../../ui/listed.tsx';
import { useLoad } from '../../ui/load.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { partOf } from '../statistics/figures.ts';

type Usage = Answer<'GET /v1/keys/{keyId}/usage'>;

export const readUsage = (keyId: string, signal: AbortSignal): Promise<Usage> =>
  callJson(`v1/keys/${part(keyId)}/usage`, { signal });

export function KeyUsage({ of: { keyId, name }, onClose }: { of: Key; onClose(): void }) {
  const usage = useLoad((signal) => readUsage(keyId, signal), [keyId]);
  return (
    <Dialog title={`Usage of “${name}”`} onClose={onClose}>
      <Shown of={usage} what="the usage">
        {(value) => <Days usage={value} />}
      </Shown>
    </Dialog>
  );
}

function Days({ usage: { from, days, truncated, ...all } }: { usage: Usage }) {
  const since = truncated ? 'in the last hours of today, which has too many to count' : `since ${from}`;
  if (all.count === 0)
    return <p class="empty">No query was executed with it {since}. Executions appear within seconds.</p>;
  const hasUsers = all.users > 0;
  const byUsers = hasUsers ? ` by about ${counted(all.users, 'signed-in user')}` : '';
  return (
    <>
      <p class="hint">
        {counted(all.count, 'execution')} of all queries{byUsers} {since}, in days of UTC.
      </p>
      <Scrolling label="Usage by day">
        <table class="facts numbers">
          <TableHead names={['Day', 'Executions', 'Failed', ...(hasUsers ? ['Users'] : [])]} />
          <tbody>
            {days.toReversed().map(({ day, count: executions, failed, users }) => (
              <tr key={day}>
                <th scope="row">{day}</th>
                <td>{count(executions)}</td>
                <td>{partOf(failed, executions)}</td>
                {hasUsers && <td>{count(users)}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </>
  );
}
