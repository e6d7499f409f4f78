/**
 * The calls of a service with several replicas. They go round-robin to those that answer. A call that a replica did not
 * get goes to the next one, and so does one whose answer is missing if it may be repeated.
 */

import { onAbort } from '../call/abort.ts';
import { type CallContext, CallStop, type Calls, type ServiceDescription } from '../call/call.ts';
import { HubError } from '../call/error.ts';
import { createGrpcClient, type GrpcClient, type GrpcClientOptions } from './client.ts';
import { ReplicaHealth } from './replica-health.ts';
import { openReplicas, type Replicas } from './replicas.ts';

export interface ReplicatedClientOptions extends Omit<GrpcClientOptions, 'address'> {
  /** Each is `host:port`. A host name stands for all its addresses. */
  addresses: readonly string[];
  /** True for a method that may run twice. */
  mayRepeat: (method: string) => boolean;
}

export interface ReplicatedClient<Service> {
  /** Only of unary methods. */
  calls: Calls<Service>;
  /** True if a replica says within the time that it serves. */
  isServing(timeoutMs: number): Promise<boolean>;
  close(): void;
}

/** A replica, and what is known of it. */
export interface ServiceReplica<Service> {
  client: Pick<GrpcClient<Service>, 'probe' | 'close'>;
  /** Of unary methods. They end if the replica is ejected. */
  calls: Calls<Service>;
  health: ReplicaHealth;
  /** After a call that could not be sent, others are preferred for a moment. */
  avoidedUntil: number;
}

const avoidedMs = 1_000;

export async function openReplicatedClient<Service extends object>(
  service: Service,
  { addresses, mayRepeat, ...options }: ReplicatedClientOptions,
): Promise<ReplicatedClient<Service>> {
  const replicas: Replicas<ServiceReplica<Service>> = await openReplicas({
    addresses,
    open: (address, host) =>
      openServiceReplica(service, () => replicas.current, {
        ...options,
        address,
        serverName: options.serverName ?? host,
      }),
    isIdle: ({ health }) => health.isIdle,
    close: closeServiceReplica,
  });
  return {
    calls: callReplicas(service, replicas.current, mayRepeat),
    isServing: (timeoutMs) => isServing(replicas.current.values(), timeoutMs),
    close: replicas.close,
  };
}

export function openServiceReplica<Service extends object>(
  service: Service,
  all: () => ReadonlyMap<string, Pick<ServiceReplica<Service>, 'health'>>,
  options: GrpcClientOptions,
): ServiceReplica<Service> & { client: GrpcClient<Service> } {
  const client = createGrpcClient(service, options);
  const mayEject = () => mayEjectOneOf([...all().values()].map(({ health }) => health.isEjected));
  const health = new ReplicaHealth({ probe: client.probe, mayEject });
  const calls = mapUnary(service, (name) => watched(client.calls[name] as Call, health));
  return { client, calls, health, avoidedUntil: 0 };
}

export function closeServiceReplica({
  health,
  client,
}: Pick<ServiceReplica<object>, 'health' | 'client'>): void {
  health.close();
  client.close();
}

/** Never the last replica, and never more than half of them. */
const mayEjectOneOf = (areEjected: readonly boolean[]): boolean =>
  2 * (areEjected.filter((is) => is).length + 1) <= areEjected.length;

/** Resolves as soon as one of them serves. */
export async function isServing(
  all: Iterable<{ client: Pick<GrpcClient<unknown>, 'probe'> }>,
  timeoutMs: number,
): Promise<boolean> {
  const served = [...all].map(async ({ client }) => {
    if ((await client.probe(timeoutMs)) !== 'serving') throw new Error('not serving');
  });
  return Promise.any(served).then(
    () => true,
    () => false,
  );
}

/** The unary calls of a service over its replicas, which may change. */
export function callReplicas<Service extends object>(
  service: Service,
  replicas: ReadonlyMap<string, ServiceReplica<Service>>,
  mayRepeat: (method: string) => boolean,
): Calls<Service> {
  const picker = createPicker(replicas);
  const callOne = (method: keyof Service & string) => async (request: unknown, ctx: CallContext) => {
    const tried = new Set<ServiceReplica<Service>>();
    let failure: unknown = new HubError('UNAVAILABLE', 'A service cannot be reached. Try again.', {
      retryable: true,
      retryAfterMs: 1_000,
    });
    for (let next = picker(tried); next !== undefined; next = picker(tried)) {
      tried.add(next);
      try {
        return await (next.calls[method] as Call)(request, ctx);
      } catch (err) {
        if (!(err instanceof HubError) || err.code !== 'UNAVAILABLE') throw err;
        if (!err.lost) next.avoidedUntil = performance.now() + avoidedMs;
        if (err.lost && !mayRepeat(method)) throw err;
        if (ctx.signal.aborted || performance.now() >= ctx.deadlineAt) throw err;
        failure = err;
      }
    }
    throw failure;
  };
  return mapUnary(service, callOne);
}

/** Returns the next replica that was not tried; those that are ejected or could not be reached come last. */
function createPicker<Service>(replicas: ReadonlyMap<string, ServiceReplica<Service>>) {
  let turn = 0;
  return (tried: ReadonlySet<ServiceReplica<Service>>): ServiceReplica<Service> | undefined => {
    const all = [...replicas.values()];
    const now = performance.now();
    turn++;
    let best: { replica: ServiceReplica<Service>; rank: number } | undefined;
    for (let i = 0; i < all.length; i++) {
      const replica = all[(turn + i) % all.length] as ServiceReplica<Service>;
      if (tried.has(replica)) continue;
      const rank = replica.health.isEjected ? 2 : now < replica.avoidedUntil ? 1 : 0;
      if (best === undefined || rank < best.rank) best = { replica, rank };
    }
    return best?.replica;
  };
}

/** The calls of all methods that do not stream. */
function mapUnary<Service extends object>(
  service: Service,
  make: (name: keyof Service & string) => Call,
): Calls<Service> {
  const names = Object.keys(service).filter(
    (name) => !(service as unknown as ServiceDescription)[name]?.responseStream,
  );
  return Object.fromEntries(
    names.map((name) => [name, make(name as keyof Service & string)]),
  ) as Calls<Service>;
}

type Call = (request: unknown, ctx: CallContext) => Promise<unknown>;

const watched =
  (call: Call, health: ReplicaHealth): Call =>
  async (request, { principal, requestId, operation, traceparent, deadlineAt, signal }) => {
    const stop = new CallStop();
    using _leaving = onAbort(signal, () => stop.abort(signal.reason));
    let isCut = false;
    const end = health.wait(() => {
      isCut = true;
      stop.abort(undefined);
    });
    const ctx = { principal, requestId, operation, traceparent, deadlineAt, signal: stop };
    try {
      const response = await call(request, ctx);
      health.heard();
      return response;
    } catch (err) {
      if (isCut) throw unanswered(err);
      if (!(err instanceof HubError && err.code === 'UNAVAILABLE')) health.heard();
      throw err;
    } finally {
      end();
    }
  };

const unanswered = (cause: unknown) =>
  new HubError('UNAVAILABLE', 'A service does not respond. Try again.', {
    cause,
    retryable: true,
    retryAfterMs: 1_000,
    lost: true,
  });
