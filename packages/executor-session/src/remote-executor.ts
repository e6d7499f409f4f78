/**
 * An `Executor` over all replicas of the executor service, with one channel and one session for each. An execution goes
 * to the replica in this process, else to the first one that its source has in the order of rendezvous hashing, and to
 * further ones while that is busy, or to the one that caches the answers of its query.
 */

import type { ExecutorServiceService, ReadStatisticsRequest } from '@datahub/proto/executor/v1/executor';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import type { GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import { ReplicaHealth } from '@datahub/service-kit/grpc/replica-health';
import { openReplicas, type Replicas } from '@datahub/service-kit/grpc/replicas';
import {
  closeServiceReplica,
  isServing,
  openServiceReplica,
  type ReplicatedClient,
  type ServiceReplica,
} from '@datahub/service-kit/grpc/replicated-client';
import { LRUCache } from 'lru-cache';
import { createCachedQueries, scoreOf } from './cached-queries.ts';
import { executorService } from './codec.ts';
import { type Executor, Rerouted } from './executor.ts';
import { type FleetStatistics, mergeStatistics } from './fleet-statistics.ts';
import { type ExecutorSession, NotSentError, openSession } from './session-client.ts';

export interface RemoteExecutorOptions extends Omit<GrpcClientOptions, 'address'> {
  /** Each is `host:port`. A host name stands for all its addresses. */
  addresses: string[];
  onDown: (err: unknown) => void;
  /** The executor in this process. Its address is one of `addresses`. */
  local?: LocalExecutor | undefined;
}

export interface LocalExecutor {
  address: string;
  executor: Omit<Executor, 'readStatistics'>;
  readStatistics: ExecutorCalls['readStatistics'];
}

type ExecutorCalls = Calls<typeof ExecutorServiceService>;

interface Replica extends Omit<ServiceReplica<typeof ExecutorServiceService>, 'calls' | 'avoidedUntil'> {
  calls: Omit<ExecutorCalls, 'execute' | 'session'>;
  session: ExecutorSession | undefined;
  /** Opens another session after the last one has ended. */
  openSession: (onEnd: (err: unknown) => void) => ExecutorSession;
  /** The earliest time for a new session, in milliseconds of `performance.now()`. */
  retryAt: number;
}

const retryDelayMs = 200;
const openEveryMs = 250;
/** An executor that takes longer is missing in the statistics. */
const statisticsTimeoutMs = 1_500;
/** Higher than any `scoreOf`. */
const greetedScore = 2 ** 32;

export async function openRemoteExecutor(
  options: RemoteExecutorOptions,
): Promise<Executor & Pick<ReplicatedClient<unknown>, 'isServing' | 'close'>> {
  const replicas = await openExecutors(options);
  // Executions in this process open no session, but the first one whose answers another replica caches needs it.
  const opening =
    options.local && setInterval(() => openSessions(replicas.current, options), openEveryMs).unref();
  const cachedQueries = createCachedQueries();
  const sources = createQuerySources();
  const { pickOnly, pickFor, pickForSource, callsFor, anyCalls } = createPicker(replicas.current, options);

  return {
    execute: async (request, ctx, reply) => {
      // All steps of a transaction have one source.
      const { transaction } = request;
      const queryId = transaction?.steps[0]?.queryId ?? request.queryId;
      const query = `${ctx.principal?.accountId} ${queryId}`;
      for (let tries = 2 * replicas.current.size; ; tries--) {
        const isAlone = replicas.current.size === 1;
        const known = request.draft ?? sources.get(query);
        const isOne = transaction === undefined;
        // The executor refuses the call if the query writes by now. A load always writes.
        const mayOnlyRead = isOne && request.load === undefined;
        let onlyReads =
          request.onlyReads || (mayOnlyRead && known !== undefined && 'reads' in known && known.reads);
        const asking = { ...request, onlyReads, tellSource: known === undefined && isOne };
        const isKnown = onlyReads;
        if (known === undefined)
          reply.source = (sourceId, reads) => {
            sources.set(query, { sourceId, reads });
            onlyReads ||= reads;
          };
        try {
          if (isAlone) return await pickOnly().execute(asking, ctx, reply);
          if (isOne && cachedQueries.has(query)) return await pickFor(query).execute(asking, ctx, reply);
          const session = pickForSource(known?.sourceId ?? query);
          return await session.execute({ ...asking, reroutable: true }, ctx, reply);
        } catch (err) {
          if (err instanceof Rerouted) cachedQueries.add(query);
          else if (isKnown && !request.onlyReads && isRefused(err)) sources.delete(query);
          else if (!(err instanceof NotSentError)) throw onlyReads ? toRepeatable(err) : err;
          if (tries <= 1 || ctx.signal.aborted) throw err;
        }
      }
    },
    testSource: async (request, ctx) => callsFor(request.sourceId).testSource(request, ctx),
    readSchema: async (request, ctx) => callsFor(request.sourceId).readSchema(request, ctx),
    describeQuery: async (request, ctx) =>
      callsFor(sources.get(`${ctx.principal?.accountId} ${request.queryId}`)?.sourceId).describeQuery(
        request,
        ctx,
      ),
    checkSource: async (request, ctx) => callsFor(request.sourceId).checkSource(request, ctx),
    checkQuery: async (request, ctx) => callsFor(request.sourceId).checkQuery(request, ctx),
    findCommit: async (request, ctx) => callsFor(request.sourceId).findCommit(request, ctx),
    fetchIssuerKeys: async (request, ctx) => anyCalls().fetchIssuerKeys(request, ctx),
    fetchClientDocument: async (request, ctx) => anyCalls().fetchClientDocument(request, ctx),
    readStatistics: (request, ctx) => readAllStatistics(replicas.current, request, ctx),
    isServing: (timeoutMs) => isServing(replicas.current.values(), timeoutMs),
    close: () => {
      clearInterval(opening);
      replicas.close();
    },
  };
}

async function openExecutors(options: RemoteExecutorOptions): Promise<Replicas<Replica>> {
  const replicas: Replicas<Replica> = await openReplicas({
    addresses: options.addresses,
    open: (address, host) =>
      address === options.local?.address
        ? localReplica(options.local)
        : openReplica(() => replicas.current, {
            ...options,
            address,
            serverName: options.serverName ?? host,
          }),
    close: (replica) => {
      replica.session?.close();
      closeServiceReplica(replica);
    },
    isIdle: ({ health }) => health.isIdle,
  });
  return replicas;
}

async function readAllStatistics(
  replicas: ReadonlyMap<string, Replica>,
  request: ReadStatisticsRequest,
  ctx: CallContext,
): Promise<FleetStatistics> {
  const one = withTimeout(ctx, statisticsTimeoutMs);
  const all = [...replicas].sort(([a], [b]) => (a < b ? -1 : 1));
  const answers = await Promise.all(
    all.map(([, { calls }]) => calls.readStatistics(request, one).catch(() => undefined)),
  );
  // Callers must not learn addresses.
  return mergeStatistics(new Map(answers.map((answer, i) => [`executor-${i + 1}`, answer])));
}

function openSessions(replicas: ReadonlyMap<string, Replica>, options: RemoteExecutorOptions): void {
  for (const replica of replicas.values()) sessionOf(replica, options);
}

function withTimeout(ctx: CallContext, timeoutMs: number): CallContext {
  const { principal, requestId, traceparent, signal } = ctx;
  const deadlineAt = Math.min(ctx.deadlineAt, performance.now() + timeoutMs);
  return { principal, requestId, traceparent, deadlineAt, signal };
}

function createPicker(replicas: ReadonlyMap<string, Replica>, options: RemoteExecutorOptions) {
  let turn = 0;
  const own = () => options.local && replicas.get(options.local.address);

  const pickOnly = (): ExecutorSession => {
    for (const replica of replicas.values()) {
      const session = sessionOf(replica, options);
      if (session !== undefined) return session;
    }
    return noneLeft();
  };

  /** Returns the replica that caches the answers of a query, the same one for all gateways. */
  const pickFor = (query: string): ExecutorSession => {
    let best: ExecutorSession | undefined;
    let highest = -1;
    for (const [address, replica] of replicas) {
      const session = sessionOf(replica, options);
      if (session === undefined) continue;
      // A replica that does not answer is the last choice.
      const score = scoreOf(query, address) + (answers(replica) ? greetedScore : 0);
      if (score <= highest) continue;
      highest = score;
      best = session;
    }
    return best ?? noneLeft();
  };

  /** Returns the first replica for the source. While it is busy, the calls are shared with those that follow. */
  const pickForSource = (sourceId: string): ExecutorSession => {
    const local = own()?.session;
    if (local?.open) return local;
    const first = pickFor(sourceId);
    return first.busy && first.greeted ? (pickAmongFirst(replicas, sourceId) ?? first) : first;
  };

  /** Calls outside of sessions, at the replica that has the connections of the source. */
  const callsFor = (sourceId: string | undefined): Replica['calls'] => {
    if (sourceId === undefined || own() !== undefined) return anyCalls();
    let best: Replica | undefined;
    let highest = -1;
    for (const [address, replica] of replicas) {
      const score = scoreOf(sourceId, address) + (answers(replica) ? greetedScore : 0);
      if (score <= highest) continue;
      highest = score;
      best = replica;
    }
    return best?.calls ?? anyCalls();
  };

  const anyCalls = (): Replica['calls'] => {
    const all = [...replicas.values()];
    turn++;
    const inTurn = all.map((_, i) => all[(turn + i) % all.length] as Replica);
    const replica = own() ?? inTurn.find(({ health }) => !health.isEjected) ?? inTurn[0];
    if (replica === undefined) throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.');
    return replica.calls;
  };
  return { pickOnly, pickFor, pickForSource, callsFor, anyCalls };
}

/** Returns the one with the fewest calls, of the first replicas up to one that is not busy. */
function pickAmongFirst(
  replicas: ReadonlyMap<string, Replica>,
  sourceId: string,
): ExecutorSession | undefined {
  const ranked: { session: ExecutorSession; score: number }[] = [];
  for (const [address, replica] of replicas) {
    const { session } = replica;
    if (session?.open && answers(replica)) ranked.push({ session, score: scoreOf(sourceId, address) });
  }
  ranked.sort((a, b) => b.score - a.score);
  const calm = ranked.findIndex(({ session }) => !session.busy);
  const first = calm === -1 ? ranked : ranked.slice(0, calm + 1);
  const pending = Math.min(...first.map(({ session }) => session.pending));
  return first.find(({ session }) => session.pending === pending)?.session;
}

const answers = ({ session, health }: Replica) =>
  session?.open === true && session.greeted && !health.isEjected;

function noneLeft(): never {
  throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}

function openReplica(all: () => ReadonlyMap<string, Replica>, options: GrpcClientOptions): Replica {
  const replica = openServiceReplica(executorService, all, { ...options, liveness: 'none' });
  return {
    ...replica,
    session: undefined,
    openSession: (onEnd) => openSession(replica.client.calls, onEnd, replica.health),
    retryAt: 0,
  };
}

/** Its executions need no session, so none of them is counted. */
function localReplica({ executor, readStatistics }: LocalExecutor): Replica {
  const probe = async () => 'serving' as const;
  const session: ExecutorSession = {
    open: true,
    greeted: true,
    busy: false,
    pending: 0,
    execute: executor.execute,
    close: () => {},
  };
  return {
    calls: { ...executor, readStatistics },
    client: { probe, close: () => {} },
    health: new ReplicaHealth({ probe, mayEject: () => false }),
    session,
    openSession: () => session,
    retryAt: 0,
  };
}

function sessionOf(replica: Replica, { onDown }: RemoteExecutorOptions): ExecutorSession | undefined {
  if (replica.session?.open) return replica.session;
  if (performance.now() < replica.retryAt) return undefined;
  const session = replica.openSession((err) => {
    if (err === undefined) return;
    replica.retryAt = performance.now() + retryDelayMs;
    onDown(err);
  });
  replica.session = session;
  return session;
}

const queriesMax = 20_000;
/** After this time, a query that was bound to another source is noticed. */
const rememberedMs = 300_000;

interface QuerySource {
  sourceId: string;
  /** True if the query only reads. */
  reads: boolean;
}

/** By the account and the query. */
const createQuerySources = () =>
  new LRUCache<string, QuerySource>({ max: queriesMax, ttl: rememberedMs, ttlResolution: 1_000 });

const isRefused = (err: unknown) => err instanceof HubError && err.code === 'OPTION_REFUSED';

/** The error of a read whose answer was lost. */
function toRepeatable(err: unknown): unknown {
  if (!(err instanceof HubError) || err.lost !== true) return err;
  const { code, message, retryable = true } = err;
  return new HubError(code, message, { cause: err, retryable });
}
