/** Executes a stored query: authorize → resolve → bind → run → rows. All access to the data of users goes through here. */

import type { Executor } from '@datahub/executor-session/executor';
import { requirePrincipal } from '@datahub/service-kit/call/call';
import type { Deadlines } from '@datahub/service-kit/call/deadlines';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { SourceDefinition } from '../definitions/definition.ts';
import type { Definitions } from '../definitions/definition-cache.ts';
import { NeverAnswered, type RunOptions, type Statement } from '../engine.ts';
import type { Pool } from '../pool/pool.ts';
import type { PoolRegistry } from '../pool/pool-registry.ts';
import { CancelUnconfirmed, cancelReason, withCancellation } from './cancellation.ts';
import { Execution, type ResponseOptions, type ResponseWriter } from './execution.ts';
import { toFailure } from './execution-error.ts';
import { contextOfForm, requireRead } from './form.ts';
import { keyLimits } from './key-limits.ts';
import {
  type CompileQuery,
  type ExecutionLimits,
  leastOf,
  requireAllowed,
  requireReading,
  runOptionsOf,
  timeoutMsOf,
} from './prepare.ts';
import { toHeaderText } from './unknown-context.ts';

export interface ExecuteDeps {
  definitions: Pick<Definitions, 'cached' | 'query'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  compile: CompileQuery;
  createWriter(options: ResponseOptions): ResponseWriter;
  limits: ExecutionLimits;
  events: {
    executed(run: Execution): void;
    failed(run: Execution, err: HubError): void;
  };
  tracing?: Tracing | undefined;
  now: () => number;
  deadlines: Deadlines;
}

export function createExecute(deps: ExecuteDeps): Executor['execute'] {
  const { definitions, pools, compile, limits, now } = deps;
  return async (request, ctx, reply) => {
    const run = new Execution(request, ctx, { reply, now, tracing: deps.tracing });
    try {
      const principal = requirePrincipal(ctx);
      const query =
        definitions.cached(request.queryId, principal) ??
        (await definitions.query(request.queryId, principal, {
          signal: ctx.signal,
          traceparent: run.traceparent,
        }));
      run.stage = 'prepare';
      const prepared = compile(query);
      run.onPrepared(query, prepared, timeoutMsOf(query, request.options, limits));
      const { form } = request;
      requireAllowed(principal, query, form === undefined ? prepared.kind : 'read');
      if (form !== undefined) requireRead(prepared);
      requireReading(request, prepared);
      const options = runOptionsOf(request.options, prepared, {
        timeoutMs: run.timeoutMs,
        rowsMax: leastOf(keyLimits.maxRows(principal.limits), limits.rowsMax || undefined),
      });
      const pinnedJson = keyLimits.context(principal.limits);
      const statement = prepared.bind({
        pinnedJson,
        contextJson:
          form === undefined ? request.contextJson : contextOfForm(form, { query, prepared, pinnedJson }),
        strict: request.options?.strict || keyLimits.strict(principal.limits),
        onUnknown: (names) => reply.unknownContext?.(toHeaderText(names)),
      });
      run.statement = statement;
      if (form?.checkOnly || request.checkOnly) return run.span?.end({});
      const pool = pools.pool(query.source);
      await runOn(run, {
        pool,
        statement,
        options,
        key: principal.keyId,
        bytes: request.contextJson.length,
        deps,
      });
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
  /** Of the values. */
  bytes: number;
  deps: ExecuteDeps;
}

async function runOn(run: Execution, work: Work): Promise<void> {
  try {
    await runOnce(run, work);
  } catch (err) {
    if (!isStale(err, run, work.statement)) throw err;
    // The other idle connections are probably dead too. Close them, so that the retry opens a new one.
    work.pool.closeIdle();
    await runOnce(run, work);
  }
}

/** One function on purpose: each further await costs every execution half a microsecond. */
async function runOnce(run: Execution, { pool, statement, options, key, bytes, deps }: Work): Promise<void> {
  run.stage = 'queue';
  const { deadlineAt, now } = run;
  const { signal } = run.ctx;
  const lease = pool.tryAcquire() ?? (await pool.acquire({ key, bytes, deadlineAt, signal }));
  run.onConnection(lease);
  const { connection } = lease;
  const writer = deps.createWriter(run.responseOptions);
  try {
    if (signal.aborted) throw cancelReason(signal, now() >= deadlineAt);
    const { deadlines } = deps;
    const running = connection.run(statement, writer, options);
    const outcome = await withCancellation(running, { connection, signal, deadlineAt, now, deadlines });
    run.onOutcome(outcome);
    writer.finish(outcome, run);
  } catch (err) {
    writer.abandon();
    throw statement.kind === 'read' ? err : toUnknownOutcome(err);
  } finally {
    pool.release(lease);
  }
}

const connectionLost =
  'The connection to the source was lost while the statement ran, so its outcome is unknown: it may have been carried out. Check the source before you repeat it.';
const hubFailed =
  'The hub failed while the statement ran, so its outcome is unknown: it may have been carried out. Check the source before you repeat it.';

/**
 * The outcome of a write is unknown if its connection died, was closed because the cancel was not confirmed, or if the hub
 * itself failed. The hub never repeats such a write, and tells the caller to check first.
 */
function toUnknownOutcome(err: unknown): unknown {
  const failed = !(err instanceof HubError || err instanceof CancelUnconfirmed);
  if (!failed && err instanceof HubError && err.code !== 'SOURCE_BROKEN') return err;
  return new HubError('OUTCOME_UNKNOWN', failed ? hubFailed : connectionLost, {
    cause: failed ? toHubError(err) : err,
    retryable: false,
  });
}

/** True for a read on a pooled connection that died before the database answered: repeating it is safe. */
function isStale(err: unknown, run: Execution, statement: Statement): boolean {
  if (!(err instanceof NeverAnswered)) return false;
  return statement.kind === 'read' && run.isReused && run.bytes === 0 && !run.ctx.signal.aborted;
}
