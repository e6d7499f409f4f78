/**
 * An `Executor` over all replicas of the executor service: one channel and one session each, every execution goes where
 * the fewest are under way. Replicas are looked up again every few seconds, so traffic follows them as they come and go.
 */

import { lookup } from 'node:dns/promises';
import type { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import type { Calls } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from '@datahub/service-kit/grpc/client';
import { executorService } from './codec.ts';
import type { Executor } from './executor.ts';
import { NotSent, openSession, type Session } from './session-client.ts';

export interface RemoteExecutorOptions extends Omit<GrpcClientOptions, 'address'> {
  /** `host:port` each; a name stands for all its addresses. */
  addresses: string[];
  onDown: (err: unknown) => void;
}

interface Replica {
  client: GrpcClient<typeof ExecutorServiceService>;
  session: Session | undefined;
  /** No new session before this moment of `performance.now()`. */
  retryAt: number;
}

const lookUpEveryMs = 2_000;
const retryDelayMs = 200;

export async function openRemoteExecutor(
  options: RemoteExecutorOptions,
): Promise<Executor & { close(): void }> {
  const replicas = new Map<string, Replica>();
  const retiring = new Set<Replica>();
  let turn = 0;
  let closed = false;

  const follow = async () => {
    const found = await lookUp(options.addresses);
    if (closed || found.size === 0) return;
    for (const address of found) {
      if (!replicas.has(address)) replicas.set(address, createReplica(options, address));
    }
    for (const [address, replica] of replicas) {
      if (found.has(address)) continue;
      replicas.delete(address);
      retiring.add(replica);
    }
    for (const replica of retiring) {
      if ((replica.session?.pending ?? 0) > 0) continue;
      retiring.delete(replica);
      shut(replica);
    }
  };

  /** The least busy replica that can take calls; where several are alike, each in turn. */
  const pick = (): Session => {
    turn++;
    let best: Session | undefined;
    let alike = 0;
    for (const replica of replicas.values()) {
      const session = sessionOf(replica, options);
      if (session === undefined) continue;
      const order = best === undefined ? -1 : compare(session, best);
      if (order > 0) continue;
      alike = order < 0 ? 1 : alike + 1;
      // Of so many alike the last one is taken each so many turns, of those before it the same.
      if (turn % alike === 0) best = session;
    }
    if (best !== undefined) return best;
    throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.', {
      retryable: true,
      retryAfterMs: 1_000,
    });
  };

  const anyClient = (): Calls<typeof ExecutorServiceService> => {
    const all = [...replicas.values()];
    const replica = all[turn++ % Math.max(1, all.length)];
    if (replica === undefined) throw new HubError('UNAVAILABLE', 'No executor can be reached. Try again.');
    return replica.client.calls;
  };

  await follow();
  const timer = setInterval(() => follow().catch(options.onDown), lookUpEveryMs);
  timer.unref();
  return {
    execute: async (request, ctx, reply) => {
      for (let tries = 2 * replicas.size; ; tries--) {
        try {
          return await pick().execute(request, ctx, reply);
        } catch (err) {
          if (!(err instanceof NotSent) || tries <= 1 || ctx.signal.aborted) throw err;
        }
      }
    },
    testSource: async (request, ctx) => anyClient().testSource(request, ctx),
    readSchema: async (request, ctx) => anyClient().readSchema(request, ctx),
    describeQuery: async (request, ctx) => anyClient().describeQuery(request, ctx),
    close: () => {
      closed = true;
      clearInterval(timer);
      for (const replica of [...replicas.values(), ...retiring]) shut(replica);
    },
  };
}

function createReplica(options: RemoteExecutorOptions, address: string): Replica {
  const client = createGrpcClient(executorService, {
    ...options,
    address,
    keepalive: false,
    serverName: options.serverName ?? hostOf(options.addresses[0]),
  });
  return { client, session: undefined, retryAt: 0 };
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

/** Negative where the first is better off: those that were greeted go first, then those with fewer calls. */
function compare(a: Session, b: Session): number {
  return a.greeted === b.greeted ? a.pending - b.pending : a.greeted ? -1 : 1;
}

function shut(replica: Replica): void {
  replica.session?.close();
  replica.client.close();
}

/** Certificates carry the service's name, not the addresses behind it. */
function hostOf(address: string | undefined): string | undefined {
  return address?.slice(0, address.lastIndexOf(':'));
}

/** Every address behind the names given; a name that cannot be looked up now is left out. */
async function lookUp(addresses: string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const address of addresses) {
    const at = address.lastIndexOf(':');
    const [host, port] = [address.slice(0, at), address.slice(at + 1)];
    const answers = await lookup(host, { all: true, family: 4 }).catch(() => []);
    for (const { address: ip } of answers) found.add(`${ip}:${port}`);
  }
  return found;
}
