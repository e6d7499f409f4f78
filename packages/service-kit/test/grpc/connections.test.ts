import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { afterEach, expect, it } from 'vitest';
import { createCallContext } from '../../src/call/call.ts';
import { createGrpcClient, type GrpcClient } from '../../src/grpc/client.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';
import { type FaultyLink, startProxy } from './proxy.ts';

let server: RunningGrpcServer | undefined;
let client: GrpcClient<typeof MlServiceService> | undefined;
let proxy: FaultyLink | undefined;
afterEach(async () => {
  client?.close();
  await server?.close(0);
  proxy?.close();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const list = (timeoutMs = 10_000) =>
  client?.calls.listClassifiers({ offset: 0, limit: undefined }, createCallContext({ timeoutMs }));

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
  proxy?.freeze(false);
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
