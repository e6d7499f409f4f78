/** Who called a query in the last 30 days, and so who gets what is published. */

import { callJson, part } from '../../../api/client.ts';
import { count, counted } from '../../../ui/format.ts';
import { useLoad } from '../../../ui/load.tsx';
import { type KeyUsage, nameOfKey, type Usage } from '../../statistics/figures.ts';
import { Fact } from './fact.tsx';

const shownMax = 8;
const daysShown = 30;
const dayMs = 86_400_000;

export function Callers({ queryId }: { queryId: string }) {
  const loaded = useLoad(
    (signal) => callJson<Usage>(`v1/queries/${part(queryId)}/usage`, { signal }),
    [queryId],
  );
  const title = 'Callers, 30 days';
  if (loaded.problem !== undefined) return <Fact title={title} words="could not be read" />;
  if (loaded.value === undefined) return <Fact title={title} words="…" />;
  const { keys, totalKeys, count: calls, to } = loaded.value;
  if (calls === 0) return <Fact title={title} words="nobody called it" />;
  return (
    <Fact title={title} words={`${counted(totalKeys, 'key')}, ${counted(calls, 'call')}`}>
      <table class="callers">
        <tbody>
          {keys.slice(0, shownMax).map((key) => (
            <tr key={key.keyId}>
              <th scope="row" title={key.keyId}>
                {nameOfKey(key)}
              </th>
              <td>
                <Days usage={key} to={to} />
              </td>
              <td class="right">{count(key.count)}</td>
              <td class="right hint">{key.days.at(-1)?.day ?? ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {totalKeys > shownMax && <p class="hint">and {counted(totalKeys - shownMax, 'key')} more</p>}
    </Fact>
  );
}

/** A line of the calls of each day. */
function Days({ usage, to }: { usage: KeyUsage; to: string }) {
  const last = Date.parse(to) / dayMs;
  const counts = new Array<number>(daysShown).fill(0);
  for (const { day, count } of usage.days) {
    const at = daysShown - 1 - (last - Date.parse(day) / dayMs);
    if (at >= 0 && at < daysShown) counts[at] = count;
  }
  const most = Math.max(1, ...counts);
  const points = counts.map((n, i) => `${i * 4},${(18 - (n / most) * 16).toFixed(1)}`).join(' ');
  return (
    <svg class="spark" viewBox="0 0 116 20" aria-hidden="true" focusable="false">
      <polyline points={points} />
    </svg>
  );
}
