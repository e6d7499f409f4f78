/** The pipeline with a result cache, over a database whose statements begin and end when the test says so. */

import { Rerouted } from '@datahub/executor-session/executor';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type CacheInfo, type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import { CallStop, Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { QueryDefinition } from '../../src/definitions/definition.ts';
import { ResponseStore } from '../../src/execution/cached/response-store.ts';
import { createExecute, type ExecuteDeps } from '../../src/execution/execute.ts';
import { compileQuery } from '../../src/execution/prepare.ts';
import type { Pool } from '../../src/pool/pool.ts';
import type { Connection, Outcome, Statement } from '../../src/ports/engine.ts';
import type { ResponseOptions, ResponseWriter } from '../../src/result/response.ts';

/** A pending statement. `begin` gives it a connection, and its answer is the result of `answerOf` at that time. */
export interface Pending {
  startedAt: number;
  begunAt: number | undefined;
  /** True if it belongs to a flight and not to a call. */
  isFlight: boolean;
  /** True for the statement of `validate`. The query follows on the same connection if the value is not that of the entry. */
  isValidation: boolean;
  /** Its answer, once it has begun. */
  answer: string;
  begin(): void;
  finish(bytes?: number): void;
  /** The database rejects the statement. */
  fail(): void;
  /** The connection breaks. */
  lose(): void;
}

export interface Call {
  answer: string;
  info: CacheInfo | undefined;
  startedAt: number;
  endedAt: number | undefined;
  err: unknown;
  hasLeft: boolean;
  settled: Promise<void>;
  leave(): void;
}

/** The state of the database that a statement reads: that of its start, or of the start of its snapshot. */
export interface Seen {
  /** The start of the execution. */
  startedAt: number;
  begunAt: number;
  value: unknown;
}

export interface CachedPipelineOptions {
  definitionOf(queryId: string): QueryDefinition;
  /** Returns the current result of `validate`; undefined for no row. */
  valueNow(): unknown;
  /** Returns the answer of the database to a statement. */
  answerOf(statement: Statement, source: QueryDefinition['source'], seen: Seen): string;
  bytesMax: number;
  events?: Partial<ExecuteDeps['events']>;
}

export function createCachedPipeline({ definitionOf, bytesMax, events, ...database }: CachedPipelineOptions) {
  const clock = { now: 0 };
  const now = () => clock.now;
  const pending = new Set<Pending>();
  const callers = new WeakSet<CallStop>();
  const answers = new ResponseStore({ bytesMax });

  const execute = createExecute({
    transfer: { timeoutMs: 600_000, bytesPerSecondMin: 1 },
    catalog: { resolveDraft: async () => ({ leaseMs: 0 }), noteCommit: async () => ({}) },
    definitions: {
      cached: (queryId) => definitionOf(queryId),
      query: async (queryId) => definitionOf(queryId),
      hold: () => undefined,
    },
    pools: {
      pool: (source: QueryDefinition['source']) =>
        poolOf(source, { ...database, now, pending, callers }) as unknown as Pool,
    },
    compile: compileQuery,
    random: () => 0,
    createWriter,
    limits: { statementTimeoutMs: 30_000, rowsMax: 0 },
    answers,
    events: { executed: () => {}, failed: () => {}, answered: () => {}, ended: () => {}, ...events },
    now,
    deadlines: new Deadlines(),
  });

  const call = (principal: Principal, request: Partial<ExecuteRequest> & { queryId: string }): Call => {
    const stop = new CallStop();
    callers.add(stop);
    const made: Call = {
      answer: '',
      info: undefined,
      startedAt: now(),
      endedAt: undefined,
      err: undefined,
      hasLeft: false,
      settled: Promise.resolve(),
      leave: () => {
        made.hasLeft = true;
        stop.abort(new HubError('CANCELLED', 'left'));
      },
    };
    const ctx = { principal, requestId: 'r', deadlineAt: now() + 60_000, signal: stop };
    made.settled = execute({ contextJson: '{}', format: Format.FORMAT_JSON, ...request }, ctx, {
      chunk: (bytes) => {
        made.answer += bytes;
        return true;
      },
      onDrain: () => {},
      cached: (info) => {
        made.info = info;
      },
    }).catch((err) => {
      made.err = err instanceof Rerouted ? 'rerouted' : err;
    });
    void made.settled.then(() => {
      made.endedAt = now();
    });
    return made;
  };
  return { clock, pending, answers, call };
}

interface Database extends Pick<CachedPipelineOptions, 'answerOf' | 'valueNow'> {
  now: () => number;
  pending: Set<Pending>;
  callers: WeakSet<CallStop>;
}

/** A pool that gives a connection when the test says so. */
function poolOf(source: QueryDefinition['source'], database: Database) {
  const { now, pending, callers } = database;
  return {
    tryAcquire: () => undefined,
    acquire: ({ signal }: { signal: CallStop }) => {
      const startedAt = now();
      return new Promise((resolve, reject) => {
        const entry: Pending = {
          startedAt,
          begunAt: undefined,
          isFlight: !callers.has(signal),
          isValidation: false,
          answer: '',
          begin: () => {
            entry.begunAt = now();
            signal.removeEventListener('abort', onAbort);
            resolve({ uses: 1, connection: connectionOf(entry, source, database) });
          },
          finish: () => {},
          fail: () => {
            pending.delete(entry);
            reject(new HubError('SOURCE_BUSY', 'busy'));
          },
          lose: () => {},
        };
        const onAbort = () => {
          pending.delete(entry);
          reject(new HubError('CANCELLED', 'left the queue'));
        };
        signal.addEventListener('abort', onAbort);
        pending.add(entry);
      });
    },
    release: () => {},
    closeIdle: () => {},
  };
}

function connectionOf(
  entry: Pending,
  source: QueryDefinition['source'],
  { now, pending, answerOf, valueNow }: Database,
): Partial<Connection> {
  let stop: (err: HubError) => void = () => {};
  let snapshot: Seen | undefined;
  let broken = false;
  return {
    get broken() {
      return broken;
    },
    run: (statement, sink, options) =>
      new Promise<Outcome>((resolve, reject) => {
        stop = (err) => {
          pending.delete(entry);
          reject(err);
        };
        if (options.snapshot !== 'last')
          snapshot = { startedAt: entry.startedAt, begunAt: now(), value: valueNow() };
        const seen = snapshot as Seen;
        entry.isValidation = typeof options.snapshot === 'object';
        entry.answer = answerOf(statement, source, seen);
        entry.finish = (bytes = 0) => {
          pending.delete(entry);
          const row = entry.isValidation ? JSON.stringify(seen.value) : entry.answer.padEnd(bytes);
          if (row !== undefined) sink.row(Buffer.from(row), new Int32Array());
          resolve({ hasRows: true });
        };
        entry.fail = () => stop(new HubError('SQL_REJECTED', 'no'));
        entry.lose = () => {
          broken = true;
          stop(new HubError('SOURCE_BROKEN', 'lost'));
        };
        pending.add(entry);
      }),
    endSnapshot: async () => {
      snapshot = undefined;
    },
    cancel: async () => stop(new HubError('CANCELLED', 'cancelled')),
    close: () => {},
  };
}

function createWriter({ reply }: ResponseOptions): ResponseWriter {
  const rows: Buffer[] = [];
  return {
    get rowCount() {
      return rows.length;
    },
    truncated: false,
    takesDocuments: true,
    takesBinary: false,
    begin: () => {},
    row: (source) => void rows.push(source),
    document: () => {},
    onDrain: () => {},
    full: false,
    abandon: () => {},
    turnToFinish: () => undefined,
    finish: () => void reply.chunk(Buffer.concat(rows), true),
  };
}

/** Waits until all promises that can settle have settled. */
export const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
