/** Says that the database rejects a stored query, or that its columns changed at the source, and checks it again. */

import { callJson, part } from '../../../api/client.ts';
import type { Answer, Drift } from '../../../api/types.ts';
import { needs } from '../../../state/permissions.ts';
import type { StoredQueryEditor } from '../../../state/stored-query-editor.ts';
import { useAction } from '../../../ui/action.ts';
import { counted } from '../../../ui/format.ts';
import { notify } from '../../../ui/notice.tsx';

type Checked = Answer<'POST /v1/sources/{sourceId}/check'>;

export function DriftNote({ editor }: { editor: StoredQueryEditor }) {
  const { busy, run } = useAction();
  const stored = editor.stored.value;
  if (stored === undefined) return null;
  const { state, problem, drift = [] } = stored;
  const isBroken = state === 'broken';
  if (!isBroken && drift.length === 0) return null;
  const check = async () => {
    const failed = await run(async () => {
      const path = `v1/sources/${part(stored.config.source.sourceId)}/check`;
      const { left } = await callJson<Checked>(path, { body: {}, reads: true });
      await editor.load({ adopt: 'never' });
      await editor.describe();
      if (!stillWrong(editor)) notify('Checked: the query works again.');
      else if (left === 0) notify('Checked: it is as before.');
      else
        notify(
          `${counted(left, 'query', 'queries')} of the source could not be checked in time. Check again.`,
        );
    });
    if (failed !== undefined) notify(failed.detail ?? 'The check failed.');
  };
  return (
    <div class={isBroken ? 'drift-note broken' : 'drift-note'} role="status">
      <div>
        <p>
          <strong>
            {isBroken
              ? 'Broken: the database rejects the published query, so callers get an error.'
              : 'The columns of this query changed at its source since it was published.'}
          </strong>{' '}
          {isBroken &&
            problem !== undefined &&
            `${problem.sql?.line === undefined ? '' : `Line ${problem.sql.line}: `}${problem.detail}`}
        </p>
        {drift.length > 0 && (
          <ul>
            {drift.map((one) => (
              <li key={one.name + one.change}>{wordsOfDrift(one)}</li>
            ))}
          </ul>
        )}
      </div>
      <button type="button" onClick={() => void check()} {...needs('sources:read', busy)}>
        {busy ? 'Checking …' : 'Check now'}
      </button>
    </div>
  );
}

const stillWrong = ({ stored }: StoredQueryEditor): boolean =>
  stored.value?.state === 'broken' || (stored.value?.drift ?? []).length > 0;

/** Such as `total: numeric became text`. */
export function wordsOfDrift({ name, change, from, to }: Drift): string {
  if (change !== 'changed') return `${name} was ${change}`;
  if (from?.type !== to?.type) return `${name}: ${from?.type ?? '?'} became ${to?.type ?? '?'}`;
  if (from?.nullable !== to?.nullable)
    return to?.nullable === false ? `${name} is never null any more` : `${name} can be null`;
  return `${name} changed`;
}
