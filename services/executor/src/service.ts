/** Composes the executor from definitions, pools, engines and the pipeline. */

import type { EngineName } from '@datahub/contract/engines';
import { serverName } from '@datahub/contract/source-settings';
import type { Executor } from '@datahub/executor-session/executor';
import { mergeStatistics } from '@datahub/executor-session/fleet-statistics';
import type { ReadStatisticsRequest, ReadStatisticsResponse } from '@datahub/proto/executor/v1/executor';
import type { Opener } from '@datahub/sealing/opener';
import { type CallContext, Deadlines, requirePrincipal, toAbortSignal } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createFairSemaphore } from '@datahub/service-kit/fair-semaphore';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { ExecutorConfig } from './config.ts';
import { createRdsTokens } from './credentials/rds-tokens.ts';
import { unseal } from './credentials/unseal.ts';
import type { WatchOptions } from './definitions/catalog-watch.ts';
import type { Catalog, SourceDefinition } from './definitions/definition.ts';
import { createDefinitions } from './definitions/definition-cache.ts';
import { startDeliveries } from './deliveries/delivery-runner.ts';
import { createMailer } from './deliveries/send-mail.ts';
import { KeptStatements } from './engines/shared/kept-statements.ts';
import { ResponseStore } from './execution/cached/response-store.ts';
import { type DriftWatch, type DriftWatchOptions, startDriftWatch } from './execution/drift-watch.ts';
import { createExecute, type ExecuteDeps } from './execution/execute.ts';
import { type CompileQuery, compileOnce } from './execution/prepare.ts';
import { createDescriber, createSourceCalls, type SourceDeps } from './execution/source-calls.ts';
import { createSourceReports } from './execution/source-reports.ts';
import { createFindCommit } from './execution/transactions/find-commit.ts';
import { createDiffSemaphore, createSchemaSemaphore } from './execution/turn.ts';
import { type AddressPolicy, createAddressPolicy, type Resolve } from './network/address-policy.ts';
import { fetchClientDocument } from './network/client-document.ts';
import { createDial, type Dial } from './network/dialer.ts';
import { fetchIssuerKeys } from './network/issuer-keys.ts';
import type { FetchDeps } from './network/json-object.ts';
import { type LoginAttempt, LoginAttempts } from './network/login-attempts.ts';
import { createLongRows } from './network/long-rows.ts';
import { createReplyRoom } from './network/reply-room.ts';
import { createResolve, createServiceResolve, type ServiceResolve } from './network/resolver.ts';
import { connectToBastion } from './network/ssh/connection.ts';
import { createTunnelDial, Tunnel } from './network/ssh/tunnel.ts';
import { defaultBreakerSettings } from './pool/circuit-breaker.ts';
import { createPoolRegistry } from './pool/pool-registry.ts';
import type { ConnectDeps, Connection, Engine, SourceFacts, SshSettings } from './ports/engine.ts';
import { SlotBook } from './slots/slot-book.ts';
import type { SlotClaim } from './slots/source-slots.ts';
import { QueryStatistics } from './statistics/query-statistics.ts';
import { createRunRecorder } from './statistics/run-recorder.ts';
import { createStatisticsRecorder } from './statistics/statistics-recorder.ts';
import { createExecutorEvents, type ExecutorEvents, type FailedFetch } from './telemetry/events.ts';

export interface ExecutorDeps {
  logger: Logger;
  catalog: Catalog;
  /** Watches the catalog for changes until it is closed. After `invalidate` has returned, no old definition is used. */
  follow(listeners: Pick<WatchOptions, 'invalidate' | 'onDeleted' | 'onLost'>): { close(): Promise<void> };
  /** Leases slots from the catalog until it is closed. */
  leaseSlots(book: SlotBook): { close(): Promise<void> };
  opener: Opener;
  engines: Readonly<Record<EngineName, Engine>>;
  compile: CompileQuery;
  createWriter: ExecuteDeps['createWriter'];
  tracing?: Tracing | undefined;
  /** Resolves names. By default it queries the name servers and the system. */
  resolve?: Resolve;
  /** Resolves SRV and TXT records. By default it queries the name servers. */
  resolveService?: ServiceResolve;
}

export interface ExecutorService {
  executor: Executor;
  /** Returns what this process counted. */
  readStatistics(request: ReadStatisticsRequest, ctx: CallContext): Promise<ReadStatisticsResponse>;
  /** Returns the metrics in Prometheus' text format. */
  metrics(): string;
  onFailure(err: unknown, requestId: string): void;
  /** Returns the number of executions that have a connection or wait for one. */
  inFlight(): number;
  /** Closes each connection that no execution waits for, so that other executors can have its slot. */
  drain(): void;
  /** Rejects waiting executions, waits `graceMs` for running ones, then closes their connections. */
  close(graceMs: number): Promise<void>;
}

/** Long enough for a store to fail over. */
const resolveTimeoutMs = 5_000;
/** A lease of a second is renewed after half of it. So a catalog that does not answer counts as down when the lease ends. */
const renewTimeoutMs = 500;
/** They take at most about 35 MB. */
const countedQueriesMax = 1_000;
const now = performance.now.bind(performance);

export function openExecutor(config: ExecutorConfig, deps: ExecutorDeps): ExecutorService {
  const { catalog, createWriter } = deps;
  const definitions = openDefinitions(config, catalog);
  const policy = createAddressPolicy(config.addresses, deps.resolve ?? createResolve());
  const dialFor = createDialFor(config, deps, policy);
  const answers = new ResponseStore({ bytesMax: config.cacheBytesMax });
  const book = new SlotBook({ now, onExpired: (pausedMs) => events.leaseEnded(pausedMs) });
  const { connect, logins } = createConnect(config, deps, { dialFor, policy, isAwake: book.isAwake });
  const { open, reports } = createOpen(connect, { catalog, events: () => events });
  const pools = openPools(config, book, open);
  const statistics = new QueryStatistics({ queriesMax: countedQueriesMax, now, nowMs: Date.now });
  const readStatistics: ExecutorService['readStatistics'] = async (request, ctx) =>
    statistics.read(request, requirePrincipal(ctx));
  const onFailure = (err: unknown) => events.unexpected(err, '');
  const runs = createRunRecorder({ catalog, nowMs: Date.now, onFailure });
  const events: ExecutorEvents = createExecutorEvents({
    logger: deps.logger,
    poolStats: () => pools.stats,
    slotStats: () => book.stats,
    cacheStats: () => answers,
    connectionsMax: config.connections.connectionsMax,
    brokenQueries: () => drift?.broken ?? 0,
    statistics: createStatisticsRecorder(statistics, runs),
    slowMs: config.slowMs,
    tracing: deps.tracing,
  });
  const compile = compileOnce(deps.compile);
  const { executions: limits, transfer } = config;
  const shared = { definitions, pools, compile, now, random: Math.random, deadlines: new Deadlines() };
  const turns = { diffs: createDiffSemaphore(), schemas: createSchemaSemaphore() };
  const sourceDeps = { ...shared, catalog, nowMs: Date.now, createWriter, ...turns, ...ofSources(limits) };
  const drift = startDrift(config, sourceDeps, { usedSince: pools.usedSince, onFailure: events.driftFailed });
  const deliveries = config.delivers ? openDeliveries(deps, config.mail, { dialFor, events }) : undefined;
  const lease = deps.leaseSlots(book);
  const watch = deps.follow({
    invalidate: (ids) => {
      definitions.invalidate(ids);
      answers.invalidate(ids);
    },
    onDeleted: (ids) => statistics.remove(ids),
    onLost: events.watchLost,
  });

  return {
    executor: {
      execute: createExecute({ ...deps, ...shared, limits, transfer, answers, events }),
      ...createSourceCalls({ ...sourceDeps, checked: drift?.checked }),
      findCommit: createFindCommit(shared),
      ...createFetches(dialFor, events),
      readStatistics: async (request, ctx) =>
        mergeStatistics(new Map([['executor-1', await readStatistics(request, ctx)]])),
    },
    readStatistics,
    metrics: () => events.metrics() + (deliveries?.metrics() ?? ''),
    onFailure: events.unexpected,
    drain: () => pools.drain(),
    inFlight: () => pools.stats.busy + pools.stats.waiting,
    close: async (graceMs) => {
      // Closing the pools ends a description that is under way.
      await logins.stop(() =>
        Promise.all([drift?.close(), reports.close(), deliveries?.close(), pools.close(graceMs)]),
      );
      await runs.close();
      // The executor says that it leaves, so that others have its slots at once.
      await Promise.all([lease.close(), watch.close()]);
      book.close();
    },
  };
}

/** Deliveries are not of any request. */
const openDeliveries = (
  { catalog, opener }: ExecutorDeps,
  mail: ExecutorConfig['mail'],
  { dialFor, events }: { dialFor: DialFor; events: ExecutorEvents },
) =>
  startDeliveries({
    mailer: mail && createMailer(mail),
    catalog,
    dialFor,
    opener,
    nowMs: Date.now,
    onFailure: (err) => events.unexpected(err, ''),
    onMailFailure: events.mailFailed,
  });

const openPools = (config: ExecutorConfig, book: SlotBook, open: ReturnType<typeof createOpen>['open']) =>
  createPoolRegistry<SourceDefinition>({
    open,
    pool: config.pool,
    breaker: defaultBreakerSettings,
    limits: config.connections,
    slotsOf: (source, max) => book.of(toClaim(source, max)),
    now,
    random: Math.random,
  });

/** Every server that the source names counts, because the one that a connection reaches may change. */
function toClaim(
  { sourceId, accountId, host, port, servers, ssh }: SourceDefinition,
  max: number,
): SlotClaim {
  const all = [{ host, port }, ...(servers?.hosts ?? [])];
  // Each bastion has its own names.
  const via = ssh === undefined ? '' : `${ssh.host.toLowerCase()}:${ssh.port}>`;
  return {
    sourceId,
    accountId,
    max,
    servers: all.map((one) => `${via}${serverName(one.host, one.port)}`),
  };
}

const openDefinitions = ({ definitionsMax, staleMaxMs }: ExecutorConfig, catalog: Catalog) =>
  createDefinitions({
    catalog,
    now,
    cachedMax: definitionsMax,
    staleMaxMs,
    resolveTimeoutMs,
    renewTimeoutMs,
  });

function startDrift(
  { driftIntervalMs: intervalMs }: ExecutorConfig,
  deps: SourceDeps & { catalog: Catalog },
  options: Pick<DriftWatchOptions, 'usedSince' | 'onFailure'>,
): DriftWatch | undefined {
  if (intervalMs === 0) return undefined;
  const { definitions, catalog } = deps;
  const describer = createDescriber(deps, { background: true });
  return startDriftWatch({
    ...options,
    intervalMs,
    catalog,
    now,
    check: async (queryId, ctx) => {
      const query = await definitions.query(queryId, requirePrincipal(ctx), ctx);
      return query.source.engine === 'mongodb' || describer.check(query, ctx);
    },
  });
}

/** Opens the connections of pools, and reports each attempt. */
function createOpen(
  connect: ReturnType<typeof createConnect>['connect'],
  { catalog, events }: { catalog: Catalog; events: () => ExecutorEvents },
) {
  const reports = createSourceReports({ catalog, onFailure: (err) => events().unexpected(err, '') });
  const open = async (source: SourceDefinition, signal: AbortSignal): Promise<Connection> => {
    const startedAt = now();
    const note = (err?: unknown) => {
      events().connected(source, now() - startedAt, err);
      reports.note(source, err);
    };
    try {
      const connection = await connect(source, signal);
      note();
      return connection;
    } catch (err) {
      note(err);
      throw err;
    }
  };
  return { open, reports };
}

type DialFor = (accountId: string, logins?: LoginAttempt) => Dial;

/** Dials for an account, by the rules for addresses of this hub. */
function createDialFor(
  config: ExecutorConfig,
  { engines }: Pick<ExecutorDeps, 'engines'>,
  policy: AddressPolicy,
): DialFor {
  const dialling = {
    policy,
    connectTimeoutMs: config.pool.connectTimeoutMs,
    owns: (address: string, port: number) =>
      Object.values(engines).some((engine) => engine.owns?.(address, port) ?? false),
  };
  return (accountId, logins) => createDial({ ...dialling, accountId, logins });
}

const fetchBounds = { allMax: 64, accountMax: 8, waitingMax: 1_000 };

/** Fetches of what accounts and agents name by an address. They share their turns. */
function createFetches(
  dialFor: DialFor,
  events: ExecutorEvents,
): Pick<Executor, 'fetchIssuerKeys' | 'fetchClientDocument'> {
  const fetches = createFairSemaphore(fetchBounds);
  const fetchWith = async <T>(
    ctx: CallContext,
    event: FailedFetch,
    run: (deps: FetchDeps) => Promise<T>,
  ): Promise<T> => {
    const { accountId } = requirePrincipal(ctx);
    return run({
      admit: (signal) => fetches.acquire(accountId, signal),
      dial: dialFor(accountId),
      signal: toAbortSignal(ctx.signal),
    }).catch((err) => {
      if (!(err instanceof HubError)) throw err;
      events.fetchFailed(event, accountId, err);
      // The cause was logged, and must not count as a failure of the hub.
      const { code, message, retryable, stage } = err;
      throw new HubError(code, message, {
        ...(retryable === undefined ? {} : { retryable }),
        ...(stage === undefined ? {} : { stage }),
      });
    });
  };
  return {
    fetchIssuerKeys: (request, ctx) =>
      fetchWith(ctx, 'issuer.failed', (deps) => fetchIssuerKeys(request, deps)),
    fetchClientDocument: (request, ctx) =>
      fetchWith(ctx, 'client.failed', (deps) => fetchClientDocument(request, deps)),
  };
}

/** Decrypts the credentials and opens a connection. The plain secrets exist only during this call. */
function createConnect(
  config: ExecutorConfig,
  deps: ExecutorDeps,
  { dialFor, policy, isAwake }: { dialFor: DialFor; policy: AddressPolicy; isAwake: () => boolean },
) {
  const { engines, opener, resolveService = createServiceResolve() } = deps;
  const { rowBytesMax, statementComments } = config;
  // A pool keeps the same definition object until the settings change.
  const factsOf = new WeakMap<SourceDefinition, SourceFacts>();
  const tokens = createRdsTokens(config.rdsIam, Date.now);
  const logins = new LoginAttempts({ catalog: deps.catalog, nowMs: Date.now });
  const takeLongRow = createLongRows();
  const kept = new KeptStatements();
  const takeReplyRoom = createReplyRoom();
  const dialBehind = createDialBehind(config, { dialFor, policy, logins });
  const connect = async (source: SourceDefinition, signal: AbortSignal): Promise<Connection> => {
    const facts = factsOf.get(source) ?? {};
    factsOf.set(source, facts);
    const { accountId } = source;
    const settings = await unseal(source, opener);
    // Without a user, there is no password to guess.
    const attempt = settings.user === '' ? undefined : logins.begin(source, settings.user);
    const connectDeps: ConnectDeps = {
      dial: settings.ssh ? dialBehind(source, settings.ssh, attempt) : dialFor(accountId, attempt),
      resolveService: (service, name, lookup) => resolveService(service, name, { accountId, signal: lookup }),
      signal,
      isAwake,
      rowBytesMax,
      takeLongRow: () => takeLongRow(accountId),
      kept: kept.of(accountId),
      takeReplyRoom: (bytes) => takeReplyRoom(accountId, bytes),
      comments: statementComments && source.servers?.statementComments !== 'off',
      accepted: () => attempt?.accepted(),
      facts,
    };
    const engine = engines[source.engine];
    const open = (): Promise<Connection> =>
      settings.passwordFrom === undefined
        ? engine.connect(settings, connectDeps)
        : tokens.connect(accountId, settings, (complete, currentPassword) =>
            engine.connect(complete, { ...connectDeps, currentPassword }),
          );
    try {
      const connection = await open();
      void attempt?.end();
      return connection;
    } catch (err) {
      await attempt?.end(err);
      throw err;
    }
  };
  return { connect, logins };
}

/** Dials through the bastion of a source. The pool of the source has one connection to it. */
function createDialBehind(
  { pool: { connectTimeoutMs } }: ExecutorConfig,
  { dialFor, policy, logins }: { dialFor: DialFor; policy: AddressPolicy; logins: LoginAttempts },
) {
  const tunnels = new WeakMap<SourceDefinition, Tunnel>();
  return (source: SourceDefinition, ssh: SshSettings, attempt: LoginAttempt | undefined) => {
    const tunnel = tunnels.get(source) ?? new Tunnel();
    tunnels.set(source, tunnel);
    const open = (signal: AbortSignal) =>
      logins.attempt(source, `ssh:${ssh.user}`, (login) =>
        connectToBastion(ssh, { dial: dialFor(source.accountId, login), signal }),
      );
    return createTunnelDial({ tunnel, open, policy, connectTimeoutMs, logins: attempt });
  };
}

const ofSources = ({ statementTimeoutMs: timeoutMs, rowsMax }: ExecutorConfig['executions']) => ({
  timeoutMs,
  rowsMax,
});
