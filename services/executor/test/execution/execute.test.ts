import { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, test } from 'vitest';
import {
  answerNow,
  broken,
  key,
  noLimits,
  noOptions,
  type Setup,
  setupExecute as setup,
} from '../fakes/pipeline.ts';

describe('a good execution', () => {
  test('answers, gives its connection back and is counted', async () => {
    const { call, chunks, stats, events, connections } = setup();
    await call();
    await call();
    expect(chunks).toEqual(['end', 'end']);
    expect(connections).toHaveLength(1);
    expect(stats()).toMatchObject({ busy: 0, idle: 1 });
    expect(events.executed).toHaveBeenCalledTimes(2);
    expect(events.executed.mock.calls[0]?.[0]).toMatchObject({
      stage: 'stream',
      bytes: 3,
      outcome: { rowCount: 1, truncated: false },
    });
  });

  test('binds what the caller gave, under what the key pins', async () => {
    const principal = { ...key, limits: { ...noLimits, contextJson: '{"a":1}' } };
    const { call, bound } = setup({ principal });
    await call({ contextJson: '{"b":2}' });
    expect(bound).toMatchObject([{ pinnedJson: '{"a":1}', contextJson: '{"b":2}' }]);
  });

  test('limits only go down', async () => {
    const principal = { ...key, limits: { ...noLimits, maxRows: 100 } };
    const { call, optionsSeen } = setup({ principal, statementTimeoutMs: 5_000, kind: 'write' });
    await call({ options: { ...noOptions, timeoutMs: 9_000, maxRows: 500, maxAffected: 3, dryRun: true } });
    await call({ options: { ...noOptions, timeoutMs: 2_000, maxRows: 50 } });
    expect(optionsSeen).toEqual([
      { statementTimeoutMs: 610_000, maxRows: 100, maxAffected: 3, dryRun: true },
      { statementTimeoutMs: 610_000, maxRows: 50 },
    ]);
  });

  test('the server’s own time-out is that of a transfer, or longer if the statement may take longer', async () => {
    const { call, optionsSeen } = setup({ statementTimeoutMs: 900_000 });
    for (const timeoutMs of [1_201, 29_999, 899_999]) await call({ options: { ...noOptions, timeoutMs } });
    expect(optionsSeen.map(({ statementTimeoutMs }) => statementTimeoutMs)).toEqual([
      610_000, 610_000, 910_000,
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

  test('a time of 0 is refused, as nothing runs in it', async () => {
    const { call, connections } = setup({});
    await expect(call({ options: { ...noOptions, timeoutMs: 0 } })).rejects.toMatchObject({
      code: 'OPTION_REFUSED',
    });
    expect(connections).toHaveLength(0);
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

  test('before anything ran, the place is in the stored text already', async () => {
    const rejected = new HubError('SQL_REJECTED', 'not one statement', { sql: { line: 1, column: 30 } });
    const { call } = setup({
      compile: () => {
        throw rejected;
      },
    });
    await expect(call()).rejects.toMatchObject({ stage: 'prepare', sql: { line: 1, column: 30 } });
  });

  test('leaves nothing of the answer behind', async () => {
    const { call, abandoned } = setup({ runs: [async () => Promise.reject(broken())] });
    await call().catch(() => {});
    expect(abandoned()).toBe(1);
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
