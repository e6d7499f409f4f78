/**
 * An `Executor` over all replicas of the executor service, with one channel and one session for each. An execution goes
 * to the replica with the fewest executions in flight, or to the one that caches the answers of its query.
 */

import type { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import type { CallContext, Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import { openReplicas } from '@datahub/service-kit/grpc/replicas';
import { createCachedQueries, scoreOf } from './cached-queries.ts';
import { executorService } from './codec.ts';
import { type Executor, Rerouted } from './executor.ts';
import { mergeStatistics } from './fleet-statistics.ts';
import { NotSentError, openSession, type Session } from './session-client.ts';

export interface RemoteExecutorOptions extends Omit<GrpcClientOptions, 'address'> {
  /** Each is `host:port`. A host name stands for all its addresses. */
  addresses: string[];
  onDown: (err: unknown) => void;
}

interface Replica {
  client: GrpcClient<typeof ExecutorServiceService>;
  session: Session | undefined;
  /** The earliest time for a new session, in milliseconds of `performance.now()`. */
  retryAt: number;
}

const retryDelayMs = 200;
/** An executor that takes longer is missing in the statistics. */
const statisticsTimeoutMs = 1_500;
/** Higher than any `scoreOf`. */
const greetedScore = 2 ** 32;

export async function openRemoteExecutor(
  options: RemoteExecutorOptions,
): Promise<Executor & { close(): void }> {
  const replicas = await openReplicas<Replica>({
    addresses: options.addresses,
    open: (address, host) => openReplica({ ...options, address, serverName: options.serverName ?? host }),
    close: closeReplica,
    isIdle: ({ session }) => (session?.pending ?? 0) === 0,
  });
  const cachedQueries = createCachedQueries();
  const { pick, pickFor } = createPicker(replicas.current, options);
  let turn = 0;

  const anyClient = (): Calls<typeof ExecutorServiceService> => {
    const all = [...replicas.current.values()];
    const replica = all[turn++ % Math.max(1, all.length)];
    if (replica === undefined) throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.');
    return replica.client.calls;
  };

  return {
    execute: async (request, ctx, reply) => {
      const query = `${ctx.principal?.accountId} ${request.queryId}`;
      for (let tries = 2 * replicas.current.size; ; tries--) {
        const isAlone = replicas.current.size === 1;
        try {
          if (isAlone) return await pick().execute(request, ctx, reply);
          if (cachedQueries.has(query)) return await pickFor(query).execute(request, ctx, reply);
          return await pick().execute({ ...request, reroutable: true }, ctx, reply);
        } catch (err) {
          if (err instanceof Rerouted) cachedQueries.add(query);
          else if (!(err instanceof NotSentError)) throw err;
          if (tries <= 1 || ctx.signal.aborted) throw err;
        }
      }
    },
    testSource: async (request, ctx) => anyClient().testSource(request, ctx),
    readSchema: async (request, ctx) => anyClient().readSchema(request, ctx),
    describeQuery: async (request, ctx) => anyClient().describeQuery(request, ctx),
    checkSource: async (request, ctx) => anyClient().checkSource(request, ctx),
    checkQuery: async (request, ctx) => anyClient().checkQuery(request, ctx),
    fetchIssuerKeys: async (request, ctx) => anyClient().fetchIssuerKeys(request, ctx),
    readStatistics: async (request, ctx) => {
      const one = withTimeout(ctx, statisticsTimeoutMs);
      const addresses = [...replicas.current.keys()].sort();
      const answers = await Promise.all(
        addresses.map((address) =>
          replicas.current
            .get(address)
            ?.client.calls.readStatistics(request, one)
            .catch(() => undefined),
        ),
      );
      // Callers must not learn addresses.
      return mergeStatistics(new Map(answers.map((answer, i) => [`executor-${i + 1}`, answer])));
    },
    close: replicas.close,
  };
}

function withTimeout(ctx: CallContext, timeoutMs: number): CallContext {
  const { principal, requestId, traceparent, signal } = ctx;
  const deadlineAt = Math.min(ctx.deadlineAt, performance.now() + timeoutMs);
  return { principal, requestId, traceparent, deadlineAt, signal };
}

function createPicker(replicas: ReadonlyMap<string, Replica>, options: RemoteExecutorOptions) {
  let picks = 0;

  /** Returns the least busy replica that accepts calls; round-robin among equals. */
  const pick = (): Session => {
    picks++;
    let best: Session | undefined;
    let equals = 0;
    for (const replica of replicas.values()) {
      const session = sessionOf(replica, options);
      if (session === undefined) continue;
      const order = best === undefined ? -1 : compare(session, best);
      if (order > 0) continue;
      equals = order < 0 ? 1 : equals + 1;
      // Of n equals, the last one is chosen in every nth pick, and the others equally often by the same rule.
      if (picks % equals === 0) best = session;
    }
    return best ?? noneLeft();
  };

  /** Returns the replica that caches the answers of a query, the same one for all gateways. */
  const pickFor = (query: string): Session => {
    let best: Session | undefined;
    let highest = -1;
    for (const [address, replica] of replicas) {
      const session = sessionOf(replica, options);
      if (session === undefined) continue;
      // A replica that has not answered yet is the last choice.
      const score = scoreOf(query, address) + (session.greeted ? greetedScore : 0);
      if (score <= highest) continue;
      highest = score;
      best = session;
    }
    return best ?? noneLeft();
  };
  return { pick, pickFor };
}

function noneLeft(): never {
  throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}

function openReplica(options: GrpcClientOptions): Replica {
  const client = createGrpcClient(executorService, { ...options, liveness: 'none' });
  return { client, session: undefined, retryAt: 0 };
}

function closeReplica(replica: Replica): void {
  replica.session?.close();
  replica.client.close();
}

function sessionOf(replica: Replica, { onDown }: RemoteExecutorOptions): Session | undefined {
  if (replica.session?.open) return replica.session;
  if (performance.now() < replica.retryAt) return undefined;
  const session = openSession(replica.client.calls, (err) => {
    if (err === undefined) return;
    replica.retryAt = performance.now() + retryDelayMs;
    onDown(err);
  });
  replica.session = session;
  return session;
}

/** Returns a negative number if the first is better: greeted sessions come first, then those with fewer calls. */
function compare(a: Session, b: Session): number {
  return a.greeted === b.greeted ? a.pending - b.pending : a.greeted ? -1 : 1;
}
