/** What happens in the executor, as typed events: the one place that makes log lines and metrics of them. */

import { type HubError, toHubError } from '@datahub/service-kit/call/error';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import type { Execution } from '../execution/execute.ts';
import type { PoolStats } from '../pool/pool-types.ts';
import { createMetrics } from './metrics.ts';
import { traceExecution } from './traces.ts';

export interface ExecutorEvents {
  executed(run: Execution): void;
  failed(run: Execution, err: HubError): void;
  /** A connection was opened, or could not be. */
  connected(source: { sourceId: string; engine: string }, durationMs: number, err?: unknown): void;
  watchLost(err: unknown): void;
  /** A handler failed in a way nobody foresaw. */
  unexpected(err: unknown, requestId: string): void;
  /** All figures in the text form of Prometheus. */
  metrics(): string;
}

export interface EventsOptions {
  logger: Logger;
  /** Read when figures are asked for. */
  poolStats: () => PoolStats & { pools: number };
  /** Executions longer than this are logged. */
  slowMs: number;
  tracing?: Tracing | undefined;
}

export function createExecutorEvents({ logger, poolStats, slowMs, tracing }: EventsOptions): ExecutorEvents {
  const metrics = createMetrics();
  return {
    executed: (run) => {
      const { outcome, durationMs, queueMs, bytes } = run;
      if (tracing) traceExecution(run, tracing);
      metrics.executed(run.query?.source.engine ?? 'unknown', 'OK', queueMs + durationMs);
      metrics.answered(outcome?.rowCount ?? 0, bytes);
      if (durationMs < slowMs && !logger.isLevelEnabled('debug')) return;
      const line = {
        event: 'execution',
        ...namesOf(run),
        durationMs,
        queueMs,
        bytes,
        rows: outcome?.rowCount,
      };
      if (durationMs < slowMs) logger.debug(line, 'executed');
      else logger.info(line, 'slow execution');
    },

    failed: (run, err) => {
      if (tracing) traceExecution(run, tracing, err);
      metrics.executed(run.query?.source.engine ?? 'unknown', err.code, run.now() - run.startedAt);
      const level = err.code === 'INTERNAL' ? 'error' : 'info';
      if (!logger.isLevelEnabled(level)) return;
      logger[level](
        {
          event: 'execution.failed',
          ...namesOf(run),
          code: err.code,
          stage: err.stage,
          state: err.sql?.state,
          cause: causeOf(err),
        },
        'execution failed',
      );
    },

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

    watchLost: (err) => {
      logger.warn(
        { event: 'watch.lost', reason: toHubError(err).message, cause: causeOf(err) },
        'the catalog’s news stopped; following again',
      );
    },

    unexpected: (err, requestId) => {
      logger.error({ event: 'unexpected', requestId, cause: causeOf(err) }, 'a call failed unexpectedly');
    },

    metrics: () => metrics.render(poolStats()),
  };
}

/** Ids alone: texts, values, hosts and users of tenants never reach the log. */
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
 * A driver's text can hold hosts, users and values, so of a source's faults only the kind is logged: the error's name
 * and its code. Our own faults are logged whole.
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
