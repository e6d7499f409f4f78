/** The pipeline over connections that exist in memory, for its tests. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import { type CallContext, Deadlines } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { vi } from 'vitest';
import type { QueryDefinition, SourceDefinition } from '../../src/definitions/definition.ts';
import { ResponseStore } from '../../src/execution/cached/response-store.ts';
import { createExecute } from '../../src/execution/execute.ts';
import type { CompileQuery, PreparedQuery } from '../../src/execution/prepare.ts';
import { defaultBreakerSettings } from '../../src/pool/circuit-breaker.ts';
import { createPoolRegistry } from '../../src/pool/pool-registry.ts';
import { defaultConnectionLimits, defaultPoolSettings } from '../../src/pool/pool-types.ts';
import type { Connection, Outcome, RunOptions, Statement } from '../../src/ports/engine.ts';
import type { RowSink } from '../../src/ports/row-sink.ts';
import type { ResponseWriter } from '../../src/result/response.ts';
import { anySlots } from './slots.ts';

export const source: SourceDefinition = {
  sourceId: 's',
  accountId: 'a',
  hubId: 'h',
  engine: 'postgres',
  host: 'db',
  port: 5432,
  database: 'd',
  tls: { mode: 'disable' },
  sealed: { user: '', password: '', tlsKey: '' },
  pool: {},
  statementTimeoutMs: undefined,
  settingsVersion: '1',
  version: 1,
};
export const query: QueryDefinition = {
  queryId: 'q',
  accountId: 'a',
  hubId: 'h',
  command: 'SELECT',
  text: 'x',
  variables: [],
  notNull: [],
  version: 1,
  versionNumber: 1,
  characters: 1,
  source,
};
export const key: Principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
export const noLimits = {
  hubIds: [],
  queryIds: [],
  classifierIds: [],
  queries: [],
  origins: [],
  contextJson: '',
};
export const done: Outcome = { hasRows: true };
export const broken = () => new HubError('SOURCE_BROKEN', 'x');

export type Run = (this: FakeConnection, sink: RowSink, options: RunOptions) => Promise<Outcome>;

export class FakeConnection {
  broken = false;
  cancelled = 0;
  serverVersion = '1';
  run: (statement: Statement, sink: RowSink, options: RunOptions) => Promise<Outcome>;
  /** Rejects the running statement, as a database does after a cancel. */
  stop: (err: Error) => void = () => {};
  private closed = () => {};
  constructor(run: Run) {
    this.run = (_statement, sink, options) => run.call(this, sink, options);
  }
  onClose(listener: () => void) {
    this.closed = listener;
  }
  async ping() {}
  async cancel() {
    this.cancelled++;
    this.stop(new HubError('CANCELLED', 'x'));
  }
  close() {
    this.broken = true;
    this.closed();
  }
}

/** Runs until it is cancelled. */
export const hang: Run = function () {
  return new Promise((_resolve, reject) => {
    this.stop = reject;
  });
};
export const deaf: Run = () => new Promise(() => {});
export const answerNow: Run = async () => done;

export interface Setup {
  /** The behaviour of successive runs. The last one repeats. */
  runs?: Run[];
  kind?: Statement['kind'];
  definition?: QueryDefinition;
  principal?: Principal | undefined;
  statementTimeoutMs?: number;
  compile?: CompileQuery;
  /** Until the reader of the first answer has its last large row. */
  sending?: Promise<void>;
}

export function setupExecute({
  runs = [answerNow],
  kind = 'read',
  definition = query,
  principal = key,
  statementTimeoutMs = 30_000,
  compile,
  sending,
}: Setup = {}) {
  let abandoned = 0;
  let answers = 0;
  const connections: FakeConnection[] = [];
  const bound: object[] = [];
  const optionsSeen: RunOptions[] = [];
  let count = 0;
  const registry = createPoolRegistry<SourceDefinition>({
    open: async () => {
      const connection = new FakeConnection(function (sink, options) {
        optionsSeen.push(options);
        return (runs[Math.min(count++, runs.length - 1)] as Run).call(this, sink, options);
      });
      connections.push(connection);
      return connection as unknown as Connection;
    },
    pool: defaultPoolSettings,
    breaker: defaultBreakerSettings,
    limits: defaultConnectionLimits,
    slotsOf: ({ sourceId }) => anySlots(sourceId),
    now: () => performance.now(),
    random: () => 0,
  });
  const prepared: PreparedQuery = {
    kind,
    names: [],
    uncounted: false,
    usesClaim: () => false,
    bind: (values) => {
      bound.push(values);
      return { key: 'k', text: 'x', params: [], kind };
    },
    describable: () => [{ key: 'k', text: 'x', params: [], kind, placeholders: [] }],
    columnFacts: () => ({
      keepsNotNull: false,
      keptTables: new Set(),
      kept: [],
      neverNull: [],
      variables: [],
      functions: new Set(),
    }),
    warnings: () => [],
    variables: () => [],
    mapLocation: ({ state }) => ({ ...(state === undefined ? {} : { state }), line: 7, column: 9 }),
    nameVariables: (message) => message,
  };
  const events = { executed: vi.fn(), failed: vi.fn(), answered: vi.fn(), ended: vi.fn() };
  const execute = createExecute({
    transfer: { timeoutMs: 600_000, bytesPerSecondMin: 1 },
    definitions: { cached: () => undefined, query: async () => definition, hold: () => undefined },
    catalog: { resolveDraft: async () => ({ leaseMs: 0 }), noteCommit: async () => ({}) },
    pools: registry,
    compile: compile ?? (() => prepared),
    random: () => 0,
    createWriter: ({ reply }): ResponseWriter => ({
      rowCount: 1,
      truncated: false,
      takesDocuments: true,
      takesBinary: false,
      begin: () => {},
      row: () => void reply.chunk(Buffer.from('row')),
      document: () => void reply.chunk(Buffer.from('document')),
      full: false,
      onDrain: () => {},
      abandon: () => void abandoned++,
      turnToFinish: () => undefined,
      finish: () => {
        reply.chunk(Buffer.from('end'));
        return answers++ === 0 ? sending : undefined;
      },
    }),
    limits: { statementTimeoutMs, rowsMax: 0 },
    answers: new ResponseStore({ bytesMax: 1_048_576 }),
    events,
    now: () => performance.now(),
    deadlines: new Deadlines(),
  });
  const chunks: string[] = [];
  const reply: ExecutionReply = {
    chunk: (bytes) => {
      chunks.push(String(bytes));
      return true;
    },
    onDrain: () => {},
  };
  const caller = new AbortController();
  const call = (request: Partial<ExecuteRequest> = {}, budgetMs = 60_000) => {
    const ctx: CallContext = {
      principal,
      requestId: 'r',
      deadlineAt: performance.now() + budgetMs,
      signal: caller.signal,
    };
    return execute({ queryId: 'q', contextJson: '{}', format: Format.FORMAT_JSON, ...request }, ctx, reply);
  };
  return {
    call,
    caller,
    chunks,
    connections,
    bound,
    optionsSeen,
    events,
    stats: () => registry.stats,
    abandoned: () => abandoned,
  };
}
export const noOptions = { dryRun: false, meta: false, numbersAsStrings: false };
