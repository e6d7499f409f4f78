import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { Principal } from '@datahub/proto/common/v1/principal';
import { type ExecuteRequest, Format } from '@datahub/proto/executor/v1/executor';
import type { CallContext } from '@datahub/service-kit/call';
import { HubError } from '@datahub/service-kit/error';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { defaultBreakerSettings } from '../breaker.ts';
import type { QueryDefinition, SourceDefinition } from '../definitions.ts';
import type { Connection, Outcome, RunOptions, Statement } from '../engine.ts';
import type { ExecutorEvents } from '../events.ts';
import { defaultConnectionLimits } from '../limits.ts';
import { createPoolRegistry, type PoolRegistry } from '../pool-registry.ts';
import { defaultPoolSettings } from '../pool-settings.ts';
import type { RowSink } from '../rows/row-sink.ts';
import { type AnswerSink, createExecute } from './execute.ts';
import type { PreparedQuery } from './prepared.ts';

const source: SourceDefinition = {
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
const query: QueryDefinition = {
  queryId: 'q',
  accountId: 'a',
  hubId: 'h',
  command: 'SELECT',
  text: 'x',
  variables: [],
  version: 1,
  source,
};
const key: Principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const noLimits = { hubIds: [], queryIds: [], origins: [], contextJson: '' };
const done: Outcome = { hasRows: true, rowCount: 1, truncated: false };
const broken = () => new HubError('SOURCE_BROKEN', 'x');

type Run = (this: FakeConnection, sink: RowSink, options: RunOptions) => Promise<Outcome>;

class FakeConnection {
  broken = false;
  cancelled = 0;
  serverVersion = '1';
  run: (statement: Statement, sink: RowSink, options: RunOptions) => Promise<Outcome>;
  /** Rejects what runs, as a database does that was asked to cancel. */
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

/** Hangs until stopped. */
const hang: Run = function () {
  return new Promise((_resolve, reject) => {
    this.stop = reject;
  });
};
const deaf: Run = () => new Promise(() => {});
const answerNow: Run = async () => done;

let registry: PoolRegistry<SourceDefinition> | undefined;
afterEach(async () => {
  await registry?.close(0);
  vi.useRealTimers();
});

interface Setup {
  /** What successive runs do; the last one repeats. */
  runs?: Run[];
  kind?: Statement['kind'];
  definition?: QueryDefinition;
  principal?: Principal | undefined;
  statementTimeoutMs?: number;
}

function setup({
  runs = [answerNow],
  kind = 'read',
  definition = query,
  principal = key,
  statementTimeoutMs = 30_000,
}: Setup = {}) {
  const connections: FakeConnection[] = [];
  const bound: object[] = [];
  const optionsSeen: RunOptions[] = [];
  let count = 0;
  registry = createPoolRegistry<SourceDefinition>({
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
    now: () => performance.now(),
    random: () => 0,
  });
  const prepared: PreparedQuery = {
    kind,
    bind: (values) => {
      bound.push(values);
      return { key: 'k', text: 'x', params: [], kind };
    },
    describable: () => ({ key: 'k', text: 'x', params: [], kind }),
    variables: () => [],
    toStored: ({ state }) => ({ ...(state === undefined ? {} : { state }), line: 7, column: 9 }),
  };
  const events = { executed: vi.fn(), failed: vi.fn() };
  const execute = createExecute({
    definitions: { held: () => undefined, query: async () => definition },
    pools: registry,
    compile: () => prepared,
    createAnswer: ({ reply }): AnswerSink => ({
      format: 'json',
      numbers: 'auto',
      begin: () => {},
      row: () => void reply.chunk(Buffer.from('row')),
      full: false,
      onDrain: () => {},
      finish: () => void reply.chunk(Buffer.from('end')),
    }),
    limits: { statementTimeoutMs, rowsMax: 0 },
    events: events as unknown as ExecutorEvents,
    now: () => performance.now(),
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
  return { call, caller, chunks, connections, bound, optionsSeen, events, stats: () => registry?.stats };
}
const noOptions = { dryRun: false, meta: false, numbersAsStrings: false };

describe('a good execution', () => {
  test('answers, gives its connection back and is counted', async () => {
    const { call, chunks, stats, events, connections } = setup();
    await call();
    await call();
    expect(chunks).toEqual(['end', 'end']);
    expect(connections).toHaveLength(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
    expect(events.executed).toHaveBeenCalledTimes(2);
    expect(events.executed.mock.calls[0]?.[0]).toMatchObject({ stage: 'stream', bytes: 3, outcome: done });
  });

  test('binds what the caller gave, under what the key pins', async () => {
    const principal = { ...key, limits: { ...noLimits, contextJson: '{"a":1}' } };
    const { call, bound } = setup({ principal });
    await call({ contextJson: '{"b":2}' });
    expect(bound).toEqual([{ pinnedJson: '{"a":1}', contextJson: '{"b":2}' }]);
  });

  test('limits only go down', async () => {
    const principal = { ...key, limits: { ...noLimits, maxRows: 100 } };
    const { call, optionsSeen } = setup({ principal, statementTimeoutMs: 5_000, kind: 'write' });
    await call({ options: { ...noOptions, timeoutMs: 9_000, maxRows: 500, maxAffected: 3, dryRun: true } });
    await call({ options: { ...noOptions, timeoutMs: 2_000, maxRows: 50 } });
    expect(optionsSeen).toEqual([
      { statementTimeoutMs: 6_000, maxRows: 100, maxAffected: 3, dryRun: true },
      { statementTimeoutMs: 3_000, maxRows: 50 },
    ]);
  });
});

describe('who may', () => {
  const limited = (limits: object) => ({ ...key, limits: { ...noLimits, ...limits } });
  test.each<[string, Setup]>([
    [
      'a write with the scope of reads',
      { kind: 'write', principal: { ...key, scopes: ['queries:execute'] } },
    ],
    ['a read with the scope of writes', { principal: { ...key, scopes: ['queries:execute:write'] } }],
    ['a key for other queries', { principal: limited({ queryIds: ['other'] }) }],
    ['a key for other hubs', { principal: limited({ hubIds: ['other'] }) }],
  ])('not %s', async (_name, given) => {
    const { call, connections } = setup(given);
    await expect(call()).rejects.toMatchObject({ code: 'SCOPE_DENIED', stage: undefined });
    expect(connections).toHaveLength(0);
  });

  test.each<[string, Setup]>([
    ['reads', { principal: { ...limited({ queryIds: ['q'], hubIds: ['h'] }), scopes: ['queries:execute'] } }],
    ['writes', { kind: 'write', principal: { ...key, scopes: ['queries:execute:write'] } }],
    ['standalone', { kind: 'standalone', principal: { ...key, scopes: ['queries:execute:write'] } }],
  ])('%s with their scope', async (_name, given) => {
    await expect(setup(given).call()).resolves.toBeUndefined();
  });

  test('nobody without a principal', async () => {
    const anonymous = setup({ principal: { ...key, accountId: '' } });
    await expect(anonymous.call()).rejects.toMatchObject({ code: 'KEY_MISSING' });
  });

  test.each([{ dryRun: true }, { maxAffected: 1 }])(
    '%j is refused where nothing can be rolled back',
    async (options) => {
      const { call, connections } = setup({ kind: 'standalone' });
      await expect(call({ options: { ...noOptions, ...options } })).rejects.toMatchObject({
        code: 'OPTION_REFUSED',
      });
      expect(connections).toHaveLength(0);
    },
  );
});

describe('failing', () => {
  test('tells the stage and the place in the stored text', async () => {
    const rejected = new HubError('SQL_REJECTED', 'no such column', {
      sql: { state: '42703', line: 1, column: 30 },
    });
    const { call, stats, events } = setup({ runs: [async () => Promise.reject(rejected)] });
    await expect(call()).rejects.toMatchObject({
      code: 'SQL_REJECTED',
      message: 'no such column',
      stage: 'execute',
      sql: { state: '42703', line: 7, column: 9 },
    });
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
    expect(events.failed).toHaveBeenCalledOnce();
  });

  test('after the first byte is a matter of the stream, and never repeated', async () => {
    const { call, connections, chunks } = setup({
      runs: [
        answerNow,
        async (sink) => {
          sink.row(Buffer.alloc(0), new Int32Array());
          throw broken();
        },
      ],
    });
    await call();
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN', stage: 'stream' });
    expect(chunks).toEqual(['end', 'row']);
    expect(connections).toHaveLength(1);
  });

  test('10,000 failing executions lose no connection', async () => {
    const { call, stats, connections } = setup({
      runs: [async () => Promise.reject(new HubError('SQL_REJECTED', 'x'))],
    });
    for (let i = 0; i < 10_000; i++) await call().catch(() => {});
    expect(connections).toHaveLength(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('something unforeseen tells nothing', async () => {
    const { call } = setup({ runs: [async () => Promise.reject(new TypeError('secret'))] });
    const failure = await call().catch((err) => err);
    expect(failure).toMatchObject({ code: 'INTERNAL' });
    expect(failure.message).not.toContain('secret');
  });
});

describe('a connection found dead', () => {
  const dies: Run = async function () {
    this.broken = true;
    throw broken();
  };

  test('is replaced once for a read, and its idle neighbours with it', async () => {
    const { call, connections, chunks } = setup({ runs: [answerNow, dies, answerNow] });
    await call();
    await call();
    expect(chunks).toEqual(['end', 'end']);
    expect(connections).toHaveLength(2);
  });

  test('is not tried a third time', async () => {
    const { call, connections } = setup({ runs: [answerNow, dies, dies, answerNow] });
    await call();
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(2);
  });

  test.each<Statement['kind']>(['write', 'standalone'])('is never replaced for a %s', async (kind) => {
    const { call, connections } = setup({ runs: [answerNow, dies, answerNow], kind });
    await call();
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(1);
  });

  test('is not replaced when it was new', async () => {
    const { call, connections } = setup({ runs: [dies, answerNow] });
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(1);
  });
});

describe('stopping', () => {
  test('a caller who goes has the statement cancelled at the database, and the connection lives on', async () => {
    const { call, caller, connections, stats } = setup({ runs: [hang] });
    const running = call().catch((err) => err);
    await vi.waitFor(() => expect(stats()).toMatchObject({ busy: 1, connecting: 0 }));
    caller.abort();
    expect(await running).toMatchObject({ code: 'CANCELLED' });
    expect(connections[0]?.cancelled).toBe(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test.each<[string, Partial<ExecuteRequest>, number, number]>([
    ['the option', { options: { ...noOptions, timeoutMs: 30 } }, 60_000, 30_000],
    ['the caller’s budget', {}, 30, 30_000],
    ['the setting', {}, 60_000, 30],
  ])('time is up by %s', async (_name, request, budgetMs, statementTimeoutMs) => {
    const { call, connections, stats } = setup({ runs: [hang], statementTimeoutMs });
    await expect(call(request, budgetMs)).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
      stage: 'execute',
    });
    expect(connections[0]?.cancelled).toBe(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('what does not heed the cancel loses its connection within a second', async () => {
    const { call, connections, stats } = setup({ runs: [deaf], statementTimeoutMs: 20 });
    const startedAt = performance.now();
    await expect(call()).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(connections[0]?.broken).toBe(true);
    expect(stats()).toMatchObject({ busy: 0, idle: 0 });
  });

  test('a caller who was gone before runs nothing', async () => {
    const { call, caller, optionsSeen, stats } = setup();
    await call();
    caller.abort();
    await expect(call()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(optionsSeen).toHaveLength(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('a write that ended well in spite of it is told as done', async () => {
    const stubborn: Run = function () {
      return new Promise((resolve) => {
        this.stop = () => resolve({ ...done, hasRows: false, affectedRows: 1 });
      });
    };
    const { call, chunks } = setup({ runs: [stubborn], kind: 'write', statementTimeoutMs: 20 });
    await call();
    expect(chunks).toEqual(['end']);
  });
});
