/** The ml service behind gRPC. */

import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { startGrpcServer } from '@datahub/service-kit/grpc-server';
import { readGrpcSettings, serverCredentialsOf } from '@datahub/service-kit/grpc-settings';
import type { RunningService } from '@datahub/service-kit/lifecycle';
import { createLogger, type Logger, readLoggerSettings } from '@datahub/service-kit/logger';
import { createRpcMetrics, serveMetrics } from '@datahub/service-kit/metrics';
import { type Environment, readSettings, type SettingsReader } from '@datahub/service-kit/settings';
import { createStopLog } from '@datahub/service-kit/stop-log';
import { isAwaited, lateService, openWithStore } from '@datahub/service-kit/store-wait';
import { openTracing, type Tracing } from '@datahub/service-kit/tracing';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { readMlConfig } from './config.ts';
import { type MlService, openMl } from './service.ts';

const portDefault = 7073;
const metricsPortDefault = 9093;

function readProcess(reader: SettingsReader) {
  return {
    config: readMlConfig(reader),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.integer('DATAHUB_METRICS_PORT', {
      fallback: metricsPortDefault,
      min: 0,
      max: 65_535,
    }),
    log: readLoggerSettings(reader),
  };
}

interface Parts {
  logger: Logger;
  tracing: Tracing | undefined;
  /** Undefined until its store was reached. */
  find: () => MlService | undefined;
  missing: () => string[];
}

export async function startMlProcess(env: Environment): Promise<RunningService> {
  const settings = readSettings(env, readProcess);
  const { config, grpc, log } = settings;
  const logger = createLogger({ service: 'ml', ...log });
  const tracing = await openTracing(env, 'ml');
  let opened: MlService | undefined;
  let draining = false;
  const missing = () => [...(opened === undefined ? ['store'] : []), ...(draining ? ['ml'] : [])];
  let listening: ReturnType<typeof listen> | undefined;
  const listenOnce = () => {
    listening ??= listen(settings, { logger, tracing, find: () => opened, missing });
    return listening;
  };
  const ml = await openWithStore(() => openMl(config, { logger }), {
    logger,
    isAwaited: isAwaited(config.storeUrl),
    onAway: listenOnce,
  });
  opened = ml;
  const { server, figures } = await listenOnce();
  server.setServing(true);
  logger.info(
    { event: 'service.started', port: server.port },
    `the ml service listens on port ${server.port}`,
  );
  const stopLog = createStopLog({
    logger,
    drainMs: grpc.drainMs,
    underWay: server.underWay,
    what: 'calls',
  });
  return {
    stopLog,
    close: async () => {
      draining = true;
      server.setServing(false);
      await server.close(grpc.drainMs, () => stopLog.cut(server.underWay()));
      await ml.close();
      await figures.close();
      await tracing?.close();
    },
  };
}

/** The ports, which say that they do not serve. */
async function listen({ grpc, metricsPort }: ReturnType<typeof readProcess>, parts: Parts) {
  const { logger, tracing, find, missing } = parts;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const server = await startGrpcServer({
    address: `${grpc.host}:${grpc.port}`,
    services: [lateService(MlServiceService, () => find()?.calls)],
    reflect: grpc.reflection ? ['datahub.ml.v1.MlService'] : [],
    connectionAgeMs: 60_000,
    serving: false,
    tracing,
    metrics: createRpcMetrics(registry),
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err, requestId, path) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  });
  const figures = await serveMetrics(() => registry.metrics(), {
    host: grpc.host,
    port: metricsPort,
    missing,
  });
  return { server, figures };
}
