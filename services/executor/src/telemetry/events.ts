/**
 * The typed events of the executor. Only this file creates its log lines, metrics and traces, so that no secret gets
 * into them.
 */

import { type CacheInfo, CacheInfo_Outcome as Outcome } from '@datahub/proto/executor/v1/executor';
import { HubError, toHubError } from '@datahub/service-kit/call/error';
import { DurationHistogram, type DurationSeries } from '@datahub/service-kit/telemetry/duration-histogram';
import { createThrottle } from '@datahub/service-kit/telemetry/log-throttle';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { CacheEvents } from '../execution/cached/cached-execution.ts';
import type { ResponseStore } from '../execution/cached/response-store.ts';
import type { Execution } from '../execution/execution-state.ts';
import type { PoolStats } from '../pool/pool-types.ts';
import type { SlotStats } from '../slots/slot-book.ts';
import type { StatisticsRecorder } from '../statistics/statistics-recorder.ts';
import { traceExecution } from './traces.ts';

export interface ExecutorEvents extends CacheEvents {
  /** Call this when a connection was opened, or failed to open. */
  connected(source: { sourceId: string; engine: string }, durationMs: number, err?: unknown): void;
  watchLost(err: unknown): void;
  /** Call this when the process was paused for longer than its lease of slots. */
  leaseEnded(pausedMs: number): void;
  /** Call this when the queries of a source could not be described again. */
  driftFailed(err: unknown): void;
  /** The issuer of tokens that an account names gave no keys. */
  fetchFailed(event: FailedFetch, accountId: string, err: unknown): void;
  /** Call this when the operator's mail server could not be used. */
  mailFailed(err: unknown): void;
  /** Call this when a handler failed with an unexpected error. */
  unexpected(err: unknown, requestId: string): void;
  /** Returns all metrics in Prometheus' text format. */
  metrics(): string;
}

export interface EventsOptions {
  logger: Logger;
  /** Called for each scrape. */
  poolStats: () => PoolStats & { pools: number };
  /** The slots of connections. Called for each scrape. */
  slotStats: () => SlotStats;
  /** The figures of the result cache. Called for each scrape. */
  cacheStats: () => CacheStats;
  /** Of all sources together. */
  connectionsMax: number;
  /** The queries that their sources reject. Called for each scrape. */
  brokenQueries?: () => number;
  statistics: StatisticsRecorder;
  /** Executions longer than this are logged. */
  slowMs: number;
  tracing?: Tracing | undefined;
}

const engineOf = ({ query }: Execution): string => query?.source.engine ?? 'unknown';

export function createExecutorEvents(options: EventsOptions): ExecutorEvents {
  const { logger, poolStats, cacheStats, slowMs, tracing, statistics, connectionsMax } = options;
  const metrics = createMetrics();
  return {
    executed: (execution) => {
      const { outcome, durationMs, queueMs, bytes } = execution;
      if (tracing) traceExecution(execution, tracing);
      metrics.executed(engineOf(execution), 'OK', queueMs + durationMs);
      metrics.answered(outcome?.rowCount ?? 0, bytes);
      statistics.executed(execution);
      if (durationMs < slowMs && !logger.isLevelEnabled('debug')) return;
      const line = {
        event: 'execution',
        ...namesOf(execution),
        durationMs,
        queueMs,
        bytes,
        rows: outcome?.rowCount,
      };
      if (durationMs < slowMs) logger.debug(line, 'executed');
      else logger.info(line, 'slow execution');
    },

    failed: (execution, err) => {
      if (tracing) traceExecution(execution, tracing, err);
      metrics.executed(engineOf(execution), err.code, execution.now() - execution.startedAt);
      statistics.failed(execution, err.code);
      const level = err.code === 'INTERNAL' ? 'error' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      logger[level](
        {
          event: 'execution.failed',
          ...namesOf(execution),
          code: err.code,
          stage: err.stage,
          state: err.sql?.state,
          cause: causeOf(err),
        },
        'execution failed',
      );
    },

    answered: createAnswered(metrics, statistics),
    ended: statistics.ended,

    connected: ({ sourceId, engine }, durationMs, err) => {
      const code = err === undefined ? 'OK' : ((err as Partial<HubError>).code ?? 'INTERNAL');
      metrics.connected(engine, code);
      if (err === undefined) logger.debug({ event: 'connect', sourceId, engine, durationMs }, 'connected');
      else
        logger.info(
          { event: 'connect.failed', sourceId, engine, durationMs, code, cause: causeOf(err) },
          'connect failed',
        );
    },

    watchLost: (err) => logger.warn(...lostWatch(err)),
    leaseEnded: (pausedMs) => logger.warn(...endedLease(pausedMs)),
    driftFailed: (err) => logger.warn(...failedDrift(err)),
    fetchFailed: (event, accountId, err) => logger.info(...failedFetch(event, accountId, err)),

    mailFailed: createMailLog(logger),

    unexpected: (err, requestId) => logger.error(...failedUnexpectedly(err, requestId)),

    metrics: () => metrics.render({ ...poolStats(), connectionsMax }, cacheStats()) + renderOthers(options),
  };
}

const lostWatch = (err: unknown): [object, string] => [
  { event: 'watch.lost', reason: toHubError(err).message, cause: causeOf(err) },
  'the watch of the catalog was interrupted and will be reopened',
];

const endedLease = (pausedMs: number): [object, string] => [
  { event: 'slots.expired', pausedMs },
  'the process was paused for longer than its lease of connections, so it closed them',
];

const mailLogMs = 10_000;

/** Every mail fails while the server is away. */
function createMailLog(logger: Logger): (err: unknown) => void {
  const mayLog = createThrottle(mailLogMs);
  return (err) => {
    const reason = err instanceof HubError ? err.message : undefined;
    if (mayLog())
      logger.warn({ event: 'mail.failed', reason, cause: causeOf(err) }, 'the mail server took no mail');
  };
}

const failedUnexpectedly = (err: unknown, requestId: string): [object, string] => {
  // The message of a HubError is public.
  const reason = err instanceof HubError ? err.message : undefined;
  const members = { event: 'unexpected', requestId, reason, cause: causeOf(err) };
  return [members, 'a call failed unexpectedly'];
};

const failedFetches = {
  'issuer.failed': 'the keys of an issuer of tokens could not be fetched',
  'client.failed': 'the description of a client could not be fetched',
};
export type FailedFetch = keyof typeof failedFetches;

const failedFetch = (event: FailedFetch, accountId: string, err: unknown): [object, string] => [
  { event, accountId, reason: toHubError(err).message, cause: causeOf(err) },
  failedFetches[event],
];

const failedDrift = (err: unknown): [object, string] => [
  { event: 'drift.failed', reason: toHubError(err).message, cause: causeOf(err) },
  'the queries of a source could not be described again',
];

const renderBroken = ({ brokenQueries = () => 0 }: EventsOptions): string =>
  `${renderFamily('datahub_queries_broken', 'gauge', [['', brokenQueries()]]).join('\n')}\n`;

/** Returns only ids, because the texts, values, hosts and users of tenants must never be logged. */
function namesOf({ ctx, query, request }: Execution) {
  return {
    requestId: ctx.requestId,
    traceId: ctx.traceparent?.slice(3, 35),
    accountId: ctx.principal?.accountId,
    keyId: ctx.principal?.keyId,
    queryId: request.queryId,
    sourceId: query?.source.sourceId,
    engine: query?.source.engine,
  };
}

/**
 * Returns the stack of an internal error. For an error of a source, returns only the name and the code, because a
 * driver's message can contain hosts, users and values.
 */
function causeOf(err: unknown): string | undefined {
  const { code, cause } = err as Partial<HubError>;
  if (err instanceof Error && (code === undefined || code === 'INTERNAL')) {
    return cause instanceof Error ? cause.stack : err.stack;
  }
  if (!(cause instanceof Error)) return undefined;
  const inner = (cause as NodeJS.ErrnoException).code;
  if (cause.name === 'AddressRefused') return cause.message;
  return typeof inner === 'string' ? `${cause.name} ${inner}` : cause.name;
}

function createAnswered(metrics: Metrics, statistics: StatisticsRecorder): CacheEvents['answered'] {
  return (execution, info, kept) => {
    const { outcome } = info;
    metrics.looked(cacheOutcomes[outcome]);
    statistics.answered(execution, info, kept);
    if (kept !== undefined && outcome !== Outcome.OUTCOME_MISS)
      metrics.answered(kept.rowCount, kept.bytes.length);
    if (kept !== undefined || outcome === Outcome.OUTCOME_NONE) execution.span?.end({});
  };
}

type CacheStats = Pick<ResponseStore, 'size' | 'bytes'>;

const cacheOutcomes: Record<CacheInfo['outcome'], string> = {
  [Outcome.OUTCOME_UNSPECIFIED]: 'unknown',
  [Outcome.OUTCOME_HIT]: 'hit',
  [Outcome.OUTCOME_STALE]: 'stale',
  [Outcome.OUTCOME_MISS]: 'miss',
  [Outcome.OUTCOME_COLLAPSED]: 'collapsed',
  [Outcome.OUTCOME_BYPASS]: 'bypass',
  [Outcome.OUTCOME_UNCACHEABLE]: 'uncacheable',
  [Outcome.OUTCOME_NONE]: 'none',
  [Outcome.OUTCOME_VALIDATED]: 'validated',
};

/** Metrics that are cheap enough for every execution. */
interface Metrics {
  executed(engine: string, code: string, durationMs: number): void;
  answered(rows: number, bytes: number): void;
  connected(engine: string, code: string): void;
  /** Counts a look-up in the result cache. */
  looked(outcome: string): void;
  render(pools: PoolStats & { pools: number; connectionsMax: number }, answers: CacheStats): string;
}

function createMetrics(): Metrics {
  const durations = new DurationHistogram({
    name: 'datahub_execution_duration_seconds',
    help: 'Duration of executions by engine and outcome.',
  });
  /** The size is bounded, because there are few engines and codes. */
  const executions = new Map<string, Map<string, DurationSeries>>();
  const connects = new Map<string, number>();
  /** By outcome. */
  const lookUps = new Map<string, number>();
  const totals = { rows: 0, bytes: 0 };

  const seriesOf = (engine: string, code: string): DurationSeries => {
    const codes = executions.get(engine) ?? new Map<string, DurationSeries>();
    executions.set(engine, codes);
    let series = codes.get(code);
    if (series === undefined) {
      series = durations.series({ engine, code });
      codes.set(code, series);
    }
    return series;
  };

  return {
    executed: (engine, code, durationMs) => seriesOf(engine, code).observe(durationMs),
    answered: (rows, bytes) => {
      totals.rows += rows;
      totals.bytes += bytes;
    },
    connected: (engine, code) => {
      const labels = `engine="${engine}",code="${code}"`;
      connects.set(labels, (connects.get(labels) ?? 0) + 1);
    },
    looked: (outcome) => lookUps.set(outcome, (lookUps.get(outcome) ?? 0) + 1),
    render: (pools, answers) =>
      durations.text() +
      [
        ...renderFamily('datahub_source_connects_total', 'counter', [...connects]),
        ...renderFamily(
          'datahub_result_cache_total',
          'counter',
          [...lookUps].map(([outcome, count]) => [`outcome="${outcome}"`, count]),
        ),
        ...renderFamily('datahub_result_cache_answers', 'gauge', [['', answers.size]]),
        ...renderFamily('datahub_result_cache_bytes', 'gauge', [['', answers.bytes]]),
        ...renderFamily('datahub_answer_rows_total', 'counter', [['', totals.rows]]),
        ...renderFamily('datahub_answer_bytes_total', 'counter', [['', totals.bytes]]),
        ...renderFamily('datahub_pools', 'gauge', [['', pools.pools]]),
        ...renderFamily('datahub_pool_waiting', 'gauge', [['', pools.waiting]]),
        ...renderFamily('datahub_pool_connections_max', 'gauge', [['', pools.connectionsMax]]),
        ...renderFamily('datahub_sources_tripped', 'gauge', [['', pools.tripped]]),
        ...renderFamily(
          'datahub_pool_connections',
          'gauge',
          (['busy', 'idle', 'connecting'] as const).map((state) => [`state="${state}"`, pools[state]]),
        ),
        '',
      ].join('\n'),
  };
}

const renderOthers = (options: EventsOptions) => renderSlots(options.slotStats()) + renderBroken(options);

function renderSlots({ held, used, waiting, expirations }: SlotStats): string {
  return [
    ...renderFamily('datahub_slots', 'gauge', [
      ['state="used"', used],
      ['state="free"', held - used],
    ]),
    ...renderFamily('datahub_slots_waiting', 'gauge', [['', waiting]]),
    ...renderFamily('datahub_slot_expirations_total', 'counter', [['', expirations]]),
    '',
  ].join('\n');
}

function renderFamily(name: string, type: string, samples: [labels: string, value: number][]): string[] {
  return [
    `# TYPE ${name} ${type}`,
    ...samples.map(([labels, value]) => `${name}${labels && `{${labels}}`} ${value}`),
  ];
}
