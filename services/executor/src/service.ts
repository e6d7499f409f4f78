/** The composition of the executor: definitions, pools, engines and the pipeline, bound to a catalog. */

import type { EngineName } from '@datahub/contract/engines';
import type { Executor } from '@datahub/executor-session/executor';
import type { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import type { Opener } from '@datahub/sealing/opener';
import type { Calls } from '@datahub/service-kit/call/call';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { ExecutorConfig } from './config.ts';
import { unseal } from './credentials/unseal.ts';
import { createDefinitions, type SourceDefinition } from './definitions/definition-cache.ts';
import type { Connection, Engine, Learned } from './engine.ts';
import { type CompileQuery, compileOnce } from './execution/compiled-query.ts';
import { createDescribeCalls } from './execution/describe.ts';
import { createExecute, type ExecuteDeps } from './execution/execute.ts';
import { createSourceCalls } from './execution/source-checks.ts';
import { createAddressPolicy, type Resolve } from './network/address-policy.ts';
import { createDial, type Dial } from './network/dialer.ts';
import { createResolve } from './network/resolver.ts';
import { createServiceResolve, type ServiceResolve } from './network/service-names.ts';
import { defaultBreakerSettings } from './pool/circuit-breaker.ts';
import { createPoolRegistry } from './pool/pool-registry.ts';
import { createExecutorEvents } from './telemetry/events.ts';

/** What the executor asks of the catalog, in the same process or over gRPC. */
export type Catalog = Omit<Calls<typeof CatalogInternalServiceService>, 'watch'>;

export interface ExecutorDeps {
  logger: Logger;
  catalog: Catalog;
  /** Follows the catalog's changes until closed; `letGo` returns when nothing old can come back. */
  follow(news: { letGo(ids: readonly string[]): void; onLost(err: unknown): void }): {
    close(): Promise<void>;
  };
  opener: Opener;
  engines: Readonly<Record<EngineName, Engine>>;
  compile: CompileQuery;
  createAnswer: ExecuteDeps['createAnswer'];
  tracing?: Tracing | undefined;
  /** Name servers and the system unless given. */
  resolve?: Resolve;
  /** Name servers unless given. */
  resolveService?: ServiceResolve;
}

export interface ExecutorService {
  executor: Executor;
  /** In the text form of Prometheus. */
  metrics(): string;
  onFailure(err: unknown, requestId: string): void;
  /** Executions that have a connection, or wait for one. */
  underWay(): number;
  /** Sends the lines away, waits `graceMs` for what runs, then cuts it. */
  close(graceMs: number): Promise<void>;
}

/** A store that fails over is away for a few seconds. */
const resolveTimeoutMs = 5_000;
const renewTimeoutMs = 1_000;
const now = () => performance.now();

export function openExecutor(config: ExecutorConfig, deps: ExecutorDeps): ExecutorService {
  const { catalog } = deps;
  const definitions = createDefinitions({
    catalog,
    now,
    heldMax: config.definitionsMax,
    awayMaxMs: config.awayMaxMs,
    resolveTimeoutMs,
    renewTimeoutMs,
  });
  const policy = createAddressPolicy(config.addresses, deps.resolve ?? createResolve());
  const engines = Object.values(deps.engines);
  const owns = (address: string, port: number) =>
    engines.some((engine) => engine.owns?.(address, port) ?? false);
  const dialling = { policy, connectTimeoutMs: config.pool.connectTimeoutMs, owns };
  const connect = createConnect(deps, {
    rowBytesMax: config.rowBytesMax,
    newDial: (accountId) => createDial({ ...dialling, accountId }),
    resolveService: deps.resolveService ?? createServiceResolve(),
  });
  const pools = createPoolRegistry<SourceDefinition>({
    open: async (source, signal) => {
      const startedAt = now();
      try {
        const connection = await connect(source, signal);
        events.connected(source, now() - startedAt);
        return connection;
      } catch (err) {
        events.connected(source, now() - startedAt, err);
        throw err;
      }
    },
    pool: config.pool,
    breaker: defaultBreakerSettings,
    limits: config.connections,
    now,
    random: Math.random,
  });
  const events = createExecutorEvents({
    logger: deps.logger,
    poolStats: () => pools.stats,
    slowMs: config.slowMs,
    tracing: deps.tracing,
  });
  const compile = compileOnce(deps.compile);
  const asking = { definitions, pools, now, timeoutMs: config.executions.statementTimeoutMs };
  const following = deps.follow({ letGo: definitions.letGo, onLost: events.watchLost });

  return {
    executor: {
      execute: createExecute({
        definitions,
        pools,
        compile,
        createAnswer: deps.createAnswer,
        limits: config.executions,
        events,
        tracing: deps.tracing,
        now,
      }),
      ...createSourceCalls(asking),
      ...createDescribeCalls({ ...asking, catalog, compile }),
    },
    metrics: events.metrics,
    onFailure: events.unexpected,
    underWay: () => pools.stats.busy + pools.stats.waiting,
    close: async (graceMs) => {
      await pools.close(graceMs);
      await following.close();
    },
  };
}

interface Connecting {
  newDial: (accountId: string) => Dial;
  resolveService: ServiceResolve;
  rowBytesMax: number;
}

/** Opens the credentials and a connection; the plain secrets live in this call alone. */
function createConnect(
  { engines, opener }: Pick<ExecutorDeps, 'engines' | 'opener'>,
  { newDial, resolveService, rowBytesMax }: Connecting,
) {
  // A pool holds one definition as long as its settings stay.
  const learnedOf = new WeakMap<SourceDefinition, Learned>();
  return async (source: SourceDefinition, signal: AbortSignal): Promise<Connection> => {
    const learned = learnedOf.get(source) ?? {};
    learnedOf.set(source, learned);
    const { accountId } = source;
    return engines[source.engine].connect(await unseal(source, opener), {
      dial: newDial(accountId),
      resolveService: (service, name, asking) => resolveService(service, name, { accountId, signal: asking }),
      signal,
      rowBytesMax,
      learned,
    });
  };
}
