/**
 * Answers a read of a query that has a cache, either with a cached answer or with one that it fetches for all
 * concurrent calls with the same cache key. The caller has checked the permissions of the call.
 *
 * The age of an answer counts from the start of its execution. No answer older than `CacheRules.ageMsMax` is sent,
 * except to calls that arrived before its statement began, because their own execution would not have been newer.
 */

import { Rerouted } from '@datahub/executor-session/executor';
import {
  type CacheInfo,
  type ExecuteRequest,
  CacheInfo_Outcome as Outcome,
} from '@datahub/proto/executor/v1/executor';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { CallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { CacheRules, QueryDefinition } from '../../definitions/definition.ts';
import { cancelReason, toFailure } from '../execution-error.ts';
import { Execution } from '../execution-state.ts';
import {
  type CallValues,
  type ExecutionLimits,
  type PreparedQuery,
  runOptionsOf,
  timeoutMsOf,
} from '../prepare.ts';
import { type RunDeps, runOn, type StatementRun } from '../run-statement.ts';
import { createCacheKeys, createTagger } from './cache-key.ts';
import { Flight } from './flight.ts';
import type { CachedResponse, CacheEntry, ResponseStore } from './response-store.ts';
import { sendBytes } from './send-bytes.ts';
import { validationOf } from './validation.ts';

export type CacheOutcome = CacheInfo['outcome'];

export interface CacheEvents {
  executed(execution: Execution): void;
  failed(execution: Execution, err: HubError): void;
  /**
   * Called when a query with a cache was answered. `execution` has durations only if the answer did not come from the cache.
   */
  answered(execution: Execution, info: AnsweredInfo, kept?: CachedResponse): void;
  /** Called when an execution that several calls share has ended, unless all of them have left. */
  ended(execution: Execution): void;
}

export type AnsweredInfo = Pick<CacheInfo, 'outcome'> & Partial<Pick<CacheInfo, 'notModified'>>;

export interface CacheDeps extends RunDeps {
  answers: ResponseStore;
  limits: ExecutionLimits;
  events: CacheEvents;
  now: () => number;
}

export interface CachedRun extends StatementRun {
  values: CallValues;
}

/** Annotated executions are not cached, because the gateway adds the labels to the answer later. */
export const isCacheable = ({ annotate }: ExecuteRequest, { kind }: PreparedQuery): boolean =>
  kind === 'read' && annotate === undefined;

/** One call with everything that its answer depends on. */
interface Call {
  execution: Execution;
  run: CachedRun;
  key: string;
  rules: CacheRules;
}

/** An execution, and the value of `validate` in the snapshot that it read. */
interface Result {
  own: Execution;
  validation: string | undefined;
}

/** An answer that was too large to cache is not tried again for this long. */
const tooLargeMs = 60_000;

export class CachedExecution {
  readonly #deps: CacheDeps;
  readonly #flights = new Map<string, Flight>();
  readonly #keyOf = createCacheKeys();
  readonly #tag = createTagger();

  constructor(deps: CacheDeps) {
    this.#deps = deps;
  }

  /** Like `runOn`, for a prepared execution. */
  async execute(execution: Execution, run: CachedRun): Promise<void> {
    const { cache: asked, options, form, reroutable } = execution.request;
    const query = execution.query as QueryDefinition;
    const rules = query.cache as CacheRules;
    if (asked?.bypass) return this.#runAlone({ execution, run, rules }, Outcome.OUTCOME_BYPASS);
    if (options?.meta) return this.#runAlone({ execution, run, rules }, Outcome.OUTCOME_UNCACHEABLE);
    if (reroutable) throw new Rerouted();
    const { format, numbers, csv } = execution;
    const { statement } = run;
    const { pinnedJson } = run.values;
    const { maxRows } = run.options;
    const key = this.#keyOf({ query, statement, pinnedJson, maxRows, format, numbers, csv });
    const call = { execution, run, key, rules };
    const entry = this.#deps.answers.get(key);
    const ageMs = entry === undefined ? 0 : execution.startedAt - entry.freshAt;
    if (entry?.answer !== undefined && ageMs <= rules.ageMsMax) {
      this.#deps.answers.touch(key, entry);
      const isFresh = ageMs <= 1_000 * rules.maxAgeS;
      if (!isFresh && !form?.checkOnly && this.#current(call) === undefined) this.#start(call, true);
      return this.#send(call, entry, isFresh ? Outcome.OUTCOME_HIT : Outcome.OUTCOME_STALE);
    }
    if (form?.checkOnly) return this.#announce(call, { outcome: Outcome.OUTCOME_NONE });
    const isTooLarge = entry !== undefined && entry.answer === undefined;
    if (isTooLarge && ageMs <= tooLargeMs) return this.#runAlone(call, Outcome.OUTCOME_UNCACHEABLE);
    return this.#fetch(call);
  }

  async #fetch(call: Call): Promise<void> {
    const { execution, rules } = call;
    const current = this.#current(call);
    const flight = current ?? this.#start(call, false);
    const entry = await this.#wait(flight, execution);
    if (entry === undefined) return this.#runAlone(call, Outcome.OUTCOME_UNCACHEABLE);
    // An answer that was fetched for other calls may be too old now.
    const wasThere = execution.startedAt <= entry.runAt;
    if (!wasThere && this.#deps.now() - entry.freshAt > rules.ageMsMax)
      return this.#runAlone(call, Outcome.OUTCOME_MISS);
    if (flight.serverTiming !== undefined) execution.reply.timings?.(flight.serverTiming);
    const own = flight.isValidated ? Outcome.OUTCOME_VALIDATED : Outcome.OUTCOME_MISS;
    return this.#send(call, entry, current === undefined ? own : Outcome.OUTCOME_COLLAPSED);
  }

  /** Returns the flight that a call may join. */
  #current({ key, rules }: Call): Flight | undefined {
    const flight = this.#flights.get(key);
    if (flight === undefined || flight.stop.aborted) return undefined;
    return this.#deps.now() - flight.startedAt <= rules.ageMsMax ? flight : undefined;
  }

  async #wait(flight: Flight, execution: Execution): Promise<CacheEntry | undefined> {
    const { now, deadlines } = this.#deps;
    const { signal } = execution.ctx;
    const left = Promise.withResolvers<never>();
    const deadlineAt = Math.min(execution.deadlineAt, execution.startedAt + execution.timeoutMs);
    const deadline = deadlines.add(deadlineAt - now(), () => left.reject(timedOut()));
    using _listening = onAbort(signal, () => left.reject(cancelReason(signal, now() >= deadlineAt)));
    try {
      return await flight.wait(left.promise);
    } finally {
      deadlines.remove(deadline);
    }
  }

  #start(call: Call, isRefresh: boolean): Flight {
    const { execution, key } = call;
    const { answers: store, now } = this.#deps;
    const { accountId } = execution.query as QueryDefinition;
    const flight = new Flight({ store, accountId, startedAt: now(), isRefresh });
    this.#flights.set(key, flight);
    void this.#fly(flight, call).finally(() => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    });
    return flight;
  }

  /** Never rejects. */
  async #fly(flight: Flight, call: Call): Promise<void> {
    const { key, run } = call;
    const { answers, events } = this.#deps;
    const own = this.#executionOf(flight, call);
    const old = answers.get(key);
    try {
      const { timeoutMs } = own;
      const rowsMax = run.options.maxRows;
      const options = runOptionsOf(undefined, preparedOf(own), { timeoutMs, rowsMax });
      const validation = validationOf(preparedOf(own), run.values, { old, now: flight.startedAt });
      await runOn(own, { ...run, options, validation });
      events.executed(own);
      // The last bytes of the answer can be too many.
      if (flight.hasOverflowed) throw new HubError('CANCELLED', 'The answer is too large to keep.');
      if (old !== undefined && validation?.isUnchanged)
        flight.result.resolve(this.#renew(flight, old, { key, own }));
      else flight.result.resolve(this.#keep(flight, call, { own, validation: validation?.value }));
    } catch (err) {
      const kept = answers.get(key);
      if (flight.isTooLarge) answers.put(key, entryOf(call, flight, { runAt: own.runAt }));
      else if (!flight.hasOverflowed && kept !== undefined && kept.freshAt < flight.startedAt)
        answers.delete(key);
      const failure = toFailure(own.causeOf(err), own.stage, own);
      if (flight.waiting === 0 && !flight.stop.aborted) events.failed(own, failure);
      flight.fail(failure);
    } finally {
      if (!flight.stop.aborted) events.ended(own);
    }
  }

  #executionOf(flight: Flight, { execution, run }: Call): Execution {
    const { now, limits } = this.#deps;
    const query = execution.query as QueryDefinition;
    const timeoutMs = timeoutMsOf(query, undefined, limits);
    const ctx: CallContext = {
      principal: execution.ctx.principal,
      requestId: execution.ctx.requestId,
      traceparent: execution.traceparent,
      deadlineAt: flight.startedAt + timeoutMs,
      signal: flight.stop,
    };
    const own = new Execution(execution.request, ctx, { reply: flight, now, isShared: true });
    own.onPrepared(query, preparedOf(execution), timeoutMs);
    own.statement = run.statement;
    return own;
  }

  /** Stores the whole answer, unless it is already too old. */
  #keep(flight: Flight, call: Call, { own, validation }: Result): CacheEntry {
    const { key, rules } = call;
    const { answers, now } = this.#deps;
    const bytes = flight.take();
    const { isTruncated: truncated } = flight;
    const etag = this.#tag(key, bytes, truncated);
    const answer = { bytes, etag, truncated, rowCount: own.outcome?.rowCount ?? 0 };
    const entry = entryOf(call, flight, { runAt: own.runAt, answer, validation });
    const isNewest = (answers.get(key)?.freshAt ?? 0) <= flight.startedAt;
    const isUsable = validation !== undefined || now() - flight.startedAt <= rules.ageMsMax;
    if (isNewest && isUsable) answers.put(key, entry);
    return entry;
  }

  #renew(flight: Flight, old: CacheEntry, { key, own }: { key: string; own: Execution }): CacheEntry {
    const { answers } = this.#deps;
    flight.isValidated = true;
    const entry = { ...old, freshAt: flight.startedAt, runAt: own.runAt };
    if ((answers.get(key)?.freshAt ?? 0) <= flight.startedAt) answers.put(key, entry);
    return entry;
  }

  /** Sends a cached answer, or only that it has not changed. Returns a promise only if it must wait for the reader. */
  #send(call: Call, entry: CacheEntry, outcome: CacheOutcome): void | Promise<void> {
    const { execution } = call;
    const answer = entry.answer as CachedResponse;
    const { etag, bytes } = answer;
    const { cache: asked, form } = execution.request;
    const notModified = asked?.anyEtag === true || asked?.etags.includes(etag) === true;
    const isOwn = outcome === Outcome.OUTCOME_MISS;
    const ageMs = isOwn ? undefined : Math.ceil(this.#deps.now() - entry.freshAt);
    const info = { outcome, etag, bytes: bytes.length, notModified, ...(isOwn ? {} : { ageMs }) };
    this.#announce(call, info, answer);
    if (answer.truncated) execution.reply.truncated?.({ rows: answer.rowCount, moreResults: false });
    if (notModified || form?.checkOnly) return undefined;
    const sending = sendBytes(execution, answer.bytes);
    return sending && this.#deps.answers.whileRead(call.key, entry, sending);
  }

  /** Runs the query as without a cache. */
  async #runAlone(call: Pick<Call, 'execution' | 'run' | 'rules'>, outcome: CacheOutcome): Promise<void> {
    const { execution, run } = call;
    if (execution.request.form?.checkOnly) return this.#announce(call, { outcome: Outcome.OUTCOME_NONE });
    this.#announce(call, { outcome });
    await runOn(execution, run);
    this.#deps.events.executed(execution);
  }

  #announce(
    { execution, rules }: Pick<Call, 'execution' | 'rules'>,
    info: Partial<CacheInfo> & { outcome: CacheOutcome },
    kept?: CachedResponse,
  ): void {
    const { maxAgeS, staleS } = rules;
    execution.reply.cached?.({ maxAgeS, staleS, notModified: false, ...info });
    this.#deps.events.answered(execution, info, kept);
  }
}

const preparedOf = ({ prepared }: Execution): PreparedQuery => prepared as PreparedQuery;

function entryOf(
  { execution }: Call,
  { startedAt }: Flight,
  made: Pick<CacheEntry, 'runAt' | 'validation'> & { answer?: CachedResponse },
): CacheEntry {
  const { accountId, queryId, hubId, source } = execution.query as QueryDefinition;
  const ids = [queryId, source.sourceId, hubId];
  return { accountId, ids, answer: undefined, freshAt: startedAt, ranAt: startedAt, ...made };
}

function timedOut(): HubError {
  return new HubError('STATEMENT_TIMEOUT', 'The statement took longer than allowed.', { retryable: false });
}
