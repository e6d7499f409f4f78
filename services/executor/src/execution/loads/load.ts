/**
 * Runs a query that writes once for each of many records, in one transaction or in several. While the source runs a batch,
 * the next one is bound.
 */

import type { ExecutionReply, Executor } from '@datahub/executor-session/executor';
import type { Principal } from '@datahub/proto/common/v1/principal';
import type { ExecuteRequest, Load, RecordBatch } from '@datahub/proto/executor/v1/executor';
import { orAborted } from '@datahub/service-kit/call/abort';
import { type CallContext, type CallSignal, requirePrincipal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import type { QueryDefinition, SourceDefinition } from '../../definitions/definition.ts';
import type { Pool } from '../../pool/pool.ts';
import type { Lease } from '../../pool/pool-types.ts';
import type { RunOptions, Statement } from '../../ports/engine.ts';
import { cancelReason, toFailure } from '../execution-error.ts';
import { Execution } from '../execution-state.ts';
import { claimedNames, keyLimits } from '../key-limits.ts';
import {
  type PreparedQuery,
  refusedOption,
  requireAllowed,
  requireNamed,
  runOptionsOf,
  timeoutMsOf,
} from '../prepare.ts';
import { findEnd, LostCommit } from '../transactions/lost-commit.ts';
import { SourceTransaction } from '../transactions/source-transaction.ts';
import type { TransactionDeps } from '../transactions/transaction.ts';
import { atLine, createRecordReader, type ReadRecord } from './record-values.ts';

/** What a call that waits for a connection holds in memory. */
const waitingBytes = 2 * 1_048_576;
/** The share of a pool that loads may have: a long one must leave room for other calls. */
const loadsShare = 0.25;

export function createLoads(deps: TransactionDeps): Executor['execute'] {
  const running = new WeakMap<Pool, number>();
  return async (request, ctx, reply) => {
    const execution = new Execution(request, ctx, { reply, now: deps.now, tracing: deps.tracing });
    try {
      using held = new DisposableStack();
      const prepared = await prepareLoad(execution, held, deps);
      const source = execution.query?.source as SourceDefinition;
      const pool = deps.pools.pool(source);
      const before = running.get(pool) ?? 0;
      if (before >= Math.max(1, Math.floor(pool.sizeMax * loadsShare))) throw tooMany();
      running.set(pool, before + 1);
      try {
        await new LoadRun({ execution, pool, ...prepared }, deps).run();
      } finally {
        running.set(pool, (running.get(pool) ?? 1) - 1);
      }
      deps.events.executed(execution);
    } catch (err) {
      const failure = toFailure(execution.causeOf(err), execution.stage, execution);
      deps.events.failed(execution, failure);
      throw failure;
    }
  };
}

const tooMany = () =>
  new HubError(
    'SOURCE_BUSY',
    'Other uploads of records use the part of the pool that uploads may have. Try again when one has ended.',
    { stage: 'queue', retryable: true, retryAfterMs: 5_000 },
  );

interface Prepared {
  read: ReadRecord;
  options: RunOptions;
  /** Rejects if the caller may no longer do this, or the query or its source is gone. */
  requireStill(caller: Principal): Promise<void>;
}

/** Rejects if the query or the key does not allow it. */
async function prepareLoad(
  execution: Execution,
  held: DisposableStack,
  { definitions, compile, limits }: TransactionDeps,
): Promise<Prepared> {
  const { request, ctx, reply } = execution;
  const principal = requirePrincipal(ctx);
  const find = async () =>
    definitions.cached(request.queryId, principal) ??
    (await definitions.query(request.queryId, principal, ctx));
  const query = await find();
  held.use(definitions.hold(query));
  requireNamed(query, request.path);
  execution.stage = 'prepare';
  const prepared = compile(query);
  if (request.tellSource) reply.source?.(query.source.sourceId, prepared.kind === 'read');
  execution.onPrepared(query, prepared, timeoutMsOf(query, request.options, limits));
  requireLoadAllowed(principal, query, prepared);
  requireLoadable(query.source, prepared);
  const pinnedJson = keyLimits.context(principal.limits);
  const values = {
    pinnedJson,
    scalarsAsLists: claimedNames(principal),
    claimsJson: principal.user?.claimsJson,
    // Nobody would be told of a misspelt member, and the default would be stored.
    strict: true,
  };
  return {
    read: createRecordReader(request.load as Load, { query, prepared, values, pinnedJson }),
    options: runOptionsOf(request.options, prepared, { timeoutMs: execution.timeoutMs, rowsMax: undefined }),
    requireStill: async (caller) => {
      // Its path, which limits can name it by, may have changed. It runs as it was when the upload began.
      requireLoadAllowed(caller, await find(), prepared);
      if (keyLimits.context(caller.limits) === pinnedJson) return;
      throw new HubError('SCOPE_DENIED', 'The values that the key pins have changed. Send the rest again.');
    },
  };
}

function requireLoadAllowed(principal: Principal, query: QueryDefinition, prepared: PreparedQuery): void {
  requireAllowed(principal, query, prepared.kind);
  keyLimits.user(principal, query, {
    names: prepared.names,
    usesClaim: (path) => prepared.usesClaim(path),
  });
}

function requireLoadable({ engine }: SourceDefinition, { kind }: PreparedQuery): void {
  if (engine === 'mongodb') throw refusedOption('Queries of MongoDB do not take records.');
  if (kind === 'read') throw refusedOption('This query reads. Only a query that writes takes records.');
  if (kind === 'transaction')
    throw refusedOption(
      'This query is a transaction of several statements. Only a single one takes records.',
    );
  if (kind === 'standalone')
    throw refusedOption(
      'This statement runs outside of a transaction, as CALL and changes of tables do, so it takes no records.',
    );
}

interface LoadOptions extends Prepared {
  execution: Execution;
  pool: Pool;
}

class LoadRun {
  readonly #load: LoadOptions;
  readonly #deps: TransactionDeps;
  readonly #request: ExecuteRequest;
  readonly #ctx: CallContext;
  readonly #reply: ExecutionReply;
  #caller: Principal;
  #transaction: SourceTransaction | undefined;
  #records = 0;
  #affectedRows = 0;
  /** Records since the last COMMIT. */
  #open = 0;
  #lastLine = 0;
  #committedLines = 0;
  /** True once all records have run. */
  #isComplete = false;
  #isRecovered = false;
  #batches = 0;
  /** Of the batch that runs at the source. */
  #deadlineAt = 0;

  constructor(load: LoadOptions, deps: TransactionDeps) {
    const { request, ctx, reply } = load.execution;
    this.#load = load;
    this.#deps = deps;
    this.#request = request;
    this.#ctx = ctx;
    this.#reply = reply;
    this.#caller = requirePrincipal(ctx);
  }

  async run(): Promise<void> {
    try {
      await this.#runOnce();
    } catch (err) {
      // It says that nothing was changed, of the last portion.
      const isLater = this.#load.execution.committedRows > 0;
      throw isLater && err instanceof HubError && err.code === 'SOURCE_UNREACHABLE' ? interrupted(err) : err;
    }
    const { execution } = this.#load;
    execution.outcome = { rowCount: this.#records, truncated: false };
    execution.durationMs = this.#deps.now() - execution.runAt;
    this.#report(true);
  }

  async #runOnce(): Promise<void> {
    const { pool } = this.#load;
    try {
      await this.#attempt();
    } catch (err) {
      const { name } = this.#transaction ?? {};
      if (!(err instanceof LostCommit) || name === undefined) throw err;
      const { keyId } = requirePrincipal(this.#ctx);
      await findEnd(name, { ...this.#deps, pool, key: keyId, lost: err });
      this.#noteCommit();
      // Only the last COMMIT can be lost and leave nothing to do.
      if (!this.#isComplete) throw interrupted(err);
      this.#isRecovered = true;
    }
  }

  async #attempt(): Promise<void> {
    const { pool, execution } = this.#load;
    const { signal, deadlineAt } = this.#ctx;
    const { keyId } = requirePrincipal(this.#ctx);
    execution.stage = 'queue';
    const lease = await pool.acquire({ key: keyId, bytes: waitingBytes, deadlineAt, signal });
    execution.onConnection(lease);
    try {
      await this.#runOn(lease);
    } finally {
      pool.release(lease);
      if (lease.connection.broken && this.#transaction?.stage === 'begin') pool.closeIdle();
    }
  }

  async #runOn(lease: Lease): Promise<void> {
    let running = Promise.resolve();
    try {
      await this.#begin(lease);
      this.#report();
      const batches = this.#requireInput()[Symbol.asyncIterator]();
      for (;;) {
        const { value: batch, done } = await nextBatch(batches, this.#ctx.signal);
        if (done) break;
        // An earlier line must fail first.
        const bound = await this.#bind(batch).finally(() => running);
        running = this.#runBatch(lease, batch, bound);
        running.catch(() => {});
      }
      await running;
      this.#isComplete = true;
      await this.#commit();
    } catch (err) {
      await running.catch(() => {});
      throw (await this.#transaction?.fail(err)) ?? err;
    }
  }

  #requireInput(): AsyncIterable<RecordBatch> {
    const { input } = this.#reply;
    if (input === undefined) throw refusedOption('A load needs a session, in which its records follow.');
    return input;
  }

  async #begin({ connection }: Lease): Promise<void> {
    const { deadlines, now } = this.#deps;
    const { statementTimeoutMs } = this.#load.options;
    this.#open = 0;
    this.#transaction = new SourceTransaction(connection, { deadlines, now, signal: this.#ctx.signal });
    this.#renewTime();
    await this.#transaction.begin({ readOnly: false, statementTimeoutMs }, this.#deadlineAt);
  }

  /** The time of a statement is also that of a batch, so that other work of the source does not wait long. */
  #renewTime(): void {
    const { execution } = this.#load;
    this.#deadlineAt = this.#deps.now() + execution.timeoutMs;
    execution.deadlineAt = this.#deadlineAt;
  }

  async #bind({ records, lines, caller }: RecordBatch): Promise<Statement[]> {
    const { read, execution, requireStill } = this.#load;
    this.#caller = caller ?? this.#caller;
    await requireStill(this.#caller);
    const endOfTurn = createLoopYield();
    const statements: Statement[] = [];
    for (let i = 0; i < records.length; i++) {
      try {
        const statement = read(records[i] as string);
        execution.statement ??= statement;
        statements.push(statement);
      } catch (err) {
        throw atLine(err, lines[i] as number);
      }
      const turn = endOfTurn();
      if (turn !== undefined) await turn;
    }
    return statements;
  }

  async #runBatch(lease: Lease, { lines }: RecordBatch, statements: Statement[]): Promise<void> {
    const every = this.#request.load?.commitEvery ?? Number.POSITIVE_INFINITY;
    for (let from = 0; from < statements.length; ) {
      if (this.#open >= every) {
        await this.#commit();
        await this.#begin(lease);
      }
      const to = Math.min(statements.length, from + every - this.#open);
      await this.#runSome(statements.slice(from, to), lines.slice(from, to));
      from = to;
    }
    this.#batches++;
    this.#report();
  }

  async #runSome(statements: Statement[], lines: number[]): Promise<void> {
    const transaction = this.#transaction as SourceTransaction;
    const { statementTimeoutMs } = this.#load.options;
    let failed: number | undefined;
    const onFailure = (index: number) => {
      failed = index;
    };
    this.#renewTime();
    transaction.requireTime(this.#deadlineAt);
    try {
      const work = transaction.transactions.runAll(statements, { statementTimeoutMs, onFailure });
      this.#affectedRows += await transaction.within(work, this.#deadlineAt);
    } catch (err) {
      if (failed === undefined) throw err;
      const { execution } = this.#load;
      execution.statement = statements[failed];
      throw atLine(err, lines[failed] as number);
    }
    this.#records += statements.length;
    this.#open += statements.length;
    this.#lastLine = lines.at(-1) ?? this.#lastLine;
  }

  async #commit(): Promise<void> {
    this.#renewTime();
    await this.#transaction?.commit({ readOnly: false }, this.#deadlineAt);
    this.#noteCommit();
  }

  #noteCommit(): void {
    this.#committedLines = this.#lastLine;
    this.#load.execution.committedRows = this.#records;
    if (!this.#isComplete) this.#report();
  }

  #report(isLast = false): void {
    const progress = {
      batches: this.#batches,
      records: this.#records,
      affectedRows: this.#affectedRows,
      committedLines: this.#committedLines,
      recovered: this.#isRecovered || undefined,
    };
    this.#reply.chunk(Buffer.from(JSON.stringify(progress)), isLast);
  }
}

/** The connection is lost, and what was committed stays. */
const interrupted = (cause: unknown) =>
  new HubError(
    'SOURCE_UNREACHABLE',
    'The connection to the source broke. Go on behind the committed lines.',
    {
      cause,
      retryable: true,
      stage: 'execute',
      line: cause instanceof HubError ? cause.line : undefined,
    },
  );

/** Rejects if the caller leaves first. */
const nextBatch = (batches: AsyncIterator<RecordBatch>, signal: CallSignal) =>
  orAborted<IteratorResult<RecordBatch, undefined>>(batches.next(), signal, () =>
    cancelReason(signal, false),
  );
