/** A job that trains with the rows of a query: how far it is, what it left out, and a way to stop it. */

import { useEffect, useState } from 'preact/hooks';
import { call, callJson, isAborted, part, problemOf } from '../../api/client.ts';
import type { Job, Problem } from '../../api/types.ts';
import { linkTo } from '../../state/route.ts';
import { findNode, hubId } from '../../state/workspace.ts';
import { useAction } from '../../ui/action.ts';
import { count, counted, moment } from '../../ui/format.ts';
import { notify } from '../../ui/notice.tsx';
import { ProblemBox } from '../../ui/problem.tsx';
import { Scrolling, TableHead } from '../../ui/table.tsx';

const pauseMs = 1_000;
const pauseAfterFailureMs = 5_000;
const answerMaxMs = 15_000;
const faultsOpenMax = 5;

const isEnded = ({ state }: Job): boolean => state === 'done' || state === 'failed';
/** Asking again can help. */
const mayPass = ({ status }: Problem): boolean => status === 0 || status === 429 || status >= 500;

/** Reads the job until it has ended. */
function useJob(jobId: string, onEnded: () => void) {
  const [job, setJob] = useState<Job>();
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    const stop = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const readAgainIn = (ms: number) => {
      timer = setTimeout(() => void read(), ms);
    };
    const read = async () => {
      try {
        const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(answerMaxMs)]);
        const next = await callJson<Job>(`v1/jobs/${part(jobId)}`, { signal });
        if (stop.signal.aborted) return;
        setJob(next);
        setProblem(undefined);
        if (isEnded(next)) onEnded();
        else readAgainIn(pauseMs);
      } catch (err) {
        if (stop.signal.aborted || isAborted(err)) return;
        const failed = problemOf(err);
        setProblem(failed);
        if (mayPass(failed)) readAgainIn(pauseAfterFailureMs);
      }
    };
    void read();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [jobId]);
  return { job, problem };
}

interface JobViewProps {
  jobId: string;
  /** The classifier has learned what the job taught it. */
  onTrained(): void;
  onLeave(): void;
}

export function JobView({ jobId, onTrained, onLeave }: JobViewProps) {
  const { job, problem } = useJob(jobId, onTrained);
  const { busy: stopping, run } = useAction({ leaves: true });
  const stop = async () => {
    const failed = await run(async () => {
      await call(`v1/jobs/${part(jobId)}`, { method: 'DELETE' });
      notify('Stopped. The classifier keeps what it learned.');
      onTrained();
      onLeave();
    });
    if (failed !== undefined) notify(failed.detail ?? 'It could not be stopped.');
  };
  const runs = job !== undefined && !isEnded(job);
  return (
    <section class="form" aria-label="Training from a query">
      <h2>Training from a query</h2>
      {problem !== undefined && <ProblemBox problem={problem} />}
      {job !== undefined && <Progress job={job} />}
      {job !== undefined && <JobFigures job={job} />}
      <div class="actions start">
        {runs && (
          <button type="button" disabled={stopping} onClick={() => void stop()}>
            Stop
          </button>
        )}
        {!runs && (job !== undefined || problem !== undefined) && (
          <button type="button" onClick={onLeave}>
            Train from a query again
          </button>
        )}
      </div>
      {job !== undefined && job.faults.length > 0 && <Faults job={job} />}
    </section>
  );
}

const states: Record<Job['state'], string> = {
  queued: 'Waiting for its turn',
  running: 'Running',
  done: 'Done',
  failed: 'Failed',
};

function Progress({ job }: { job: Job }) {
  const { state, queryId, error, truncated, createdAt, endedAt } = job;
  const query = findNode(queryId)?.node;
  return (
    <>
      <div class="progress">
        {state === 'running' && <progress aria-label="Training" />}
        <strong role="status">{states[state]}</strong>
        {query !== undefined && (
          <a href={linkTo('hub', hubId.value ?? '', 'query', queryId)}>{query.label}</a>
        )}
        <span class="note">{endedAt === null ? `asked for ${moment(createdAt)}` : moment(endedAt)}</span>
      </div>
      {truncated && <p class="banner">A row limit of the key or of the hub cut the rows.</p>}
      {error !== null && <ProblemBox problem={{ status: 0, title: 'The job failed', ...error }} />}
    </>
  );
}

function JobFigures({ job }: { job: Job }) {
  const figures = [
    ['Rows read', job.rows],
    ['Learned', job.trained],
    ['Corrected', job.corrected],
    ['Skipped: not changed', job.skipped],
    ['Invalid', job.invalid],
    ['Without an id', job.nullIds],
  ] as const;
  return (
    <dl class="figures-list">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{count(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Faults({ job: { faults, invalid, nullIds } }: { job: Job }) {
  const all = invalid + nullIds;
  return (
    <details class="more" open={faults.length <= faultsOpenMax}>
      <summary>
        {counted(all, 'row')} left out{all > faults.length && `, the first ${faults.length}`}
      </summary>
      <Scrolling label="Rows that were left out">
        <table class="facts">
          <TableHead names={['Row', 'Fault']} />
          <tbody>
            {faults.map(({ row, detail }) => (
              <tr key={row}>
                <td>{count(row)}</td>
                <td>{detail}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scrolling>
    </details>
  );
}
