/**
 * Runs several stored queries in one transaction on one connection. The first step that fails rolls back all. The answers
 * are held until the source has committed.
 */

import { formats } from '@datahub/contract/formats';
import { parseTransaction, transactionBounds } from '@datahub/contract/transactions';
import type { ExecutionReply, Executor } from '@datahub/executor-session/executor';
import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import { type CallContext, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { Catalog, QueryDefinition, SourceDefinition } from '../../definitions/definition.ts';
import type { PoolRegistry } from '../../pool/pool-registry.ts';
import type { Lease } from '../../pool/pool-types.ts';
import {
  NothingRan,
  type Outcome,
  type RunOptions,
  type TransactionName,
  unreported,
} from '../../ports/engine.ts';
import type { RowFigures } from '../../result/response.ts';
import { sendBytes } from '../cached/send-bytes.ts';
import { identity, toFailure } from '../execution-error.ts';
import type { Execution } from '../execution-state.ts';
import { claimedNames, keyLimits } from '../key-limits.ts';
import { leastOf, type PreparedQuery, runOptionsOf } from '../prepare.ts';
import type { RunDeps } from '../run-statement.ts';
import { type AnswerBytes, createHolding, type Hold } from './answer-bytes.ts';
import { CommitNotes } from './commit-notes.ts';
import { requireRows } from './expected-rows.ts';
import { findEnd, LostCommit } from './lost-commit.ts';
import { type Plan, type PlanDeps, type PlannedStep, planStored, planTransaction } from './plan.ts';
import { StepAnswer, withReferences } from './references.ts';
import { SourceTransaction } from './source-transaction.ts';
import { ofStep } from './step-error.ts';
import { type StepEvents, StepExecutions } from './step-executions.ts';
import { StepSessions } from './step-sessions.ts';

export interface TransactionDeps extends RunDeps, PlanDeps {
  catalog: Pick<Catalog, 'noteCommit'>;
  pools: Pick<PoolRegistry<SourceDefinition>, 'pool'>;
  events: StepEvents;
  tracing?: Tracing | undefined;
  now: () => number;
  random: () => number;
}

const pauseMsMax = 50;
/** Serialization failures and deadlocks. MySQL and MariaDB report deadlocks with the first one. */
const repeatable = new Set(['40001', '40P01']);

export function createTransactions(deps: TransactionDeps) {
  const hold = createHolding();
  return {
    /** Runs the queries that the call names. */
    execute: (async (request, ctx, reply) => {
      const principal = requirePrincipal(ctx);
      using held = new DisposableStack();
      const plan = await planTransaction(request, { ctx, principal, held }, deps);
      const retry = request.transaction?.retry === true;
      const steps = new StepExecutions(plan, request, deps);
      try {
        await hold(principal.accountId, async (bytes) => {
          const { body } = await runPlan(plan, { request, ctx, retry, steps, bytes }, deps);
          await send(body, { reply, ctx });
        });
      } catch (err) {
        steps.failed(err, ctx);
        throw err;
      }
      steps.executed();
    }) satisfies Executor['execute'],

    /** Runs the steps of a stored query, whose values are checked. The last one makes the answer. */
    executeStored: async (whole: Execution): Promise<void> => {
      try {
        await executeStored(whole, deps, hold);
        deps.events.executed(whole);
      } catch (err) {
        const failure = toFailure(whole.causeOf(err), whole.stage, whole);
        deps.events.failed(whole, failure);
        throw failure;
      }
    },
  };
}

export type Transactions = ReturnType<typeof createTransactions>;

async function executeStored(whole: Execution, deps: TransactionDeps, hold: Hold): Promise<void> {
  const { request, ctx } = whole;
  const query = whole.query as QueryDefinition;
  using _held = deps.definitions.hold(query);
  const plan = planStored(query, whole.prepared as PreparedQuery, { request, limits: deps.limits });
  whole.timeoutMs = plan.timeoutMs;
  const retry = parseTransaction(query.transactionJson as string).retry === true;
  // The whole is one execution, so its steps have no spans and no figures.
  const steps = new StepExecutions(plan, request, { ...deps, tracing: undefined });
  await hold(requirePrincipal(ctx).accountId, async (bytes) => {
    const { body, last } = await runPlan(plan, { request, ctx, retry, steps, whole, bytes }, deps);
    if (last !== undefined) whole.onOutcome(last.figures, last.outcome);
    await send(body, { reply: whole, ctx });
  });
}

interface Answered {
  body: Buffer;
  last: Ended | undefined;
}

/** How the last step ended. */
interface Ended {
  figures: RowFigures;
  outcome: Outcome;
}

/** Repeats the whole if that was asked for. */
async function runPlan(
  plan: Plan,
  { retry, ...call }: Omit<Call, 'notes' | 'attempt'> & { retry: boolean },
  deps: TransactionDeps,
): Promise<Answered> {
  const { sourceId } = plan.source;
  const { ctx, steps } = call;
  const { operation } = call.request;
  const notes = operation && new CommitNotes(operation, { ...deps, ctx, sourceId });
  let unrun = 0;
  for (let attempt = 1; ; attempt++) {
    const run = new TransactionRun(plan, { ...call, notes, attempt }, deps);
    try {
      const body = await run.run();
      return { body, last: run.last };
    } catch (err) {
      const again = retry && attempt - unrun <= transactionBounds.repeats && run.mayRepeat(err);
      // Each of its statements can have a plan that is out of date.
      if (!again && !(run.foundNothingRan(err) && unrun++ < plan.steps.length)) throw err;
      steps.forget(err);
      const pauseMs = deps.random() * pauseMsMax * attempt;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** The source has committed, so what fails here is no failure of the transaction. */
async function send(body: Buffer, to: { reply: ExecutionReply; ctx: CallContext }): Promise<void> {
  try {
    await sendBytes(to, body);
  } catch (err) {
    throw unreported(err);
  }
}

interface Call {
  request: ExecuteRequest;
  ctx: CallContext;
  /** Set for a call with an Idempotency-Key. */
  notes: CommitNotes | undefined;
  /** From 1. */
  attempt: number;
  /** Set if the steps are those of one stored query: its execution, which stands for all of them. */
  whole?: Execution | undefined;
  steps: StepExecutions;
  bytes: AnswerBytes;
}

/** One attempt. */
class TransactionRun {
  readonly #plan: Plan;
  readonly #call: Call;
  readonly #deps: TransactionDeps;
  readonly #answers = new Map<string, StepAnswer>();
  readonly #bodies: Buffer[] = [];
  readonly #sessions = new StepSessions();
  /** How the last step ended. */
  last: Ended | undefined;
  /** Of the last step, if the steps are those of one stored query. */
  #lastBody: Buffer = Buffer.alloc(0);
  #deadlineAt = 0;
  #isReused = false;
  /** True if the server did not run the statement of the step that failed. */
  #isUnrun = false;
  /** Undefined while the call waits for a connection. */
  #transaction: SourceTransaction | undefined;

  constructor(plan: Plan, call: Call, deps: TransactionDeps) {
    this.#plan = plan;
    this.#call = call;
    this.#deps = deps;
  }

  /** Returns the answer. */
  async run(): Promise<Buffer> {
    this.#call.bytes.release();
    try {
      await this.#attempt();
      return this.#answer();
    } catch (err) {
      const { name } = this.#transaction ?? {};
      if (!(err instanceof LostCommit) || name === undefined) throw err;
      // The connection was given back, so this may take its place.
      const pool = this.#deps.pools.pool(this.#plan.source);
      const { keyId } = requirePrincipal(this.#call.ctx);
      await findEnd(name, { ...this.#deps, pool, key: keyId, lost: err });
      return this.#answer({ recovered: true });
    }
  }

  /** `recovered`: the answer to COMMIT was lost, and the source said later that it has committed. */
  #answer(found: { recovered?: true } = {}): Buffer {
    if (this.#call.whole !== undefined) return this.#lastBody;
    const meta = { attempts: this.#call.attempt, ...found };
    const tail = Buffer.from(`],"meta":${JSON.stringify(meta)}}`);
    return Buffer.concat([Buffer.from('{"steps":['), ...this.#bodies, tail]);
  }

  /** The answer as a repeat gets it; undefined if it cannot say that it was cut. */
  #repeatable(): Buffer | undefined {
    const { whole } = this.#call;
    const isCut = this.last?.figures.truncated === true || this.last?.outcome.moreResults === true;
    if (whole !== undefined && isCut && formats[whole.format].hasTruncatedTrailer) return undefined;
    return this.#answer({ recovered: true });
  }

  async #attempt(): Promise<void> {
    const { ctx } = this.#call;
    const { now } = this.#deps;
    const { source, timeoutMs } = this.#plan;
    const { whole } = this.#call;
    if (whole !== undefined) whole.stage = 'queue';
    const pool = this.#deps.pools.pool(source);
    const { keyId } = requirePrincipal(ctx);
    const lease = await pool
      .acquire({ key: keyId, bytes: this.#size, deadlineAt: ctx.deadlineAt, signal: ctx.signal })
      .catch((err) => {
        throw toFailure(err, 'queue', identity);
      });
    this.#isReused = lease.uses > 1;
    whole?.onConnection(lease);
    this.#deadlineAt = Math.min(ctx.deadlineAt, now() + timeoutMs);
    try {
      this.#transaction = new SourceTransaction(lease.connection, { ...this.#deps, signal: ctx.signal });
      await this.#runOn(lease, this.#transaction);
    } finally {
      pool.release(lease);
      if (lease.connection.broken && this.#transaction?.stage === 'begin') pool.closeIdle();
    }
  }

  /** True if the whole may run again because of this error. */
  mayRepeat(err: unknown): boolean {
    return (
      this.#transaction?.isRolledBack === true &&
      err instanceof HubError &&
      repeatable.has(err.sql?.state ?? '')
    );
  }

  /**
   * True for a pooled connection that was dead before anything ran, or for a statement that the server did not run,
   * because its plan was out of date.
   */
  foundNothingRan(err: unknown): boolean {
    if (this.#call.ctx.signal.aborted || !this.#isReused) return false;
    const { stage, isRolledBack } = this.#transaction ?? {};
    const isNothing = stage === 'begin' || (isRolledBack === true && this.#isUnrun);
    return isNothing && err instanceof HubError && err.code === 'SOURCE_UNREACHABLE';
  }

  async #runOn(lease: Lease, transaction: SourceTransaction): Promise<void> {
    const { readOnly, isolation, steps } = this.#plan;
    try {
      const options = steps.map((step) => this.#optionsOf(step));
      const statementTimeoutMs = Math.max(...options.map((one) => one.statementTimeoutMs));
      await transaction.begin({ isolation, readOnly, statementTimeoutMs }, this.#deadlineAt);
      for (const [i, step] of steps.entries()) {
        const running = this.#runStep({ lease, transaction }, step, options[i] as RunOptions);
        await running.catch((err) => {
          throw ofStep(err, i);
        });
      }
      if (this.#call.request.options?.dryRun) await transaction.rehearse(this.#deadlineAt);
      else {
        const note = async (name: TransactionName | undefined) =>
          this.#call.notes?.note(name, this.#repeatable());
        await transaction.commit({ readOnly, note }, this.#deadlineAt);
      }
    } catch (err) {
      throw await transaction.fail(err);
    }
  }

  async #runStep(
    { lease, transaction }: { lease: Lease; transaction: SourceTransaction },
    planned: PlannedStep,
    options: RunOptions,
  ): Promise<void> {
    const { connection } = lease;
    const { ctx, whole, steps } = this.#call;
    const isAnswer = whole !== undefined && planned === this.#plan.steps.at(-1);
    const chunks: Buffer[] = [];
    const reply = {
      chunk: (chunk: Buffer) => {
        this.#call.bytes.add(chunk.length);
        chunks.push(chunk);
        return true;
      },
      onDrain: () => {},
    };
    const stepCtx = { ...contextOf(ctx), deadlineAt: this.#deadlineAt };
    const execution = steps.begin(planned, { ctx: stepCtx, reply, isAnswer });
    try {
      transaction.requireTime(this.#deadlineAt);
      execution.statement = await this.#bind(planned, execution.request);
      execution.onConnection(lease);
      const writer = this.#deps.createWriter(execution.responseOptions(options.maxRows));
      try {
        const running = connection.run(execution.statement, writer, options);
        const { deadlineAt } = execution;
        const outcome = await transaction.within(running, deadlineAt);
        execution.onOutcome(writer, outcome);
        await writer.turnToFinish();
        writer.finish(outcome, execution);
        requireRows(planned, outcome, writer);
        const { rowCount, truncated } = writer;
        this.last = { figures: { rowCount, truncated }, outcome };
      } catch (err) {
        writer.abandon();
        this.#isUnrun = err instanceof NothingRan;
        throw err;
      }
      const body = Buffer.concat(chunks);
      chunks.length = 0;
      if (isAnswer) this.#lastBody = body;
      else this.#keep(planned.step.as, body);
    } catch (err) {
      throw toFailure(execution.causeOf(err), execution.stage, execution);
    } finally {
      steps.end(planned);
    }
  }

  async #bind({ step, query, prepared }: PlannedStep, { options }: ExecuteRequest) {
    const principal = requirePrincipal(this.#call.ctx);
    const pinnedJson = keyLimits.context(principal.limits);
    const pinned = new Set(pinnedJson === '' ? [] : Object.keys(JSON.parse(pinnedJson) as object));
    const contextJson = await withReferences(step.contextJson, step.references, {
      answers: this.#answers,
      pinned,
      query,
    });
    const statement = prepared.bind({
      pinnedJson,
      contextJson,
      scalarsAsLists: claimedNames(principal),
      claimsJson: principal.user?.claimsJson,
      // The values of a stored query are checked for all steps.
      strict: this.#call.whole === undefined && (options?.strict || keyLimits.strict(principal.limits)),
    });
    return this.#sessions.of(statement);
  }

  #optionsOf({ step, prepared, timeoutMs }: PlannedStep): RunOptions {
    const { limits } = requirePrincipal(this.#call.ctx);
    const rowsMax = leastOf(keyLimits.maxRows(limits), this.#deps.limits.rowsMax || undefined);
    // What a step asks for is checked here, because a failure must roll back all steps.
    const {
      maxAffected: _,
      dryRun: __,
      ...options
    } = runOptionsOf(step.options, prepared, {
      timeoutMs: Math.min(timeoutMs, this.#plan.timeoutMs),
      rowsMax,
      format: 'json',
    });
    return { ...options, inTransaction: true };
  }

  #keep(name: string | undefined, body: Buffer): void {
    const start = (this.#bodies.length > 0 ? ',{' : '{') + (name ? `"as":${JSON.stringify(name)},` : '');
    this.#bodies.push(Buffer.from(start), body.subarray(1));
    if (name !== undefined) this.#answers.set(name, new StepAnswer(body));
  }

  get #size(): number {
    return this.#plan.steps.reduce((sum, { step }) => sum + step.contextJson.length, 0);
  }
}

const contextOf = ({ principal, requestId, traceparent, signal }: CallContext) => ({
  ...{ principal, requestId, traceparent, signal },
});
