/** Turns the ends of executions into the figures of their queries and the records of their runs. */

import { CacheInfo_Outcome as Outcome } from '@datahub/proto/executor/v1/executor';
import type { CacheEvents } from '../execution/cached/cached-execution.ts';
import type { Execution } from '../execution/execution-state.ts';
import type { QueryStatistics, Sample } from './query-statistics.ts';
import type { RunRecorder } from './run-recorder.ts';

export interface StatisticsRecorder extends Pick<CacheEvents, 'executed' | 'answered' | 'ended'> {
  failed(execution: Execution, code: string): void;
}

/** Outcomes after which the call runs the query itself, or is no call of the query. */
const uncounted = new Set<number>([
  Outcome.OUTCOME_NONE,
  Outcome.OUTCOME_BYPASS,
  Outcome.OUTCOME_UNCACHEABLE,
]);

export function createStatisticsRecorder(
  statistics: Pick<QueryStatistics, 'add' | 'addToKnown'>,
  runs?: Pick<RunRecorder, 'note'>,
): StatisticsRecorder {
  const add = (execution: Execution, sample: Sample): void => {
    if (sample.calls > 0) runs?.note(execution, sample);
    const counted = execution.request.fromConsole ? consoleCall(sample) : sample;
    if (execution.query !== undefined) statistics.add(execution.query, counted);
    else
      statistics.addToKnown(
        execution.request.draft?.sourceId ?? execution.request.queryId,
        execution.ctx.principal?.accountId,
        counted,
      );
  };
  return {
    executed: (execution) => {
      // `ended` counts its times, and `answered` each of its calls.
      if (execution.isShared || execution.query === undefined) return;
      const { queueMs, durationMs, bytes, outcome } = execution;
      add(execution, {
        calls: 1,
        cacheHits: 0,
        failedWith: undefined,
        rows: outcome?.rowCount ?? 0,
        bytes,
        queueMs,
        databaseMs: durationMs,
        totalMs: execution.now() - execution.startedAt,
      });
    },

    failed: (execution, code) => {
      if (execution.isShared) return;
      add(execution, failedSample(execution, code));
    },

    answered: (execution, { outcome, notModified }, kept) => {
      const { query, request } = execution;
      if (kept === undefined || query === undefined || uncounted.has(outcome)) return;
      // A HEAD request does not execute the query.
      if (request.checkOnly || request.form?.checkOnly) return;
      const isSent = notModified !== true;
      add(execution, {
        calls: 1,
        cacheHits: outcome === Outcome.OUTCOME_MISS ? 0 : 1,
        failedWith: undefined,
        rows: isSent ? kept.rowCount : 0,
        bytes: isSent ? kept.bytes.length : 0,
        queueMs: undefined,
        databaseMs: undefined,
        totalMs: execution.now() - execution.startedAt,
      });
    },

    ended: (execution) => {
      if (execution.query !== undefined) add(execution, { ...noCall, ...timesOf(execution) });
    },
  };
}

/** The console's calls are counted, and their rows, times and errors are not those of callers. */
const consoleCall = ({ calls }: Sample): Sample => ({
  ...noCall,
  queueMs: undefined,
  databaseMs: undefined,
  consoleCalls: calls,
});

const noCall: Pick<Sample, 'calls' | 'cacheHits' | 'failedWith' | 'rows' | 'bytes' | 'totalMs'> = {
  calls: 0,
  cacheHits: 0,
  failedWith: undefined,
  rows: 0,
  bytes: 0,
  totalMs: undefined,
};

/** A call that was refused before its values were bound has no times. */
function failedSample(execution: Execution, code: string): Sample {
  const times = timesOf(execution);
  const totalMs = execution.statement === undefined ? undefined : execution.now() - execution.startedAt;
  return { ...noCall, calls: 1, failedWith: code, rows: execution.committedRows, ...times, totalMs };
}

function timesOf(execution: Execution): Pick<Sample, 'queueMs' | 'databaseMs'> {
  const { runAt, queueMs, durationMs, outcome, stage, startedAt } = execution;
  if (runAt > 0) return { queueMs, databaseMs: outcome === undefined ? execution.now() - runAt : durationMs };
  // The stage is `queue` again if the query is known and the call waits for a connection.
  const waited = stage === 'queue' && execution.statement !== undefined;
  return { queueMs: waited ? execution.now() - startedAt : undefined, databaseMs: undefined };
}
