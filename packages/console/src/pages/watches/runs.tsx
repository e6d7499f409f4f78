/** The runs of a watch, as a strip and as a list with the rows that each told. */

import { useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import { toText } from '../../api/exact.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { count, counted, duration, moment } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';
import { changesOf, type Run, type Watch } from './words.ts';

const shownMax = 50;
const addressOf = ({ watchId }: Watch) => `v1/watches/${part(watchId)}/runs`;
const useRuns = (watch: Watch) =>
  useLoad(
    (signal) => callJson<Run[]>(`${addressOf(watch)}?limit=${shownMax}`, { signal }),
    [watch.watchId, watch.lastRun?.runId],
  );

/** The oldest first. */
export function RunStrip({ watch, onOpen }: { watch: Watch; onOpen(): void }) {
  const runs = useRuns(watch).value ?? [];
  const failed = runs.filter(({ outcome }) => outcome !== 'ok').length;
  const label = `${counted(runs.length, 'run')} of ${watch.label}, ${count(failed)} not ok`;
  return (
    <button type="button" class="run-strip" aria-label={label} title={label} onClick={onOpen}>
      {runs.toReversed().map(({ runId, outcome }) => (
        <i key={runId} data-outcome={outcome} />
      ))}
    </button>
  );
}

export function RunsDialog({ watch, onClose }: { watch: Watch; onClose(): void }) {
  const runs = useRuns(watch);
  const [opened, setOpened] = useState<Run>();
  return (
    <Dialog title={`Runs of “${watch.label}”`} wide onClose={onClose}>
      {runs.problem !== undefined && <ProblemBox problem={runs.problem} />}
      {runs.value === undefined && runs.loading && <Loading what="the runs" />}
      {runs.value?.length === 0 && <p class="empty">It has not run yet.</p>}
      {runs.value !== undefined && runs.value.length > 0 && (
        <Scrolling label="Runs">
          <table class="facts">
            <TableHead names={['Due', 'Outcome', 'Rows', 'Changes', 'Time', 'Told']} />
            <tbody>
              {runs.value.map((run) => (
                <RunRow key={run.runId} run={run} onOpen={() => setOpened(run)} />
              ))}
            </tbody>
          </table>
        </Scrolling>
      )}
      {opened !== undefined && <ToldRows watch={watch} run={opened} />}
    </Dialog>
  );
}

function RunRow({ run, onOpen }: { run: Run; onOpen(): void }) {
  const { dueAt, outcome, ticks, detail, rows, durationMs, hasRows, manual } = run;
  return (
    <tr>
      <td>
        {moment(dueAt)}
        {manual && <div class="note">asked for</div>}
        {ticks > 1 && <div class="note">and {count(ticks - 1)} after it</div>}
      </td>
      <td>
        {outcome}
        {detail !== null && <div class="note">{detail}</div>}
      </td>
      <td>{rows === null ? '' : count(rows)}</td>
      <td>{changesOf(run)}</td>
      <td>{durationMs === null ? '' : duration(durationMs)}</td>
      <td>
        {hasRows && (
          <button type="button" class="quiet" onClick={onOpen}>
            Rows
          </button>
        )}
      </td>
    </tr>
  );
}

const rowsMax = 200;

function ToldRows({ watch, run: { runId, dueAt } }: { watch: Watch; run: Run }) {
  const told = useLoad(
    (signal) => callJson<{ data: object[] }>(`${addressOf(watch)}/${part(runId)}/rows`, { signal }),
    [runId],
  );
  const rows = told.value?.data ?? [];
  return (
    <section aria-label="Rows of the run">
      <h3>Rows that the run of {moment(dueAt)} told</h3>
      {told.problem !== undefined && <ProblemBox problem={told.problem} />}
      {told.value === undefined && told.loading && <Loading what="rows" />}
      <pre class="told-rows">{rows.slice(0, rowsMax).map(toText).join('\n')}</pre>
      {rows.length > rowsMax && <p class="hint">And {counted(rows.length - rowsMax, 'row')} more.</p>}
    </section>
  );
}
