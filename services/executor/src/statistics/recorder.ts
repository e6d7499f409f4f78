/** Turns the events of executions into statistics of queries. */

import { CacheInfo_Outcome as Outcome } from '@datahub/proto/executor/v1/executor';
import type { CacheEvents } from '../execution/cached/cached-execution.ts';
import type { Execution } from '../execution/execution-state.ts';
import type { Sample } from './figures.ts';
import type { QueryStatistics } from './query-statistics.ts';

export interface StatisticsRecorder extends Pick<CacheEvents, 'executed' | 'answered' | 'ended'> {
  failed(run: Execution, code: string): void;
}

/** Outcomes after which the call runs the query itself, or is no call of the query. */
const uncounted = new Set<number>([
  Outcome.OUTCOME_NONE,
  Outcome.OUTCOME_BYPASS,
  Outcome.OUTCOME_UNCACHEABLE,
]);

export function createStatisticsRecorder(
  statistics: Pick<QueryStatistics, 'add' | 'addToKnown'>,
): StatisticsRecorder {
  return {
    executed: (run) => {
      // `ended` counts its times, and `answered` each of its calls.
      if (run.isShared || run.query === undefined) return;
      const { queueMs, durationMs, bytes, outcome } = run;
      statistics.add(run.query, {
        calls: 1,
        cacheHits: 0,
        failedWith: undefined,
        rows: outcome?.rowCount ?? 0,
        bytes,
        queueMs,
        databaseMs: durationMs,
        totalMs: run.now() - run.startedAt,
      });
    },

    failed: (run, code) => {
      if (run.isShared) return;
      const sample = failedSample(run, code);
      if (run.query !== undefined) statistics.add(run.query, sample);
      else
        statistics.addToKnown(
          run.request.draft?.sourceId ?? run.request.queryId,
          run.ctx.principal?.accountId,
          sample,
        );
    },

    answered: (run, { outcome, notModified }, kept) => {
      const { query, request } = run;
      if (kept === undefined || query === undefined || uncounted.has(outcome)) return;
      // A HEAD request does not execute the query.
      if (request.checkOnly || request.form?.checkOnly) return;
      const isSent = notModified !== true;
      statistics.add(query, {
        calls: 1,
        cacheHits: outcome === Outcome.OUTCOME_MISS ? 0 : 1,
        failedWith: undefined,
        rows: isSent ? kept.rowCount : 0,
        bytes: isSent ? kept.bytes.length : 0,
        queueMs: undefined,
        databaseMs: undefined,
        totalMs: run.now() - run.startedAt,
      });
    },

    ended: (run) => {
      if (run.query !== undefined) statistics.add(run.query, { ...noCall, ...timesOf(run) });
    },
  };
}

const noCall: Pick<Sample, 'calls' | 'cacheHits' | 'failedWith' | 'rows' | 'bytes' | 'totalMs'> = {
  calls: 0,
  cacheHits: 0,
  failedWith: undefined,
  rows: 0,
  bytes: 0,
  totalMs: undefined,
};

/** A call that was refused before its values were bound has no times. */
function failedSample(run: Execution, code: string): Sample {
  const times = timesOf(run);
  const totalMs = run.statement === undefined ? undefined : run.now() - run.startedAt;
  return { ...noCall, calls: 1, failedWith: code, ...times, totalMs };
}

function timesOf(run: Execution): Pick<Sample, 'queueMs' | 'databaseMs'> {
  const { runAt, queueMs, durationMs, outcome, stage, startedAt } = run;
  if (runAt > 0) return { queueMs, databaseMs: outcome === undefined ? run.now() - runAt : durationMs };
  // The stage is `queue` again if the query is known and the call waits for a connection.
  const waited = stage === 'queue' && run.statement !== undefined;
  return { queueMs: waited ? run.now() - startedAt : undefined, databaseMs: undefined };
}
