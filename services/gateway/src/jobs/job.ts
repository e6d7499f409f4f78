/**
 * Runs one job until it ends, is deleted or is leased by another gateway. The runner reads the scopes and limits of the
 * job's key, and whether it may still use the query, at the start of each run and every 5 s. If the key has changed, the
 * run restarts with the new scopes and limits and skips the rows that the classifier has learnt. A run that fails for a
 * transient reason is repeated.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { withScope } from '@datahub/contract/roles';
import { isGranted } from '@datahub/contract/scopes';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { TakenJob } from '@datahub/proto/ml/v1/ml';
import { onAbort } from '@datahub/service-kit/call/abort';
import {
  type CallContext,
  CallStop,
  createCallContext,
  createRequestId,
  toAbortSignal,
} from '@datahub/service-kit/call/call';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { checkExecution, executionOf } from '../resources/classifiers/jobs.ts';
import type { Upstreams } from '../upstreams.ts';
import type { LearntRows } from './learnt-rows.ts';
import { TrainingRun } from './training-run.ts';

/** The reasons for stopping a run, besides a key that is no longer valid. */
const neededScopes = ['classifiers:train', 'queries:execute'] as const;
export const stops = {
  closing: new HubError('UNAVAILABLE', 'The gateway is shutting down.'),
  share: new HubError('UNAVAILABLE', 'The job has used its share of time, and another job waits.'),
  rights: new HubError('UNAVAILABLE', 'The scopes or limits of the key changed.'),
};

const keyCheckMs = 5_000;
/** If the catalog is unreachable, the last known scopes and limits of the key are used for this long. */
const keyAwayMs = 60_000;
const callTimeoutMs = 5_000;
const runMs = 3_600_000;
/** The most consecutive runs that learn nothing. */
const triesMax = 6;
const pauseMs = { first: 500, max: 15_000 };
/** Codes of transient failures. */
const transientCodes = new Set([
  'SOURCE_BUSY',
  'SOURCE_BROKEN',
  'SOURCE_UNREACHABLE',
  'UNAVAILABLE',
  'RATE_LIMITED',
  'OUTCOME_UNKNOWN',
]);

/** Codes of an execution that must not go on. */
const goneCodes = new Set(['NOT_FOUND', 'SOURCE_GONE', 'SCOPE_DENIED']);

export interface JobDeps {
  upstreams: Pick<Upstreams, 'catalog' | 'executor' | 'ml'>;
  /** Fires when the gateway shuts down, or another job gets the place of this one. The job then waits for its next turn. */
  release: CallStop;
  /** Empty at the start. */
  learnt: LearntRows;
  /** Called for an unexpected failure, which is not a fault of the job. */
  onFailure(err: unknown): void;
}

export async function runJob(job: TakenJob, deps: JobDeps): Promise<void> {
  const running = new JobRun(job, deps);
  try {
    await running.run();
  } finally {
    running.close();
  }
}

class JobRun {
  readonly #job: TakenJob;
  readonly #deps: JobDeps;
  readonly #heartbeat: NodeJS.Timeout;
  readonly #keyCheck: NodeJS.Timeout;
  #stop = new CallStop();
  #principal: Principal;
  #checkedAt = performance.now();
  #run: TrainingRun | undefined;
  readonly #learnt: LearntRows;
  /** True if the job was deleted or another gateway has leased it. */
  #isLost = false;
  readonly #release: Disposable;

  constructor(job: TakenJob, deps: JobDeps) {
    this.#job = job;
    this.#deps = deps;
    this.#learnt = deps.learnt;
    const { accountId, keyId, leaseMs } = job;
    this.#principal = { accountId, keyId, scopes: [], limits: undefined };
    this.#heartbeat = setInterval(() => void this.#extendLease(), leaseMs / 3);
    this.#keyCheck = setInterval(() => void this.#checkKey(), keyCheckMs);
    this.#release = onAbort(deps.release, () => this.#stop.abort(deps.release.reason));
  }

  close(): void {
    clearInterval(this.#heartbeat);
    clearInterval(this.#keyCheck);
    this.#release[Symbol.dispose]();
  }

  async run(): Promise<void> {
    for (let tries = 1; ; tries++) {
      const before = this.#learnt.size;
      try {
        await this.#runOnce();
        return await this.#end('done');
      } catch (err) {
        if (this.#isLost) return;
        if (this.#deps.release.aborted) return await this.#end('');
        if (this.#learnt.size > before || err === stops.rights) tries = 0;
        const failure = toHubError(err);
        if (failure.code === 'INTERNAL') this.#deps.onFailure(err);
        // A run may also need its time to skip the rows that another gateway has learnt before.
        const mayPass =
          transientCodes.has(failure.code) || (failure.code === 'STATEMENT_TIMEOUT' && this.#learnt.size > 0);
        if (!mayPass || tries >= triesMax) return await this.#end('failed', failure);
        if (tries > 0) await this.#pause(Math.min(pauseMs.first * 2 ** tries, pauseMs.max));
      }
    }
  }

  /** Ends early when the job is released. */
  #pause(ms: number): Promise<void> {
    return wait(ms, undefined, { signal: toAbortSignal(this.#deps.release) }).catch(() => {});
  }

  async #runOnce(): Promise<void> {
    this.#stop = new CallStop();
    const stop = this.#stop;
    if (this.#deps.release.aborted) throw this.#deps.release.reason;
    this.#principal = await this.#resolveKey();
    for (const scope of neededScopes) {
      if (!isGranted(this.#principal.scopes, scope))
        throw new HubError('SCOPE_DENIED', `The key of this job no longer has the scope ${scope}.`);
    }
    const run = new TrainingRun({
      job: this.#job,
      upstreams: this.#deps.upstreams,
      ctx: {
        principal: this.#principal,
        requestId: createRequestId(),
        deadlineAt: performance.now() + runMs,
        signal: stop,
      },
      stop,
      learnt: this.#learnt,
    });
    this.#run = run;
    await run.run().catch((err) => {
      this.#isLost ||= isLost(err);
      throw err;
    });
  }

  async #resolveKey(): Promise<Principal> {
    const { keyId } = this.#job;
    const { principal } = await this.#deps.upstreams.catalog.resolveKey({ keyId }, this.#ctx());
    if (principal === undefined) throw new HubError('INTERNAL', 'The catalog returned no principal.');
    this.#checkedAt = performance.now();
    // A person acts by the role that may train.
    return neededScopes.reduce((acting, scope) => withScope(acting, scope) ?? acting, principal);
  }

  async #checkKey(): Promise<void> {
    const before = this.#principal;
    const stop = this.#stop;
    try {
      const { scopes, limits } = await this.#resolveKey();
      if (before.scopes.length === 0) return;
      if (!isDeepStrictEqual({ scopes, limits }, { scopes: before.scopes, limits: before.limits }))
        stop.abort(stops.rights);
      else await this.#requireQuery();
    } catch (err) {
      const isAway = err instanceof HubError && err.code === 'UNAVAILABLE';
      if (!isAway || performance.now() - this.#checkedAt > keyAwayMs) stop.abort(err);
    }
  }

  /** Rejects if the query or its source is gone, or the query got a name that the key may not use. */
  async #requireQuery(): Promise<void> {
    await checkExecution(this.#deps.upstreams, executionOf(this.#job), this.#ctx()).catch((err) => {
      if (goneCodes.has(toHubError(err).code)) throw err;
    });
  }

  async #extendLease(): Promise<void> {
    const { jobId, lease } = this.#job;
    try {
      const rows = { jobId, lease, rows: [], counts: this.#run?.counts };
      await this.#deps.upstreams.ml.trainRows(rows, this.#ctx());
    } catch (err) {
      if (!isLost(err)) return;
      this.#isLost = true;
      this.#stop.abort(err);
    }
  }

  async #end(state: string, failure?: HubError): Promise<void> {
    const { jobId, lease } = this.#job;
    // No store takes half of a pair of surrogates, where the text of a database was cut.
    const error = failure && { errorCode: failure.code, errorDetail: failure.message.toWellFormed() };
    const ended = { jobId, lease, state, counts: this.#run?.counts, ...error };
    await this.#deps.upstreams.ml.endJob(ended, this.#ctx()).catch((err) => {
      if (!isLost(err)) throw err;
    });
  }

  #ctx(): CallContext {
    return createCallContext({ timeoutMs: callTimeoutMs, principal: this.#principal });
  }
}

const isLost = (err: unknown): boolean => err instanceof HubError && err.code === 'CONFLICT';
