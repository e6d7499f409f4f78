import { type ExecuteRequest, ExecutorServiceService, Format } from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { type RunningGrpcServer, startGrpcServer } from '@datahub/service-kit/grpc/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scoreOf } from '../src/cached-queries.ts';
import { type Executor, Rerouted } from '../src/executor.ts';
import { openRemoteExecutor } from '../src/remote-executor.ts';
import { serveSession } from '../src/session-server.ts';

const token = 'a-token-of-at-least-thirty-two-characters';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };

/** The number of runs of each query, for each executor. */
let ran: Map<string, number>[];
let servers: RunningGrpcServer[];
let gateways: Awaited<ReturnType<typeof openRemoteExecutor>>[];

async function startExecutor(): Promise<RunningGrpcServer> {
  const counts = new Map<string, number>();
  ran.push(counts);
  const execute: Executor['execute'] = async ({ queryId, reroutable }, _ctx, reply) => {
    if (reroutable && queryId.startsWith('cached')) throw new Rerouted();
    counts.set(queryId, (counts.get(queryId) ?? 0) + 1);
    reply.chunk(Buffer.from(queryId));
  };
  const unused = async () => ({});
  return startGrpcServer({
    address: '127.0.0.1:0',
    serviceTokens: [token],
    services: [
      {
        definition: ExecutorServiceService,
        handlers: {
          execute: unused,
          session: (requests: never, ctx: Parameters<Executor['execute']>[1]) =>
            serveSession({ execute }, requests, {
              ...ctx,
              options: { callsMax: 1_000, draining: new AbortController().signal, onFailure: () => {} },
            }),
          testSource: unused,
          readSchema: unused,
          describeQuery: unused,
          checkQuery: unused,
        },
      },
    ],
  });
}

async function read(gateway: Executor, queryId: string): Promise<string> {
  const chunks: Buffer[] = [];
  const request: ExecuteRequest = { queryId, contextJson: '', format: Format.FORMAT_JSON };
  await gateway.execute(request, createCallContext({ timeoutMs: 5_000, principal }), {
    chunk: (bytes) => chunks.push(bytes) > 0,
    onDrain: () => {},
  });
  return Buffer.concat(chunks).toString();
}

const readFromAll = (queryId: string, times: number) =>
  Promise.all(gateways.flatMap((gateway) => Array.from({ length: times }, () => read(gateway, queryId))));
/** Returns the executors that ran a query. */
const ranBy = (queryId: string) => ran.flatMap((counts, i) => (counts.has(queryId) ? [i] : []));

describe('reads of queries with a cache, over three gateways and three executors', () => {
  beforeEach(async () => {
    ran = [];
    servers = [await startExecutor(), await startExecutor(), await startExecutor()];
    gateways = await Promise.all(
      [1, 2, 3].map(() =>
        openRemoteExecutor({
          addresses: servers.map(({ port }) => `127.0.0.1:${port}`),
          serviceToken: token,
          onDown: () => {},
        }),
      ),
    );
    await readFromAll('warm', 6);
  });

  afterEach(async () => {
    for (const gateway of gateways) gateway.close();
    await Promise.all(servers.map((server) => server.close(0, () => {})));
  });

  it('go to the same executor from every gateway', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `cached ${i}`);
    for (const name of names) {
      expect(new Set(await readFromAll(name, 5))).toEqual(new Set([name]));
      expect(ranBy(name)).toHaveLength(1);
    }
    expect(new Set(names.flatMap(ranBy)).size).toBe(3);
    expect(ranBy('warm')).toEqual([0, 1, 2]);
  });

  it('go to the same other executor when the first is gone', async () => {
    await readFromAll('cached', 1);
    const [owner = 0] = ranBy('cached');
    await servers[owner]?.close(0, () => {});
    for (const counts of ran) counts.clear();
    await readFromAll('cached', 5);
    expect(ranBy('cached')).toHaveLength(1);
    expect(ranBy('cached')).not.toContain(owner);
  });
});

describe('the choice', () => {
  it('spreads queries evenly, and only the queries of a lost executor move', () => {
    const addresses = ['10.0.0.1:7072', '10.0.0.2:7072', '10.0.0.3:7072', '10.0.0.4:7072'];
    const chosen = (name: string, among: string[]) =>
      among.toSorted((a, b) => scoreOf(name, b) - scoreOf(name, a))[0] as string;
    const counts = new Map<string, number>();
    for (let i = 0; i < 4_000; i++) {
      const name = `account q.${i}`;
      const address = chosen(name, addresses);
      counts.set(address, (counts.get(address) ?? 0) + 1);
      const lost = addresses[i % 4] as string;
      if (lost !== address)
        expect(
          chosen(
            name,
            addresses.filter((one) => one !== lost),
          ),
        ).toBe(address);
    }
    for (const address of addresses) {
      expect(counts.get(address)).toBeGreaterThan(850);
      expect(counts.get(address)).toBeLessThan(1_150);
    }
  });
});
