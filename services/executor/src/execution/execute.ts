/** Runs a stored query: admit → resolve → bind → run → rows. The only way to the users' data. */

import type { Executor } from '@datahub/executor-session/executor';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { Definitions, SourceDefinition } from '../definitions/definition-cache.ts';
import { NeverAnswered, type RunOptions, type Statement } from '../engine.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import type { ExecutorEvents } from '../telemetry/events.ts';
import { toHeaderText } from '../unknown-context.ts';
import { type ExecutionLimits, leastOf, requireAllowed, runOptionsOf, timeoutMsOf } from './authorize.ts';
import { reasonOf, StopUnproven, untilStopped } from './cancellation.ts';
import type { CompileQuery } from './compiled-query.ts';
import { type AnswerOptions, type AnswerSink, Execution } from './execution.ts';
import { toFailure } from './execution-error.ts';

export type { AnswerOptions, AnswerSink } from './execution.ts';

export interface ExecuteDeps {
  definitions: Pick<Definitions, 'held' | 'query'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  compile: CompileQuery;
  createAnswer(options: AnswerOptions): AnswerSink;
  limits: ExecutionLimits;
  events: ExecutorEvents;
  tracing?: Tracing | undefined;
  now: () => number;
}

/** How long a statement that is stopped may take to end, before its connection is cut. */
const stopGraceMs = 800;

export function createExecute(deps: ExecuteDeps): Executor['execute'] {
  const { definitions, pools, compile, limits, now } = deps;
  return async (request, ctx, reply) => {
    const run = new Execution(request, ctx, { reply, now, tracing: deps.tracing });
    try {
      const principal = requirePrincipal(ctx);
      const query =
        definitions.held(request.queryId, principal) ??
        (await definitions.query(request.queryId, principal, {
          signal: ctx.signal,
          traceparent: run.traceparent,
        }));
      run.stage = 'prepare';
      const prepared = compile(query);
      run.admitted(query, prepared, timeoutMsOf(query, request.options, limits));
      requireAllowed(principal, query, prepared.kind);
      const options = runOptionsOf(request.options, prepared, {
        timeoutMs: run.timeoutMs,
        rowsMax: leastOf(principal.limits?.maxRows, limits.rowsMax || undefined),
      });
      const pinnedJson = principal.limits?.contextJson ?? '';
      const statement = prepared.bind({
        pinnedJson,
        contextJson: request.contextJson,
        strict: request.options?.strict || principal.limits?.strict,
        onUnknown: (names) => reply.unknownContext?.(toHeaderText(names)),
      });
      run.statement = statement;
      const pool = pools.pool(query.source);
      await runOn(run, { pool, statement, options, key: principal.keyId, deps });
      deps.events.executed(run);
    } catch (err) {
      const failure = toFailure(run.causeOf(err), run.stage, run);
      deps.events.failed(run, failure);
      throw failure;
    }
  };
}

interface Work {
  pool: Pool;
  statement: Statement;
  options: RunOptions;
  key: string;
  deps: ExecuteDeps;
}

async function runOn(run: Execution, work: Work): Promise<void> {
  try {
    await runOnce(run, work);
  } catch (err) {
    if (!isStale(err, run, work.statement)) throw err;
    // Its neighbours were opened before it died as well, so the second try gets a new connection.
    work.pool.dropIdle();
    await runOnce(run, work);
  }
}

/** Not parted into smaller ones: each call that is waited for takes half a microsecond, and all executions come by. */
async function runOnce(run: Execution, { pool, statement, options, key, deps }: Work): Promise<void> {
  run.stage = 'queue';
  const { deadlineAt, now } = run;
  const { signal } = run.ctx;
  const lease = pool.tryAcquire() ?? (await pool.acquire({ key, deadlineAt, signal }));
  run.started(lease);
  const { connection } = lease;
  const answer = deps.createAnswer(run.answerOptions);
  try {
    if (signal.aborted) throw reasonOf(signal, now() >= deadlineAt);
    const working = connection.run(statement, answer, options);
    const outcome = await untilStopped(working, {
      connection,
      signal,
      deadlineAt,
      now,
      graceMs: stopGraceMs,
    });
    run.ended(outcome);
    answer.finish(outcome, run);
  } catch (err) {
    answer.abandon();
    throw statement.kind === 'read' ? err : toUnknownOutcome(err);
  } finally {
    pool.release(lease);
  }
}

/**
 * A write whose connection died, or was cut because it did not stop, may have been carried out: nobody can tell. It is
 * never repeated here, and the caller is told not to repeat it unseen.
 */
function toUnknownOutcome(err: unknown): unknown {
  const lost = err instanceof StopUnproven || (err instanceof HubError && err.code === 'SOURCE_BROKEN');
  if (!lost) return err;
  return new HubError(
    'OUTCOME_UNKNOWN',
    'The connection to the source was lost while the statement ran, so its outcome is unknown: it may have been carried out. Look at the source before you repeat it.',
    { cause: err, retryable: false },
  );
}

/** True for a read on a pooled connection that had died before it answered anything: it is safe to repeat. */
function isStale(err: unknown, run: Execution, statement: Statement): boolean {
  if (!(err instanceof NeverAnswered)) return false;
  return statement.kind === 'read' && run.isReused && run.bytes === 0 && !run.ctx.signal.aborted;
}
