/**
 * Records the runs of stored queries, with their values if a query asks for it, and sends them to the catalog every
 * second. No execution waits for this. Those that cannot be sent wait; a crash loses them.
 */

import { randomBytes } from 'node:crypto';
import { type RunForm, recordedPerMinute } from '@datahub/contract/query-runs';
import type { RecordedRun } from '@datahub/proto/catalog/v1/catalog_internal';
import { CallForm } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../definitions/definition.ts';
import type { Execution } from '../execution/execution-state.ts';
import { keptValues } from './kept-values.ts';
import type { Sample } from './query-statistics.ts';

export interface RunRecorder {
  note(execution: Execution, sample: Sample): void;
  /** Sends the remaining records. */
  close(): Promise<void>;
}

export interface RunRecorderOptions {
  catalog: Pick<Catalog, 'recordRuns'>;
  nowMs(): number;
  onFailure(err: unknown): void;
  everyMs?: number;
}

/** Records that wait to be sent. Beyond it, further ones are dropped. */
const waitingMax = 10_000;
const perCallMax = 500;
const callTimeoutMs = 10_000;
const minuteMs = 60_000;
const resentAfter = new Set(['UNAVAILABLE', 'OUTCOME_UNKNOWN', 'STATEMENT_TIMEOUT', 'CANCELLED']);

export function createRunRecorder(options: RunRecorderOptions): RunRecorder {
  const { catalog, nowMs, everyMs = 1_000 } = options;
  const sampler = createSampler();
  let waiting: RecordedRun[] = [];
  let sending: Promise<void> | undefined;

  const record = createRecord(catalog);
  const send = async (): Promise<void> => {
    while (waiting.length > 0) {
      const runs = waiting.slice(0, perCallMax);
      const refused: unknown[] = [];
      if (!(await record(runs, refused))) return;
      if (refused.length > 0) options.onFailure(refused[0]);
      waiting = waiting.slice(runs.length);
    }
  };
  const flush = (): Promise<void> => {
    sending ??= send().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  const later = createLater(everyMs, flush, () => waiting.length > 0);

  return {
    note: (execution, sample) => {
      const { query, request } = execution;
      const principal = execution.ctx.principal;
      // A draft has no id, and a query that was not found none that is known.
      if (query === undefined || request.queryId === '' || principal === undefined) return;
      const at = nowMs();
      if (waiting.length >= waitingMax || !sampler.takes(query.queryId, sample.failedWith !== undefined, at))
        return;
      const { queueMs, databaseMs, totalMs, rows, failedWith: code, cacheHits } = sample;
      waiting.push({
        accountId: query.accountId,
        queryId: query.queryId,
        seed: randomBytes(10),
        issuer: principal.user?.issuer,
        run: {
          runId: '',
          at: new Date(at),
          keyId: principal.keyId,
          user: principal.user?.subject,
          version: query.versionNumber,
          form: formOf(execution),
          code,
          rows,
          cached: cacheHits > 0,
          dryRun: request.options?.dryRun === true,
          queueMs,
          databaseMs,
          totalMs,
          valuesJson: keptValues(execution),
        },
      });
      later.wait();
    },

    close: async () => {
      later.close();
      await sending;
      await flush();
    },
  };
}

/**
 * Returns a function that sends records. It resolves to false if they are to be sent again: a record that is stored already
 * stays as it is. If records are refused, each half of them is sent by itself, so that only the wrong ones are lost. The
 * reasons are added to `refused`.
 */
function createRecord(catalog: RunRecorderOptions['catalog']) {
  const record = async (runs: RecordedRun[], refused: unknown[]): Promise<boolean> => {
    try {
      await catalog.recordRuns({ runs }, createCallContext({ timeoutMs: callTimeoutMs }));
      return true;
    } catch (err) {
      if (err instanceof HubError && resentAfter.has(err.code)) return false;
      const half = Math.ceil(runs.length / 2);
      if (half < runs.length)
        return (await record(runs.slice(0, half), refused)) && record(runs.slice(half), refused);
      refused.push(err);
      return true;
    }
  };
  return record;
}

/** Works once the time is over, and again while there is more. */
function createLater(ms: number, work: () => Promise<void>, hasMore: () => boolean) {
  let timer: NodeJS.Timeout | undefined;
  let closed = false;
  const run = async (): Promise<void> => {
    await work();
    timer = undefined;
    if (hasMore()) wait();
  };
  const wait = (): void => {
    if (!closed) timer ??= setTimeout(() => void run(), ms).unref();
  };
  return {
    wait,
    close: () => {
      closed = true;
      clearTimeout(timer);
    },
  };
}

/** The first runs of each minute, apart for those that failed. */
function createSampler() {
  let minute = 0;
  const taken = new Map<string, { ok: number; failed: number }>();
  return {
    takes: (queryId: string, failed: boolean, at: number): boolean => {
      const current = Math.floor(at / minuteMs);
      if (current !== minute) taken.clear();
      minute = current;
      const counts = taken.get(queryId) ?? { ok: 0, failed: 0 };
      taken.set(queryId, counts);
      return ++counts[failed ? 'failed' : 'ok'] <= recordedPerMinute;
    },
  };
}

const formOfCall: Partial<Record<CallForm, RunForm>> = {
  [CallForm.CALL_FORM_TOOL]: 'tool',
  [CallForm.CALL_FORM_WATCH]: 'watch',
  [CallForm.CALL_FORM_JOB]: 'job',
  [CallForm.CALL_FORM_TRANSACTION]: 'transaction',
};

function formOf({ request: { fromConsole, form, load, callForm } }: Execution): RunForm {
  if (fromConsole) return 'console';
  if (form !== undefined) return 'data';
  if (load !== undefined) return 'rows';
  return (callForm === undefined ? undefined : formOfCall[callForm]) ?? 'execute';
}
