import type { AddressInfo } from 'node:net';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { afterEach, expect, it } from 'vitest';
import { createCallContext } from '../../src/call/call.ts';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';

let server: RunningGrpcServer | undefined;
let client: GrpcClient<typeof MlServiceService> | undefined;
let proxy: Awaited<ReturnType<typeof startProxy>> | undefined;
afterEach(async () => {
  client?.close();
  await server?.close(0);
  proxy?.close();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const list = (timeoutMs = 10_000) =>
  client?.calls.listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs }));

/** Forwards connections. It can also drop all data on open ones, as a dead machine does. */
async function startProxy(port: number) {
  const sockets: Socket[] = [];
  let open = 0;
  const listener: Server = createTcpServer((socket) => {
    const upstream = connect(port, '127.0.0.1');
    open++;
    socket.once('close', () => open--).on('error', () => upstream.destroy());
    upstream.on('error', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
    sockets.push(socket, upstream);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    open: () => open,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

async function start(handler: () => Promise<unknown>, connectionAgeMs?: number) {
  const handlers = new Proxy({}, { get: () => handler });
  const services = [{ definition: MlServiceService, handlers }];
  server = await startGrpcServer({
    address: '127.0.0.1:0',
    services,
    ...(connectionAgeMs === undefined ? {} : { connectionAgeMs }),
  });
  proxy = await startProxy(server.port);
  client = createGrpcClient(MlServiceService, { address: proxy.address, liveness: { renewMs: 200 } });
}

it('completes a call that is longer than the lifetime of its connection, at the client and at the server', async () => {
  await start(() => sleep(1_500).then(() => ({ classifiers: [], total: 7 })), 300);
  expect(await list()).toMatchObject({ total: 7 });
});

it('moves away from a server that died without closing its connections', async () => {
  await start(async () => ({ classifiers: [], total: 7 }));
  expect(await list()).toMatchObject({ total: 7 });
  proxy?.freeze();
  await expect
    .poll(
      () =>
        list(100)?.then(
          (answer) => answer.total,
          () => 'lost',
        ),
      { timeout: 60_000 },
    )
    .toBe(7);
});

it('closes connections that are not used any more', async () => {
  await start(async () => ({ classifiers: [], total: 7 }));
  for (let i = 0; i < 10; i++) {
    await list();
    await sleep(100);
  }
  await expect.poll(() => proxy?.open() ?? 0, { timeout: 60_000 }).toBeLessThanOrEqual(2);
});
