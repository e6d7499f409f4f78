import { randomBytes } from 'node:crypto';
import { constants, createServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { KeyLimits, type Principal } from '@datahub/proto/common/v1/principal';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { Client } from '@grpc/grpc-js';
import { afterEach, expect, it, vi } from 'vitest';
import { type CallContext, CallStop, createCallContext } from '../../src/call/call.ts';
import { fieldError, HubError } from '../../src/call/error.ts';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from '../../src/grpc/client.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';

let server: RunningGrpcServer | undefined;
let client: GrpcClient<typeof MlServiceService> | undefined;
afterEach(async () => {
  client?.close();
  await server?.close(0);
});

const token = 't'.repeat(32);

async function serve(
  handler: (request: object, ctx: CallContext) => Promise<unknown>,
  options: Partial<GrpcClientOptions> = { serviceToken: token },
) {
  const handlers = new Proxy({}, { get: () => handler });
  const services = [{ definition: MlServiceService, handlers }];
  server = await startGrpcServer({ address: '127.0.0.1:0', services, serviceTokens: [token] });
  const address = `127.0.0.1:${server.port}`;
  client = createGrpcClient(MlServiceService, { address, ...options });
  return client.calls;
}

it('has a service that gave up before the deadline answer as one that cannot be reached, not as if the caller had gone', async () => {
  const calls = await serve(() => Promise.reject(new HubError('CANCELLED', 'The caller has gone.')));
  const asked = calls.listClassifiers(
    { offset: 0, limit: undefined },
    createCallContext({ timeoutMs: 60_000 }),
  );
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
});

it('sends long limits of a key, and breaks no call of others with those that are too long', async () => {
  const seen: (Principal | undefined)[] = [];
  const waiting = Promise.withResolvers<object>();
  const calls = await serve(async (_request, { principal }) => {
    seen.push(principal);
    return principal?.accountId === 'other' ? waiting.promise : { classifiers: [], total: 0 };
  });
  const list = (accountId: string, contextJson: string) => {
    const limits = { ...KeyLimits.decode(new Uint8Array()), contextJson };
    const principal = { accountId, keyId: 'k', scopes: ['*'], limits };
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    return calls.listClassifiers({ offset: 0, limit: undefined }, ctx);
  };
  const other = list('other', '{}');
  for (const characters of [10, 40_000, 200_000]) {
    const contextJson = '{"tenant": "north"}'.padEnd(characters);
    await list('one', contextJson);
    expect(seen.at(-1)?.limits?.contextJson).toBe(contextJson);
  }
  for (const text of [randomBytes(60_000).toString('base64'), 'x'.repeat(2_000_000)])
    await expect(list('one', text)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  waiting.resolve({ classifiers: [], total: 0 });
  await other;
});

it('gets errors with many or long faults, which break no call of others', async () => {
  const waiting = Promise.withResolvers<object>();
  const errors = [
    fieldError(Array.from({ length: 400 }, (_, i) => ({ path: ['context', i, 'key'], detail: 'is wrong' }))),
    fieldError(Array.from({ length: 200 }, (_, i) => ({ path: ['context', i], detail: '字'.repeat(400) }))),
    fieldError([{ path: ['字'.repeat(60_000)], detail: 'is unknown' }]),
    new HubError('SQL_REJECTED', '字'.repeat(60_000)),
  ];
  const calls = await serve(async (_request, { requestId }) => {
    if (requestId === 'other') return waiting.promise;
    throw errors[Number(requestId)];
  });
  const list = (requestId: string) =>
    calls.listClassifiers(
      { offset: 0, limit: undefined },
      createCallContext({ timeoutMs: 60_000, requestId }),
    );
  const other = list('other');
  const answers: HubError[] = [];
  for (const i of errors.keys()) await list(`${i}`).catch((err) => answers.push(err));
  expect(answers.map(({ code }) => code)).toEqual(['VALIDATION', 'VALIDATION', 'VALIDATION', 'SQL_REJECTED']);
  expect(answers.slice(0, 3).map(({ errors }) => errors?.length)).toEqual([200, 29, undefined]);
  expect(answers[0]?.message).toBe('context.0.key is wrong; "errors" lists 199 more faults.');
  expect(answers[1]?.message).toMatch(/lists 28 more faults\.$/);
  waiting.resolve({ classifiers: [], total: 0 });
  await other;
});

it('tells a deadline from a caller who has gone', async () => {
  const calls = await serve(() => new Promise(() => {}));
  const asked = calls.listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs: 100 }));
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
});

it('tells the deadline of a request from a client who has gone, and that the call may have had an effect', async () => {
  const calls = await serve(() => new Promise(() => {}));
  const stop = new CallStop();
  const ctx = { ...createCallContext({ timeoutMs: 60_000 }), signal: stop };
  const asked = calls.listClassifiers({ offset: 0, limit: undefined }, ctx);
  setTimeout(() => stop.abort(new HubError('STATEMENT_TIMEOUT', 'The request took too long.')), 50);
  await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true, lost: true });
});

it('knows a caller who has gone', async () => {
  const calls = await serve(() => new Promise(() => {}));
  const leaving = new AbortController();
  const ctx = { ...createCallContext({ timeoutMs: 60_000 }), signal: leaving.signal };
  const asked = calls.listClassifiers({ offset: 0, limit: undefined }, ctx);
  setTimeout(() => leaving.abort(), 50);
  await expect(asked).rejects.toMatchObject({ code: 'CANCELLED' });
});

it('does not tell callers of a gateway with another service token that they showed no key', async () => {
  const refused = async (forOthers: boolean) => {
    const calls = await serve(async () => ({}), { serviceToken: 'o'.repeat(32), forOthers });
    const ctx = createCallContext({ timeoutMs: 60_000 });
    const told = await calls.listClassifiers({ offset: 0, limit: undefined }, ctx).catch((err) => err);
    client?.close();
    await server?.close(0);
    return told;
  };
  expect(await refused(true)).toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('service token'),
  });
  expect(await refused(false)).toMatchObject({ code: 'KEY_MISSING' });
});

it('tells a call whose answer was lost from one that never went out', async () => {
  const arrived = Promise.withResolvers<void>();
  const calls = await serve(() => {
    arrived.resolve();
    return new Promise(() => {});
  });
  const ask = () =>
    calls
      .listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs: 60_000 }))
      .catch((err) => err);
  const lost = ask();
  await arrived.promise;
  await server?.close(0);
  expect(await lost).toMatchObject({ code: 'UNAVAILABLE', lost: true });
  const unsent = await ask();
  expect([unsent.code, unsent.lost]).toEqual(['UNAVAILABLE', undefined]);
});

type Ending = (stream: ServerHttp2Stream) => void;
const resets: [string, Ending][] = Object.entries(constants)
  .filter(([name]) =>
    /^NGHTTP2_(NO_ERROR|.*_ERROR|REFUSED_STREAM|ENHANCE_YOUR_CALM|INADEQUATE_SECURITY)$/.test(name),
  )
  .filter(([name]) => !name.startsWith('NGHTTP2_ERR') && name !== 'NGHTTP2_SESSION_ERROR')
  .map(([name, code]) => [name, (stream) => stream.close(Number(code))]);
const proxies = [400, 401, 403, 429, 500, 502, 503, 504].map((code): [string, Ending] => [
  `HTTP status ${code}`,
  (stream) => stream.respond({ ':status': code }, { endStream: true }),
]);

it.each<[string, Ending]>([
  ...resets,
  ...proxies,
  ['a destroyed connection', (stream) => stream.session?.destroy()],
  ['a reset connection', (stream) => (stream.session?.socket as Socket | undefined)?.resetAndDestroy()],
  [
    'an answer cut in its middle',
    (stream) => {
      stream.respond({ 'content-type': 'application/grpc' });
      stream.write(Buffer.from([0, 0, 0, 1, 0]), () => stream.session?.destroy());
    },
  ],
])(
  'takes a call that ended with %s for one that a repetition may mend, not for a fault of the hub',
  async (name, end) => {
    const mute = createServer().on('stream', (stream) => end(stream.on('error', () => {})));
    mute.on('sessionError', () => {});
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
    const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
    client = createGrpcClient(MlServiceService, { address });
    const asked = await client.calls
      .listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs: 60_000 }))
      .catch((err) => err);
    expect(asked).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    // A refused stream was not processed (RFC 9113, 8.7); grpc-js has repeated it.
    expect(asked.lost).toBe(name === 'NGHTTP2_REFUSED_STREAM' ? undefined : true);
    client.close();
    mute.close();
  },
);

it('takes a call after the client was closed for one that was not sent', async () => {
  const calls = await serve(async () => ({}));
  client?.close();
  const asked = await calls
    .listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs: 60_000 }))
    .catch((err) => err);
  expect(asked).toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  expect(asked.lost).toBeUndefined();
});

it('leaves no listeners on a stream that is written faster than it is read', async () => {
  const bytes = { requestSerialize: Buffer.from, requestDeserialize: Buffer.from };
  const answers = { responseSerialize: Buffer.from, responseDeserialize: Buffer.from };
  const path = '/test.Echo/Echo';
  const definition = { echo: { path, requestStream: true, responseStream: true, ...bytes, ...answers } };
  const echo = (requests: AsyncIterable<Buffer>) => requests;
  server = await startGrpcServer({
    address: '127.0.0.1:0',
    services: [{ definition, handlers: { echo } }],
  });
  const opened = vi.spyOn(Client.prototype, 'makeBidiStreamRequest');
  const echoes = createGrpcClient(definition, { address: `127.0.0.1:${server.port}` });
  const calls = echoes.calls as never as { echo: (...args: unknown[]) => AsyncIterable<Buffer> };
  const total = 3_000;
  async function* requests() {
    for (let i = 0; i < total; i++) yield Buffer.alloc(1_000);
  }
  const found: number[] = [];
  let drains = 0;
  for await (const _ of calls.echo(requests(), createCallContext({ timeoutMs: 60_000 }))) {
    const stream = opened.mock.results[0]?.value;
    if (found.length === 0) stream.on('drain', () => drains++);
    found.push(stream.listenerCount('close'));
  }
  opened.mockRestore();
  echoes.close();
  expect(found).toHaveLength(total);
  expect(drains).toBeGreaterThan(20);
  // One may wait for room in the stream.
  expect(Math.max(...found)).toBeLessThanOrEqual(Math.min(...found) + 1);
});
