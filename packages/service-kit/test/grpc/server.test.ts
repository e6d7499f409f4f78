import { once } from 'node:events';
import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { deflateSync, gzipSync } from 'node:zlib';
import { ListClassifiersResponse, MlServiceService } from '@datahub/proto/ml/v1/ml';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CallContext, CallStop, createCallContext } from '../../src/call/call.ts';
import { HubError } from '../../src/call/error.ts';
import { createGrpcClient } from '../../src/grpc/client.ts';
import { EncodedMessage } from '../../src/grpc/encoded-message.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';
import { nextTurn } from '../../src/yield-to-loop.ts';

it('logs a store that is away once a second, and an unexpected error each time', async () => {
  const away = new HubError('UNAVAILABLE', 'The store is away.', { cause: new Error('ECONNREFUSED') });
  const broken = new TypeError('x is not a function');
  const failures = [away, away, broken, broken, new HubError('NOT_FOUND', 'There is none.'), away];
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const handlers = new Proxy({}, { get: () => async () => Promise.reject(failures.shift()) });
  const onFailure = vi.fn();
  const services = [{ definition: MlServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services, onFailure });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  const callAll = async () => {
    while (failures.length > 0) {
      const ctx = createCallContext({ timeoutMs: 60_000 });
      await expect(client.calls.listClassifiers({ offset: 0, limit: undefined }, ctx)).rejects.toThrow();
    }
  };
  try {
    await callAll();
    vi.advanceTimersByTime(1_000);
    failures.push(away, away);
    await callAll();
  } finally {
    client.close();
    await server.close(0);
  }
  expect(onFailure.mock.calls.map(([err]) => err)).toEqual([away, broken, broken, away]);
});

it('counts the turns of a call for the account of its caller', async () => {
  const calls = 20;
  let begun = 0;
  const ended: string[] = [];
  const handler = async (_request: object, { principal }: CallContext) => {
    begun++;
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    ended.push(principal?.accountId ?? '');
    return ListClassifiersResponse.decode(new Uint8Array());
  };
  const services = [{ definition: MlServiceService, handlers: new Proxy({}, { get: () => handler }) }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  const call = (accountId: string) => {
    const principal = { accountId, keyId: 'k', scopes: [], limits: undefined };
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    return client.calls.listClassifiers({ offset: 0, limit: undefined }, ctx);
  };
  try {
    const others = Array.from({ length: calls }, () => call('other'));
    await expect.poll(() => begun, { interval: 1 }).toBe(calls);
    await call('ours');
    expect(ended).toContain('ours');
    expect(ended.indexOf('ours')).toBeLessThan(calls / 2);
    await Promise.all(others);
  } finally {
    client.close();
    await server.close(0);
  }
});

it('tells a handler whether its caller left or the deadline passed', async () => {
  const reasons: unknown[] = [];
  const handler = async (_request: object, { signal }: CallContext) => {
    await new Promise<void>((resolve) => signal.addEventListener('abort', resolve));
    reasons.push(signal.reason);
  };
  const handlers = new Proxy({}, { get: () => handler });
  const services = [{ definition: MlServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  const call = (ctx: CallContext) =>
    client.calls.listClassifiers({ offset: 0, limit: undefined }, ctx).catch(() => {});
  try {
    await call(createCallContext({ timeoutMs: 100 }));
    const leaving = new CallStop();
    const left = call({ ...createCallContext({ timeoutMs: 60_000 }), signal: leaving });
    setTimeout(() => leaving.abort(new HubError('CANCELLED', 'left')), 100);
    await left;
    await expect.poll(() => reasons).toMatchObject([{ name: 'TimeoutError' }, { code: 'CANCELLED' }]);
  } finally {
    client.close();
    await server.close(0);
  }
});

it('sends a response that its handler has encoded', async () => {
  const bytes = Buffer.from(ListClassifiersResponse.encode({ classifiers: [], total: 7 }).finish());
  const handlers = new Proxy({}, { get: () => async () => new EncodedMessage(bytes) });
  const services = [{ definition: MlServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  try {
    const ctx = createCallContext({ timeoutMs: 60_000 });
    const answer = await client.calls.listClassifiers({ offset: 0, limit: undefined }, ctx);
    expect(answer).toEqual({ classifiers: [], total: 7 });
  } finally {
    client.close();
    await server.close(0);
  }
});

it.each([
  ['that is cut within a pair of surrogates', `a${'😀'.repeat(1_500)}`],
  ['that has half of a pair', 'The name \ud83d is taken.'],
])('sends an error with a text %s', async (_, text) => {
  const refusal = new HubError('VALIDATION', text);
  const handlers = new Proxy({}, { get: () => async () => Promise.reject(refusal) });
  const services = [{ definition: MlServiceService, handlers }];
  const server = await startGrpcServer({ address: '127.0.0.1:0', services });
  const client = createGrpcClient(MlServiceService, { address: `127.0.0.1:${server.port}` });
  try {
    const call = client.calls.listClassifiers(
      { offset: 0, limit: undefined },
      createCallContext({ timeoutMs: 5_000 }),
    );
    await expect(call).rejects.toMatchObject({ code: 'VALIDATION', message: text.toWellFormed() });
  } finally {
    client.close();
    await server.close(0);
  }
});

describe('a call of a stranger', () => {
  const large = Buffer.alloc(5);
  large.writeUInt32BE(60_000_000, 1);

  interface Call {
    authorization?: string;
    /** By default one that never becomes whole. */
    message?: Buffer;
    encoding?: string;
  }

  const statusOf = async (
    path: string,
    {
      authorization = '',
      message = Buffer.concat([large, Buffer.alloc(100_000)]),
      encoding = 'identity',
    }: Call = {},
  ) => {
    const services = [{ definition: MlServiceService, handlers: new Proxy({}, { get: () => vi.fn() }) }];
    const serviceTokens = ['a'.repeat(32)];
    const server = await startGrpcServer({ address: '127.0.0.1:0', services, serviceTokens });
    const session = connect(`http://127.0.0.1:${server.port}`);
    try {
      const headers = {
        ...{ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', authorization },
        'grpc-encoding': encoding,
      };
      const stream = session.request(headers, { endStream: false });
      stream.write(message);
      stream.on('error', () => {});
      const silent = new Promise((resolve) => setTimeout(resolve, 500, {}));
      const [answer] = (await Promise.race([once(stream, 'response'), silent.then(() => [{}])])) as [object];
      return (answer as Record<string, unknown>)['grpc-status'];
    } finally {
      session.destroy();
      await server.close(0);
    }
  };

  it('is refused at its headers', async () => {
    const path = '/datahub.ml.v1.MlService/Predict';
    expect(await statusOf(path, { authorization: 'Bearer wrong' })).toBe('16');
    expect(await statusOf(path, { authorization: `Bearer ${'a'.repeat(32)}` })).toBeUndefined();
  });

  it('is refused where anybody may ask, but not with so large a message', async () => {
    expect(await statusOf('/grpc.health.v1.Health/Check')).toBe('8');
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ])('is refused if its small message becomes large: %s', async (encoding, compress) => {
    const body = compress(Buffer.alloc(1_000_000));
    const head = Buffer.from([1, 0, 0, 0, 0]);
    head.writeUInt32BE(body.length, 1);
    const message = Buffer.concat([head, body]);
    expect(await statusOf('/grpc.health.v1.Health/Check', { message, encoding })).toBe('8');
  });

  describe('beside others', () => {
    const token = 'a'.repeat(32);
    const watch = (session: ClientHttp2Session, more: object = {}) => {
      const stream = session.request({
        ...{ ':method': 'POST', ':path': '/grpc.health.v1.Health/Watch' },
        ...{ 'content-type': 'application/grpc', ...more },
      });
      stream.on('error', () => {}).resume();
      stream.end(Buffer.alloc(5));
      return stream;
    };
    const authorization = `Bearer ${token}`;
    let server: RunningGrpcServer;
    let sessions: ClientHttp2Session[];
    const open = () => {
      const session = connect(`http://127.0.0.1:${server.port}`).on('error', () => {});
      sessions.push(session);
      return session;
    };
    beforeEach(async () => {
      server = await startGrpcServer({ address: '127.0.0.1:0', services: [], serviceTokens: [token] });
      sessions = [];
    });
    afterEach(async () => {
      for (const session of sessions) session.destroy();
      await server.close(0);
    });

    it('closes its connection with the 33rd that has not ended', async () => {
      const [service, stranger] = [open(), open()];
      await once(watch(service, { authorization }), 'response');
      for (let i = 0; i < 40; i++) watch(service);
      // What has ended counts no more.
      for (let i = 0; i < 34; i++) {
        const stream = watch(stranger);
        await once(stream, 'response');
        stream.close();
        await once(stream, 'close');
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      expect(stranger.closed).toBe(false);
      for (let i = 0; i < 33; i++) watch(stranger);
      await once(stranger, 'close');
      await once(watch(service), 'response');
      await once(watch(open()), 'response');
    });

    it('leaves the connection of a service open that cancels thousands of calls at once', async () => {
      const service = open();
      await once(watch(service, { authorization }), 'response');
      for (let round = 0; round < 4; round++) {
        const streams = Array.from({ length: 500 }, () => watch(service));
        await Promise.all(streams.map((stream) => once(stream, 'response')));
        for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      }
      await once(watch(service), 'response');
      expect(service.closed).toBe(false);
    });

    it('closes the oldest of more than 256 connections without a valid one', async () => {
      const service = open();
      await once(watch(service, { authorization }), 'response');
      const [first, ...more] = Array.from({ length: 257 }, open) as [ClientHttp2Session];
      await once(first, 'close');
      expect([service, ...more].filter(({ destroyed }) => destroyed)).toEqual([]);
    });
  });
});
