import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { afterEach, expect, it } from 'vitest';
import { createCallContext } from '../../src/call/call.ts';
import { openReplicatedClient, type ReplicatedClient } from '../../src/grpc/replicated-client.ts';
import { type RunningGrpcServer, startGrpcServer } from '../../src/grpc/server.ts';
import { type FaultyLink, startProxy } from './proxy.ts';

const servers: RunningGrpcServer[] = [];
const proxies: FaultyLink[] = [];
let client: ReplicatedClient<typeof MlServiceService> | undefined;
afterEach(async () => {
  client?.close();
  for (const proxy of proxies.splice(0)) proxy.close();
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
});

/** Calls go to the replicas in turn. `counts` says how many each has got. */
async function start(count: number) {
  const counts = Array<number>(count).fill(0);
  for (let i = 0; i < count; i++) {
    const handler = async () => {
      counts[i] = (counts[i] as number) + 1;
      return { classifiers: [], total: i };
    };
    const handlers = new Proxy({}, { get: () => handler });
    const services = [{ definition: MlServiceService, handlers }];
    const server = await startGrpcServer({ address: '127.0.0.1:0', services });
    servers.push(server);
    proxies.push(await startProxy(server.port));
  }
  client = await openReplicatedClient(MlServiceService, {
    addresses: proxies.map(({ address }) => address),
    mayRepeat: (method) => method.startsWith('list'),
  });
  return counts;
}

const ctx = () => createCallContext({ timeoutMs: 30_000 });
const list = async () => (await client?.calls.listClassifiers({ offset: 0, limit: undefined }, ctx()))?.total;
const create = () => client?.calls.createClassifier({ name: 'c' } as never, ctx());
const listAll = (times: number) => Promise.all(Array.from({ length: times }, list));

it('repeats a read elsewhere if its replica does not respond, sends it no more, and finds it again', async () => {
  const counts = await start(2);
  expect(new Set(await listAll(4))).toEqual(new Set([0, 1]));
  proxies[0]?.freeze();
  const startedAt = performance.now();
  expect(await listAll(4)).toEqual([1, 1, 1, 1]);
  const before = performance.now();
  expect(before - startedAt).toBeGreaterThan(1_000);
  expect(await listAll(20)).toEqual(Array(20).fill(1));
  proxies[0]?.thaw();
  await expect.poll(async () => new Set(await listAll(2))).toEqual(new Set([0, 1]));
  expect(counts[0]).toBeGreaterThan(2);
});

it('says that a change has got no answer', async () => {
  await start(2);
  await listAll(2);
  proxies[0]?.freeze();
  const outcomes = await Promise.allSettled([create(), create()]);
  const failures = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(failures).toMatchObject([{ code: 'UNAVAILABLE', lost: true }]);
});

it('waits for the last replicas that are left, and for the only one', async () => {
  await start(3);
  await listAll(3);
  proxies[0]?.freeze();
  proxies[1]?.freeze();
  const waiting = listAll(3);
  // One is ejected, and more would be more than half of them.
  const first = await Promise.race([
    waiting,
    new Promise((resolve) => setTimeout(() => resolve('late'), 3_500)),
  ]);
  expect(first).toBe('late');
  proxies[0]?.thaw();
  proxies[1]?.thaw();
  expect((await waiting).length).toBe(3);
});

it('passes over a replica that is not there', async () => {
  const counts = await start(2);
  await servers[0]?.close(0);
  proxies[0]?.close();
  expect(await listAll(6)).toEqual(Array(6).fill(1));
  expect(await client?.isServing(1_000)).toBe(true);
  expect(counts[0]).toBe(0);
});
