import {
  type ExecuteRequest,
  ExecutorServiceService,
  Format,
  type ReadStatisticsResponse,
} from '@datahub/proto/executor/v1/executor';
import { createCallContext } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { type RunningGrpcServer, startGrpcServer } from '@datahub/service-kit/grpc/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BusyWatch } from '../src/busy-watch.ts';
import { scoreOf } from '../src/cached-queries.ts';
import { type Executor, Rerouted } from '../src/executor.ts';
import { sumFigures } from '../src/fleet-statistics.ts';
import { openRemoteExecutor } from '../src/remote-executor.ts';
import { serveSession } from '../src/session-server.ts';

const token = 'a-token-of-at-least-thirty-two-characters';
const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };

/** The number of runs of each query, for each executor. */
let ran: Map<string, number>[];
let servers: RunningGrpcServer[];
let gateways: Awaited<ReturnType<typeof openRemoteExecutor>>[];

/** What executions of queries with this name wait for. */
let slow: Promise<void>;
const sourceOf = (queryId: string) => queryId.split(' ')[0] as string;

/** The queries that write. */
let writing: Set<string>;

/** The counts of executors that do not answer. */
let hanging: Set<Map<string, number>>;

/** Tells the gateways that an executor is busy, or that it is not. */
let setBusy: Map<Map<string, number>, (busy: boolean) => void>;

function busyOf(counts: Map<string, number>): BusyWatch {
  const listeners = new Set<() => void>();
  const watch = {
    isBusy: false,
    watch: () => {},
    onChange: (listener: () => void) => void listeners.add(listener),
    offChange: (listener: () => void) => void listeners.delete(listener),
    close: () => {},
  };
  const others = setBusy.get(counts);
  setBusy.set(counts, (busy) => {
    others?.(busy);
    watch.isBusy = busy;
    for (const listener of listeners) listener();
  });
  return watch;
}

const toAnswer = (counts: Map<string, number>): ReadStatisticsResponse => ({
  queries: [...counts].map(([queryId, calls]) => {
    const figures = { ...sumFigures([]), calls };
    return { queryId, sinceStart: figures, lastHour: figures, windows: [], versions: [] };
  }),
  since: '2026-01-01T00:00:00.000Z',
  dropped: 0,
});

async function startExecutor(): Promise<RunningGrpcServer> {
  const counts = new Map<string, number>();
  ran.push(counts);
  const execute: Executor['execute'] = async (request, _ctx, reply) => {
    const { queryId, reroutable, tellSource, onlyReads } = request;
    const reads = !writing.has(queryId);
    // Each query is named after its source.
    if (tellSource) reply.source?.(sourceOf(queryId), reads);
    if (onlyReads && !reads) throw new HubError('OPTION_REFUSED', 'The query writes.');
    if (reroutable && queryId.startsWith('cached')) throw new Rerouted();
    counts.set(queryId, (counts.get(queryId) ?? 0) + 1);
    if (queryId.startsWith('slow')) await slow;
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
              options: {
                callsMax: 1_000,
                draining: new AbortController().signal,
                onFailure: () => {},
                busy: busyOf(counts),
              },
            }),
          testSource: unused,
          checkSource: unused,
          readSchema: unused,
          describeQuery: unused,
          findCommit: unused,
          fetchIssuerKeys: unused,
          fetchClientDocument: unused,
          checkQuery: unused,
          readStatistics: () =>
            hanging.has(counts) ? new Promise(() => {}) : Promise.resolve(toAnswer(counts)),
        },
      },
    ],
  });
}

async function read(gateway: Executor, queryId: string, load?: ExecuteRequest['load']): Promise<string> {
  const chunks: Buffer[] = [];
  const request: ExecuteRequest = { queryId, contextJson: '', format: Format.FORMAT_JSON, load };
  await gateway.execute(request, createCallContext({ timeoutMs: 60_000, principal }), {
    chunk: (bytes) => chunks.push(bytes) > 0,
    onDrain: () => {},
  });
  return Buffer.concat(chunks).toString();
}

const readFromAll = (queryId: string, times: number) =>
  Promise.all(gateways.flatMap((gateway) => Array.from({ length: times }, () => read(gateway, queryId))));
/** Returns the executors that ran a query. */
const ranBy = (queryId: string) => ran.flatMap((counts, i) => (counts.has(queryId) ? [i] : []));

const warm = Array.from({ length: 30 }, (_, i) => `warm/${i}`);

async function startAll(): Promise<void> {
  ran = [];
  hanging = new Set();
  writing = new Set();
  setBusy = new Map();
  slow = Promise.resolve();
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
  // Each executor is the first of some of these sources, so each greets every gateway.
  await Promise.all(warm.map((name) => readFromAll(name, 2)));
  for (const counts of ran) counts.clear();
}

async function stopAll(): Promise<void> {
  for (const gateway of gateways) gateway.close();
  await Promise.all(servers.map((server) => server.close(0, () => {})));
}

describe('reads of queries with a cache, over three gateways and three executors', () => {
  beforeEach(startAll);
  afterEach(stopAll);

  it('go to the same executor from every gateway', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `cached ${i}`);
    for (const name of names) {
      expect(new Set(await readFromAll(name, 5))).toEqual(new Set([name]));
      expect(ranBy(name)).toHaveLength(1);
    }
    expect(new Set(names.flatMap(ranBy)).size).toBe(3);
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

describe('executions of queries without a cache', () => {
  beforeEach(startAll);
  afterEach(stopAll);

  it('go to one executor for each source, from every gateway', async () => {
    const names = Array.from({ length: 30 }, (_, i) => [`plain/${i} a`, `plain/${i} b`]);
    // The first call of a gateway finds out the source.
    for (const name of names.flat()) await readFromAll(name, 1);
    for (const counts of ran) counts.clear();
    for (const name of names.flat()) await readFromAll(name, 4);
    for (const [one = '', other = ''] of names) {
      expect(ranBy(one)).toHaveLength(1);
      expect(ranBy(other)).toEqual(ranBy(one));
    }
    expect(new Set(names.flat().flatMap(ranBy)).size).toBe(3);
  });

  it('are shared with the next executor while the first one is busy', async () => {
    await readFromAll('slow/1', 2);
    for (const counts of ran) counts.clear();
    await readFromAll('slow/1', 1);
    const [first = 0] = ranBy('slow/1');
    setBusy.get(ran[first] as Map<string, number>)?.(true);
    const blocked = Promise.withResolvers<void>();
    slow = blocked.promise;
    const reads: Promise<string>[] = [];
    const readOnce = () => {
      reads.push(...gateways.map((gateway) => read(gateway, 'slow/1')));
      return ranBy('slow/1').length;
    };
    await expect.poll(readOnce).toBe(2);
    for (let i = 0; i < 5; i++) expect(readOnce()).toBe(2);
    blocked.resolve();
    await Promise.all(reads);
    expect(ranBy('slow/1')).toHaveLength(2);
  });
});

describe('an execution whose executor is lost', () => {
  beforeEach(startAll);
  afterEach(stopAll);

  const loseAll = async (queryId: string, known: boolean, load?: ExecuteRequest['load']) => {
    const gateway = gateways[0] as Executor;
    if (known) await read(gateway, queryId);
    slow = new Promise(() => {});
    const runs = () => ran.reduce((sum, counts) => sum + (counts.get(queryId) ?? 0), 0);
    const before = runs();
    const failure = read(gateway, queryId, load).catch((err) => err);
    await expect.poll(runs).toBe(before + 1);
    await Promise.all(servers.map((server) => server.close(0, () => {})));
    const { code, retryable, lost } = await failure;
    return { code, retryable, lost };
  };

  it.each([true, false])(
    'may be repeated if it reads, also if nobody can be asked; known before: %s',
    async (known) => {
      const told = { code: 'SOURCE_BROKEN', retryable: true, lost: undefined };
      expect(await loseAll('slow/1', known)).toEqual(told);
    },
  );

  it.each([true, false])('is reported as lost if it writes; known before: %s', async (known) => {
    writing.add('slow/1');
    expect(await loseAll('slow/1', known)).toMatchObject({ code: 'SOURCE_BROKEN', lost: true });
  });

  it('is reported as lost if it writes by now', async () => {
    await read(gateways[0] as Executor, 'slow/1');
    writing.add('slow/1');
    expect(await loseAll('slow/1', true)).toMatchObject({ code: 'SOURCE_BROKEN', lost: true });
  });

  it('is reported as lost if it is a load, whatever the query did before', async () => {
    const lost = await loseAll('slow/1', true, { columns: [], commitEvery: undefined });
    expect(lost).toMatchObject({ code: 'SOURCE_BROKEN', lost: true });
  });
});

describe('an executor in the same process', () => {
  beforeEach(startAll);
  afterEach(stopAll);

  it('runs all executions but those whose answers another one caches', async () => {
    const addresses = servers.map(({ port }) => `127.0.0.1:${port}`);
    const ownRuns: string[] = [];
    const unused = async () => ({}) as never;
    const gateway = await openRemoteExecutor({
      addresses,
      serviceToken: token,
      onDown: () => {},
      local: {
        address: addresses[0] as string,
        executor: {
          execute: async ({ queryId, reroutable }, _ctx, reply) => {
            if (reroutable && queryId.startsWith('cached')) throw new Rerouted();
            ownRuns.push(queryId);
            reply.chunk(Buffer.from(queryId));
          },
          ...{ testSource: unused, checkSource: unused, readSchema: unused },
          ...{ describeQuery: unused, checkQuery: unused, findCommit: unused, fetchIssuerKeys: unused },
          fetchClientDocument: unused,
        },
        readStatistics: async () => toAnswer(new Map()),
      },
    });
    gateways.push(gateway);
    for (let i = 0; i < 5; i++) expect(await read(gateway, `plain ${i}`)).toBe(`plain ${i}`);
    expect(ownRuns).toHaveLength(5);
    const chosen = (queryId: string) =>
      addresses.toSorted((a, b) => scoreOf(`a ${queryId}`, b) - scoreOf(`a ${queryId}`, a))[0];
    const names = Array.from({ length: 20 }, (_, i) => `cached ${i}`);
    const own = names.filter((name) => chosen(name) === addresses[0]);
    const others = names.filter((name) => chosen(name) !== addresses[0]);
    expect([own.length > 0, others.length > 0]).toEqual([true, true]);
    for (const name of others) {
      // The first calls may come before the other executors have greeted.
      await expect.poll(async () => ranBy((await read(gateway, name)) as string)).toHaveLength(1);
    }
    ownRuns.length = 0;
    for (const name of names) await read(gateway, name);
    expect(ownRuns).toEqual(own);
  });
});

describe('statistics', () => {
  beforeEach(startAll);
  afterEach(stopAll);

  const readAll = async () => {
    const [gateway] = gateways;
    const ctx = createCallContext({ timeoutMs: 60_000, principal });
    const { queries, missing, executors } = (await gateway?.readStatistics({ queryIds: [] }, ctx)) ?? {};
    const calls = queries?.reduce((sum, { lastHour }) => sum + (lastHour?.calls ?? 0), 0);
    return { calls, missing, names: executors?.map(({ name }) => name) };
  };

  it('are the sum over all executors', async () => {
    for (const name of warm) await readFromAll(name, 2);
    expect(new Set(warm.flatMap(ranBy)).size).toBe(3);
    expect(await readAll()).toEqual({
      calls: 6 * warm.length,
      missing: [],
      names: ['executor-1', 'executor-2', 'executor-3'],
    });
  });

  it('name the executors that hang or are gone, and have the figures of the others', async () => {
    const order = servers
      .map(({ port }, i) => ({ port: `${port}`, i }))
      .sort((a, b) => (a.port < b.port ? -1 : 1));
    const [first, second, third] = order.map(({ i }) => i) as [number, number, number];
    for (const name of warm) await readFromAll(name, 2);
    hanging.add(ran[first] as Map<string, number>);
    await servers[third]?.close(0, () => {});
    // The one that hangs never answers.
    expect(await readAll()).toEqual({
      calls: [...(ran[second]?.values() ?? [])].reduce((sum, count) => sum + count, 0),
      missing: ['executor-1', 'executor-3'],
      names: ['executor-2'],
    });
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
