/** The last runs of a watch, as a strip and as a list. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { callJson } from '../../api/client.ts';
import { linkTo } from '../../state/route.ts';
import { count, counted, duration, exactMoment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { CardTable } from '../../ui/table.tsx';
import { addressOf, changesOf, type Run, type Watch } from './words.ts';

const shownMax = 50;

export const readRuns = (watchId: string, signal: AbortSignal): Promise<Run[]> =>
  callJson<Run[]>(`${addressOf(watchId)}/runs?limit=${shownMax}`, { signal });

/** The runs of a watch in a list, oldest first. They are read when the person can see them. */
export function RunStrip({ watch }: { watch: Watch }) {
  const [link, isSeen] = useSeen();
  const { hubId, watchId, lastRun } = watch;
  const loaded = useLoad(
    async (signal) => (isSeen ? readRuns(watchId, signal) : undefined),
    [watchId, lastRun?.runId, isSeen],
  );
  return (
    <a ref={link} class="run-strip-link" href={linkTo('hub', hubId, 'watches', watchId)}>
      {loaded.value === undefined ? (
        <span class="note">Show its runs</span>
      ) : (
        <Strip runs={loaded.value} of={watch.label} />
      )}
    </a>
  );
}

export function Strip({ runs, of }: { runs: readonly Run[]; of: string }) {
  const failed = runs.filter(({ outcome }) => outcome !== 'ok').length;
  const label = `${counted(runs.length, 'run')} of ${of}, ${count(failed)} not ok`;
  return (
    <span class="run-strip" role="img" aria-label={label} title={label}>
      {runs.toReversed().map(({ runId, outcome }) => (
        <i key={runId} data-outcome={outcome} />
      ))}
    </span>
  );
}

/** Whether an element has been on the screen. */
function useSeen() {
  const ref = useRef<HTMLAnchorElement>(null);
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setSeen(true);
    });
    observer.observe(ref.current as HTMLAnchorElement);
    return () => observer.disconnect();
  }, []);
  return [ref, isSeen] as const;
}

export function RunTable({ watch, runs }: { watch: Watch; runs: readonly Run[] }) {
  const { hubId, watchId } = watch;
  return (
    <CardTable label="Runs" names={['Due', 'Outcome', 'Changes']} numbers={['Rows', 'Took']}>
      {runs.map((run) => (
        <tr key={run.runId}>
          <td>
            <a href={linkTo('hub', hubId, 'watches', watchId, run.runId)}>{exactMoment(run.dueAt)}</a>
            {run.manual && <div class="note">asked for</div>}
            {run.ticks > 1 && <div class="note">and {count(run.ticks - 1)} after it</div>}
          </td>
          <td>
            {run.outcome}
            {run.detail !== null && <div class="note">{run.detail}</div>}
          </td>
          <td data-name="Changes">{changesOf(run, watch) || null}</td>
          <td class="right" data-name="Rows">
            {run.rows === null ? null : count(run.rows)}
          </td>
          <td class="right" data-name="Took">
            {run.durationMs === null ? null : duration(run.durationMs)}
          </td>
        </tr>
      ))}
    </CardTable>
  );
}
