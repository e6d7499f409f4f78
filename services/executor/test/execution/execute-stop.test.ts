import type { ExecuteRequest } from '@datahub/proto/executor/v1/executor';
import type { Deadlines } from '@datahub/service-kit/call/call';
import { HubError, unexpectedOf } from '@datahub/service-kit/call/error';
import { describe, expect, test, vi } from 'vitest';
import { withCancellation } from '../../src/execution/cancellation.ts';
import { NeverAnswered, NothingRan, type RunOptions, type Statement } from '../../src/ports/engine.ts';
import type { RowSink } from '../../src/ports/row-sink.ts';
import {
  answerNow,
  broken,
  deaf,
  done,
  FakeConnection,
  hang,
  noOptions,
  query,
  type Run,
  setupExecute as setup,
} from '../fakes/pipeline.ts';

describe('a dead connection', () => {
  const dies: Run = async function () {
    this.broken = true;
    throw new NeverAnswered();
  };

  test('is replaced once for a read, together with the other idle connections', async () => {
    const { call, connections, chunks } = setup({ runs: [answerNow, dies, answerNow] });
    await call();
    await call();
    expect(chunks).toEqual(['end', 'end']);
    expect(connections).toHaveLength(2);
  });

  test('is not replaced if it had begun to answer', async () => {
    const { call, connections } = setup({ runs: [answerNow, () => Promise.reject(broken()), answerNow] });
    await call();
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(1);
  });

  test('is replaced only once', async () => {
    const { call, connections } = setup({ runs: [answerNow, dies, dies, answerNow] });
    await call();
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(2);
  });

  test.each<Statement['kind']>(['write', 'standalone'])('is never replaced for a %s', async (kind) => {
    const { call, connections } = setup({ runs: [answerNow, dies, answerNow], kind });
    await call();
    await expect(call()).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      retryable: false,
      message: expect.stringContaining('outcome is unknown'),
    });
    expect(connections).toHaveLength(1);
  });

  test.each<Statement['kind']>(['write', 'standalone'])(
    'is replaced for a %s that was not sent',
    async (kind) => {
      const notSent: Run = async function () {
        this.broken = true;
        throw new NothingRan(new Error('reset'));
      };
      const { call, connections } = setup({ runs: [answerNow, notSent, answerNow], kind });
      await call();
      await call();
      expect(connections).toHaveLength(2);
    },
  );

  test('gives an unknown outcome if a write was carried out and its answer cannot be written', async () => {
    const { call, chunks } = setup({ kind: 'write' });
    chunks.push = () => {
      throw new HubError('CONTRACT_BROKEN', 'a value does not fit');
    };
    await expect(call()).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
      retryable: false,
      message: expect.stringMatching(/carried out the statement.* a value does not fit/),
    });
  });

  test('gives an unknown outcome if the hub itself fails during a write, and the cause is logged', async () => {
    const { call } = setup({ runs: [() => Promise.reject(new TypeError('a fault'))], kind: 'write' });
    const err = await call().catch((thrown) => thrown);
    expect(err).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    expect(unexpectedOf(err)).toMatchObject({ message: 'a fault' });
  });

  test('is not replaced if it was new', async () => {
    const { call, connections } = setup({ runs: [dies, answerNow] });
    await expect(call()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connections).toHaveLength(1);
  });
});

test('a large row that is read late gives its connection back once, and another call keeps it', async () => {
  const { promise: sending, resolve } = Promise.withResolvers<void>();
  const { call, caller, connections, stats } = setup({ runs: [answerNow, hang, answerNow], sending });
  const first = call();
  await vi.waitFor(() => expect(stats().idle).toBe(1));
  const second = call();
  resolve();
  await first;
  expect(stats()).toMatchObject({ busy: 1, idle: 0 });
  await call();
  expect(connections).toHaveLength(2);
  caller.abort();
  await expect(second).rejects.toMatchObject({ code: 'CANCELLED' });
});

describe('with one connection, which is in use', () => {
  const definition = { ...query, source: { ...query.source, pool: { max: 1 } } };
  const busyThen = (second: Run, statementTimeoutMs?: number) => {
    const release = Promise.withResolvers<typeof done>();
    const one = setup({
      runs: [() => release.promise, second],
      definition,
      ...(statementTimeoutMs === undefined ? {} : { statementTimeoutMs }),
    });
    const first = one.call();
    return { ...one, first, release: () => release.resolve(done) };
  };

  test('the timeout of a statement begins when it is sent', async () => {
    const { call, first, release, chunks } = busyThen(answerNow);
    const waiting = call({ options: { ...noOptions, timeoutMs: 50 } });
    await new Promise((resolve) => setTimeout(resolve, 100));
    release();
    await Promise.all([first, waiting]);
    expect(chunks).toEqual(['end', 'end']);
  });

  test.each([
    ['without a connection', 30],
    ['that the wait has left too little time', 100],
  ])('a call %s at its deadline is told to try again', async (_name, releaseMs) => {
    const { call, first, release } = busyThen(hang, 250);
    const waiting = call({}, releaseMs === 30 ? 20 : 300).catch((err) => err);
    await new Promise((resolve) => setTimeout(resolve, releaseMs));
    release();
    await first;
    expect(await waiting).toMatchObject({ code: 'SOURCE_BUSY', retryable: true });
  });
});

const lostWhenCancelled: Run = function () {
  return new Promise((_resolve, reject) => {
    this.stop = () => reject(broken());
  });
};

describe('a connection whose server gives no sign', () => {
  const silent = (run: Run) => Object.assign(new FakeConnection(run), { silentSince: 0 });
  /** Two seconds later. */
  const late = {
    add: (_ms: number, onReached: () => void) => void setImmediate(onReached),
    remove: () => {},
  };
  const runOn = (connection: FakeConnection) => {
    const work = connection.run({} as Statement, {} as RowSink, {} as RunOptions);
    const now = () => 2_000;
    const { signal } = new AbortController();
    return withCancellation(work, {
      connection,
      signal,
      deadlineAt: 60_000,
      now,
      deadlines: late as unknown as Deadlines,
    });
  };

  test.each<[string, Run, new (cause: unknown) => HubError]>([
    ['it stays silent', deaf, NeverAnswered],
    ['it breaks', lostWhenCancelled, NeverAnswered],
    ['it confirms the cancel', hang, NothingRan],
  ])('if %s', async (_name, run, told) => {
    await expect(runOn(silent(run))).rejects.toBeInstanceOf(told);
  });

  test('if the statement was not sent', async () => {
    const prepares: Run = function () {
      return new Promise((_resolve, reject) => {
        this.onClose(() => reject(new NothingRan(broken())));
      });
    };
    await expect(runOn(silent(prepares))).rejects.toBeInstanceOf(NothingRan);
  });

  test('if the statement ends nevertheless', async () => {
    const slow: Run = function () {
      return new Promise((resolve) => {
        this.stop = () => resolve(done);
      });
    };
    expect(await runOn(silent(slow))).toBe(done);
  });

  test('is left alone if it has given one', async () => {
    const slow: Run = () => new Promise((resolve) => setTimeout(resolve, 20, done));
    const connection = new FakeConnection(slow);
    expect(await runOn(connection)).toBe(done);
    expect(connection.cancelled).toBe(0);
  });
});

describe('cancelling', () => {
  test('the statement of a caller who leaves is cancelled at the database, and the connection stays in the pool', async () => {
    const { call, caller, connections, stats } = setup({ runs: [hang] });
    const running = call().catch((err) => err);
    await vi.waitFor(() => expect(stats()).toMatchObject({ busy: 1, connecting: 0 }), 60_000);
    caller.abort();
    expect(await running).toMatchObject({ code: 'CANCELLED' });
    expect(connections[0]?.cancelled).toBe(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test.each<[string, Partial<ExecuteRequest>, number, number]>([
    ['the option', { options: { ...noOptions, timeoutMs: 30 } }, 60_000, 30_000],
    ['the caller’s budget', {}, 30, 30_000],
    ['the setting', {}, 60_000, 30],
  ])('the deadline is set by %s', async (_name, request, budgetMs, statementTimeoutMs) => {
    const { call, connections, stats } = setup({ runs: [hang], statementTimeoutMs });
    await expect(call(request, budgetMs)).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
      stage: 'execute',
    });
    expect(connections[0]?.cancelled).toBe(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('a read that ignores the cancel loses its connection, and is not reported as cancelled', async () => {
    const { call, connections, stats } = setup({ runs: [deaf], statementTimeoutMs: 20 });
    await expect(call()).rejects.toMatchObject({
      code: 'STATEMENT_TIMEOUT',
      message: expect.stringContaining('did not confirm'),
    });
    expect(connections[0]?.broken).toBe(true);
    expect(stats()).toMatchObject({ busy: 0, idle: 0 });
  });

  test('a write that ignores the cancel has an unknown outcome', async () => {
    const { call } = setup({ runs: [deaf], kind: 'write', statementTimeoutMs: 20 });
    await expect(call()).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
  });

  test.each<[string, Run, object]>([
    ['confirmed', hang, { code: 'STATEMENT_TIMEOUT' }],
    ['lost', lostWhenCancelled, { code: 'OUTCOME_UNKNOWN', retryable: false }],
  ])('a write whose cancel is %s', async (_name, run, told) => {
    const { call } = setup({ runs: [run], kind: 'write', statementTimeoutMs: 20 });
    await expect(call()).rejects.toMatchObject(told);
  });

  test('nothing runs for a caller who left before', async () => {
    const { call, caller, optionsSeen, stats } = setup();
    await call();
    caller.abort();
    await expect(call()).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(optionsSeen).toHaveLength(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('a write that succeeded despite the cancel is reported as done, and a late cancel affects no other statement', async () => {
    const stubborn: Run = function () {
      return new Promise((resolve) => {
        this.stop = () => resolve({ ...done, hasRows: false, affectedRows: 1 });
      });
    };
    const { call, chunks, connections } = setup({ runs: [stubborn], kind: 'write', statementTimeoutMs: 20 });
    await call();
    expect(chunks).toEqual(['end']);
    expect(connections[0]?.broken).toBe(true);
  });

  test('a connection is not reused before the cancel was delivered', async () => {
    const { call, connections, stats } = setup({ runs: [hang], statementTimeoutMs: 200 });
    const running = call().catch((err) => err);
    await vi.waitFor(() => expect(connections).toHaveLength(1), 60_000);
    const [connection] = connections;
    const delivery = Promise.withResolvers<void>();
    const { cancel } = connection as NonNullable<typeof connection>;
    Object.assign(connection as object, {
      cancel: () => cancel.call(connection).then(() => delivery.promise),
    });
    await vi.waitFor(() => expect(connection?.cancelled).toBe(1), 60_000);
    expect(stats()).toMatchObject({ busy: 1, idle: 0 });
    delivery.resolve();
    expect(await running).toMatchObject({ code: 'STATEMENT_TIMEOUT' });
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
  });

  test('if the cancel cannot be delivered, the connection is closed', async () => {
    const { call, connections } = setup({ runs: [deaf], statementTimeoutMs: 200 });
    const startedAt = performance.now();
    const running = call().catch((err) => err);
    await vi.waitFor(() => expect(connections).toHaveLength(1), 60_000);
    Object.assign(connections[0] as object, { cancel: async () => Promise.reject(new Error('refused')) });
    expect(await running).toMatchObject({ code: 'STATEMENT_TIMEOUT' });
    expect(performance.now() - startedAt).toBeLessThan(600);
    expect(connections[0]?.broken).toBe(true);
  });
});
