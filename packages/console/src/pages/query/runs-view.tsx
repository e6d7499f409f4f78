/** The runs of this tab, whose values can be used again, and those that the hub keeps: of other tabs, persons and programs. */

import { useState } from 'preact/hooks';
import { callJson, part } from '../../api/client.ts';
import type { Answer } from '../../api/types.ts';
import type { PastRun } from '../../state/run.ts';
import type { StoredQueryEditor } from '../../state/stored-query-editor.ts';
import { Tick } from '../../ui/field.tsx';
import { count, duration } from '../../ui/format.ts';
import { useLoad } from '../../ui/load.tsx';
import { Loading } from '../../ui/page.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';

const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const moment = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'medium' });
const words: Record<PastRun['status'], string> = {
  idle: '',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

type KeptRun = Answer<'GET /v1/queries/{queryId}/runs'>[number];

/** What called, in words. */
const callers: Record<KeptRun['form'], string> = {
  execute: 'program',
  data: 'program, by GET',
  rows: 'program, records in bulk',
  transaction: 'program, in a transaction',
  tool: 'agent',
  watch: 'watch',
  job: 'training',
  console: 'console',
};

interface RunsViewProps {
  editor: StoredQueryEditor;
  queryId: string;
  onReuse(run: PastRun): void;
}

export function RunsView({ editor, queryId, onReuse }: RunsViewProps) {
  const runs = editor.runner.past.value;
  return (
    <div class="page">
      {runs.length > 0 && (
        <section>
          <h3>Of this tab</h3>
          <OwnRuns runs={runs} onReuse={onReuse} />
        </section>
      )}
      <KeptRuns queryId={queryId} latest={runs[0]?.id} />
    </div>
  );
}

function OwnRuns({ runs, onReuse }: { runs: PastRun[]; onReuse(run: PastRun): void }) {
  return (
    <Scrolling label="Runs of this tab">
      <table class="facts">
        <TableHead names={['At', 'Result']} numbers={['Rows', 'Took']}>
          <th scope="col">Values</th>
          <th scope="col">
            <span class="sr-only">Action</span>
          </th>
        </TableHead>
        <tbody>
          {runs.map((run) => (
            <tr key={run.id}>
              <td>{time.format(run.at)}</td>
              <td>
                {words[run.status]}
                {run.isDraft && ', draft'}
                {run.dryRun && ', dry run'}
                {run.code !== undefined && `: ${run.code}`}
              </td>
              <td class="right">{count(run.rows)}</td>
              <td class="right">{duration(run.totalMs)}</td>
              <td class="mono cut-text" title={run.shown}>
                {run.shown}
              </td>
              <td class="right">
                <button type="button" onClick={() => onReuse(run)}>
                  Use these values
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolling>
  );
}

const pageSize = 50;

/** `latest` names the last run of this tab, so that the list is read again after it. */
function KeptRuns({ queryId, latest }: { queryId: string; latest: number | undefined }) {
  const [onlyFailed, setOnlyFailed] = useState(false);
  const [shown, setShown] = useState(pageSize);
  const filter = onlyFailed ? '&outcome=failed' : '';
  const kept = useLoad(
    (signal) =>
      callJson<KeptRun[]>(`v1/queries/${part(queryId)}/runs?limit=${shown + 1}${filter}`, { signal }),
    [queryId, onlyFailed, shown, latest],
  );
  const runs = kept.value?.slice(0, shown);
  return (
    <section>
      <header class="runs-head">
        <h3>Kept by the hub</h3>
        <Tick label="Only failed" checked={onlyFailed} onChange={setOnlyFailed} />
        <button type="button" onClick={kept.refresh}>
          Refresh
        </button>
      </header>
      <p class="hint">
        Of all tabs, persons and programs that this key may see, without values, for 30 days unless the
        operator set otherwise. A run is listed a second after its end.
      </p>
      {kept.problem !== undefined && <ProblemBox problem={kept.problem} />}
      {runs === undefined && kept.loading && <Loading what="the runs" />}
      {runs?.length === 0 && <p class="empty">{onlyFailed ? 'None failed.' : 'No runs yet.'}</p>}
      {runs !== undefined && runs.length > 0 && <KeptTable runs={runs} />}
      {(kept.value?.length ?? 0) > shown && shown < 450 && (
        <button type="button" onClick={() => setShown(shown + pageSize)}>
          Show more
        </button>
      )}
    </section>
  );
}

const KeptTable = ({ runs }: { runs: KeptRun[] }) => (
  <Scrolling label="Kept runs">
    <table class="facts">
      <TableHead
        names={['At', 'By', 'From', 'Outcome']}
        numbers={['Version', 'Rows', 'Queue', 'Database', 'Took']}
      />
      <tbody>
        {runs.map((run) => (
          <tr key={run.runId}>
            <td class="when">{moment.format(new Date(run.at))}</td>
            <td
              class="cut-text"
              title={`${run.keyName ?? run.keyId}${run.user === null ? '' : `, ${run.user}`}`}
            >
              {run.keyName ?? <code>{run.keyId}</code>}
              {run.user !== null && <div class="note">{run.user}</div>}
            </td>
            <td>{callers[run.form]}</td>
            <td>
              {run.outcome === 'ok' ? 'ok' : <span class="failed-text">failed: {run.code}</span>}
              {run.cached && <span class="note"> from the cache</span>}
            </td>
            <td class="right">{run.version}</td>
            <td class="right">{count(run.rows)}</td>
            <Time ms={run.queueMs} />
            <Time ms={run.databaseMs} />
            <Time ms={run.totalMs} />
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolling>
);

const Time = ({ ms }: { ms: number | null }) => (
  <td class="when right">{ms === null ? <span class="note">not measured</span> : duration(ms)}</td>
);
