import { type ExecuteRequest, ExecutorServiceService, Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type RunningGrpcServer, startGrpcServer } from '@datahub/service-kit/grpc/server';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BusyWatch, watchBusy } from '../src/busy-watch.ts';
import { scoreOf } from '../src/cached-queries.ts';
import type { ExecutionReply, Executor } from '../src/executor.ts';
import { windowBytes } from '../src/protocol.ts';
import { openRemoteExecutor } from '../src/remote-executor.ts';
import { serveExecute, serveSession } from '../src/session-server.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };

/** The behaviour of the executor for each query id. */
const behaviours: Record<string, Executor['execute']> = {
  small: async (request, _ctx, reply) => {
    reply.chunk(Buffer.from(request.contextJson));
  },
  load: async (_request, _ctx, reply) => {
    const records: string[] = [];
    for await (const batch of reply.input ?? []) records.push(...batch.records);
    reply.chunk(Buffer.from(records.join(' ')));
  },
  cut: async (_request, _ctx, reply) => {
    reply.chunk(Buffer.from('rows'));
    reply.truncated?.({ rows: 2, moreResults: true });
  },
  broken: async (_request, _ctx, reply) => {
    reply.chunk(Buffer.from('half'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new HubError('SOURCE_BROKEN', 'It broke.', { stage: 'stream', retryable: false });
  },
  refused: async () => {
    throw new HubError('SQL_REJECTED', 'No such table.', { sql: { state: '42P01', line: 1, column: 15 } });
  },
  foreign: async () => {
    throw new Error('password=hunter2');
  },
  forever: (_request, ctx) =>
    new Promise((_resolve, reject) => {
      started++;
      ctx.signal.addEventListener('abort', () => {
        cancelled.push(ctx.requestId);
        reject(ctx.signal.reason);
      });
    }),
  megabyte: async (_request, _ctx, reply) => {
    reply.chunk(Buffer.alloc(windowBytes, 97));
  },
  large: async (_request, _ctx, reply) => {
    for (let i = 0; i < 200; i++) {
      sent += 65_536;
      if (!reply.chunk(Buffer.alloc(65_536, 97))) {
        await new Promise<void>((resolve) => reply.onDrain(resolve));
      }
    }
  },
};

let started = 0;
let cancelled: string[] = [];
let sent = 0;
let server: RunningGrpcServer;
let busy: BusyWatch;
let remote: Awaited<ReturnType<typeof openRemoteExecutor>>;
const draining = new AbortController();

const request = (queryId: string, contextJson = ''): ExecuteRequest => ({
  queryId,
  contextJson,
  options: undefined,
  format: Format.FORMAT_JSON,
});

function collect(options: { slow?: boolean } = {}) {
  const chunks: Buffer[] = [];
  let drain = () => {};
  let cut = 'nothing';
  const reply: ExecutionReply = {
    truncated: ({ rows, moreResults }) => {
      cut = `${rows} rows${moreResults ? ', more results' : ''}`;
    },
    chunk: (bytes) => {
      chunks.push(bytes);
      return options.slow !== true;
    },
    onDrain: (listener) => {
      drain = listener;
    },
  };
  return { reply, drain: () => drain(), cut: () => cut, text: () => Buffer.concat(chunks).toString() };
}

const context = (timeoutMs = 60_000) => createCallContext({ timeoutMs, principal });

beforeEach(async () => {
  started = 0;
  cancelled = [];
  sent = 0;
  busy = watchBusy();
  const execute: Executor['execute'] = (req, ctx, reply) =>
    (behaviours[req.queryId] as Executor['execute'])(req, ctx, reply);
  const unused = async () => {
    throw new HubError('INTERNAL', 'unused');
  };
  server = await startGrpcServer({
    address: '127.0.0.1:0',
    serviceTokens: [
      'the-token-that-goes-with-thirty-two-letters',
      'a-token-of-at-least-thirty-two-characters',
    ],
    services: [
      {
        definition: ExecutorServiceService,
        handlers: {
          execute: (req: ExecuteRequest, ctx: Parameters<Executor['execute']>[1]) =>
            serveExecute({ execute }, req, ctx),
          session: (requests: never, ctx: Parameters<Executor['execute']>[1]) =>
            serveSession({ execute }, requests, {
              ...ctx,
              options: { callsMax: 1_000, draining: draining.signal, onFailure: () => {}, busy },
            }),
          testSource: unused,
          checkSource: unused,
          readSchema: unused,
          describeQuery: unused,
          findCommit: unused,
          fetchIssuerKeys: unused,
          fetchClientDocument: unused,
          checkQuery: unused,
          readStatistics: unused,
        },
      },
    ],
  });
  remote = await openRemoteExecutor({
    addresses: [`127.0.0.1:${server.port}`],
    serviceToken: 'a-token-of-at-least-thirty-two-characters',
    onDown: () => {},
  });
});

afterEach(async () => {
  remote.close();
  await server.close(0);
  busy.close();
});

describe('a session', () => {
  it('reports at the end of an answer that it was truncated', async () => {
    const [whole, cut] = [collect(), collect()];
    await remote.execute(request('small', 'all'), context(), whole.reply);
    await remote.execute(request('cut'), context(), cut.reply);
    expect([whole.text(), whole.cut(), cut.text(), cut.cut()]).toEqual([
      'all',
      'nothing',
      'rows',
      '2 rows, more results',
    ]);
  });

  it('answers many concurrent calls, each with its own bytes', async () => {
    await Promise.all(
      Array.from({ length: 500 }, async (_, i) => {
        const { reply, text } = collect();
        await remote.execute(request('small', `{"i":${i}}`), context(), reply);
        expect(text()).toBe(`{"i":${i}}`);
      }),
    );
  });

  it('restores the complete error with its position', async () => {
    await expect(remote.execute(request('refused'), context(), collect().reply)).rejects.toMatchObject({
      code: 'SQL_REJECTED',
      message: 'No such table.',
      sql: { state: '42P01', line: 1, column: 15 },
    });
  });

  it('rejects if the answer fails after the first bytes', async () => {
    const { reply, text } = collect();
    await expect(remote.execute(request('broken'), context(), reply)).rejects.toMatchObject({
      code: 'SOURCE_BROKEN',
      stage: 'stream',
      retryable: false,
    });
    expect(text()).toBe('half');
  });

  it('sends all records of a load to the executor that is left', async () => {
    const live = `127.0.0.1:${server.port}`;
    const dead = `127.0.0.1:${await freePort()}`;
    const accounts = Array.from({ length: 40 }, (_, i) => `account ${i}`);
    const deadFirst = accounts.filter((one) => scoreOf(`${one} load`, dead) > scoreOf(`${one} load`, live));
    for (const accountId of deadFirst.slice(0, 3)) {
      const gateway = await openRemoteExecutor({
        addresses: [dead, live],
        serviceToken: 'a-token-of-at-least-thirty-two-characters',
        onDown: () => {},
      });
      const { reply, text } = collect();
      async function* input() {
        for (let i = 0; i < 3; i++) yield { records: [`a${i}`, `b${i}`], lines: [] };
      }
      const ctx = createCallContext({ timeoutMs: 60_000, principal: { ...principal, accountId } });
      await gateway.execute(request('load'), ctx, { ...reply, input: input() });
      expect(text()).toBe('a0 b0 a1 b1 a2 b2');
      gateway.close();
    }
  });

  it('hides the message of an unexpected error', async () => {
    const failure = await remote.execute(request('foreign'), context(), collect().reply).catch((err) => err);
    expect(failure.code).toBe('INTERNAL');
    expect(JSON.stringify(failure) + failure.message).not.toContain('hunter2');
  });

  it('forwards a cancellation to the executor', async () => {
    const controller = new AbortController();
    const call = remote.execute(
      request('forever'),
      { ...context(), requestId: 'mine', signal: controller.signal },
      collect().reply,
    );
    await expect.poll(() => started).toBe(1);
    controller.abort(new HubError('CANCELLED', 'gone'));
    await expect(call).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect.poll(() => cancelled).toEqual(['mine']);
  });

  it('does not report a statement as cancelled if the deadline passes', async () => {
    const controller = new AbortController();
    const call = remote.execute(
      request('forever'),
      { ...context(), signal: controller.signal },
      collect().reply,
    );
    setTimeout(() => controller.abort(new HubError('STATEMENT_TIMEOUT', 'late')), 50);
    await expect(call).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT', lost: true });
  });

  it('ends at the deadline even if the caller never cancels', async () => {
    const call = remote.execute(
      request('forever'),
      { ...context(100), signal: new AbortController().signal },
      collect().reply,
    );
    await expect(call).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
  });

  // In one message they would be more than gRPC sends, which ended all calls of the session.
  it('carries 72 answers of a megabyte that come at once', async () => {
    const answers = Array.from({ length: 72 }, async () => {
      const { reply, text } = collect();
      await remote.execute(request('megabyte'), context(), reply);
      return text().length;
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([windowBytes]));
  });

  it('carries 72 calls of a megabyte that come at once', async () => {
    const json = 'x'.repeat(windowBytes);
    const answers = Array.from({ length: 72 }, async () => {
      const { reply, text } = collect();
      await remote.execute(request('small', json), context(), reply);
      return text().length;
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([windowBytes]));
  });

  it('stops sending while the receiver is behind, and continues when it has caught up', async () => {
    const { reply, drain, text } = collect({ slow: true });
    const call = remote.execute(request('large'), context(), reply);
    await expect.poll(() => text().length).toBeGreaterThanOrEqual(windowBytes - 65_536);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(sent).toBeLessThanOrEqual(windowBytes + 65_536);
    const pump = setInterval(drain, 1);
    await call;
    clearInterval(pump);
    expect(text()).toHaveLength(200 * 65_536);
  });

  it('fails the calls in flight when the executor dies', async () => {
    const call = remote.execute(request('forever'), context(), collect().reply).catch((err) => err);
    await expect.poll(() => started).toBe(1);
    await server.close(0);
    // It may have been a write, so the gateway must check this before it reports the execution as retryable.
    expect(await call).toMatchObject({ code: 'SOURCE_BROKEN', lost: true });
  });

  it('refuses a caller without the token', async () => {
    const stranger = await openRemoteExecutor({ addresses: [`127.0.0.1:${server.port}`], onDown: () => {} });
    const failure = await stranger.execute(request('small'), context(), collect().reply).catch((err) => err);
    expect(failure.code).toBe('UNAVAILABLE');
    stranger.close();
  });
});

describe('a call with its own stream', () => {
  it('reports in its last message that the answer was truncated', async () => {
    const messages = async (queryId: string) => {
      const execute = behaviours[queryId] as Executor['execute'];
      const answer = [];
      const messages = serveExecute({ execute }, request(queryId, 'all'), context());
      for await (const { chunk, truncated, moreResults, rows } of messages)
        answer.push([chunk.toString(), truncated, moreResults, rows]);
      return answer;
    };
    expect(await messages('small')).toEqual([['all', undefined, undefined, undefined]]);
    expect(await messages('cut')).toEqual([
      ['rows', undefined, undefined, undefined],
      ['', true, true, 2],
    ]);
  });
});
