/** The catalog behind gRPC. */

import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { createSealer } from '@datahub/sealing/sealer';
import { type GrpcServerOptions, startGrpcServer } from '@datahub/service-kit/grpc-server';
import { readGrpcSettings, serverCredentialsOf } from '@datahub/service-kit/grpc-settings';
import type { RunningService } from '@datahub/service-kit/lifecycle';
import { createLogger, type Logger, readLoggerSettings } from '@datahub/service-kit/logger';
import { createRpcMetrics, serveMetrics } from '@datahub/service-kit/metrics';
import { type Environment, readSettings, type SettingsReader } from '@datahub/service-kit/settings';
import { createStopLog } from '@datahub/service-kit/stop-log';
import { isAwaited, lateService, openWithStore } from '@datahub/service-kit/store-wait';
import { openTracing, type Tracing } from '@datahub/service-kit/tracing';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { checkStatement } from './check-statement.ts';
import { readCatalogConfig } from './config.ts';
import { type CatalogService, openCatalog } from './service.ts';

const portDefault = 7071;
const metricsPortDefault = 9091;
const internalPortDefault = 7074;

function readProcess(reader: SettingsReader) {
  const port = { min: 0, max: 65_535 };
  return {
    config: readCatalogConfig(reader, { apart: true }),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.integer('DATAHUB_METRICS_PORT', { fallback: metricsPortDefault, ...port }),
    internalPort: reader.integer('DATAHUB_INTERNAL_PORT', { fallback: internalPortDefault, ...port }),
    log: readLoggerSettings(reader),
  };
}

type Settings = ReturnType<typeof readProcess>;

interface Parts {
  logger: Logger;
  tracing: Tracing | undefined;
  /** Undefined until its store was reached. */
  find: () => CatalogService | undefined;
  missing: () => string[];
}

export async function startCatalogProcess(env: Environment): Promise<RunningService> {
  const settings = readSettings(env, readProcess);
  const { config, grpc, log } = settings;
  const logger = createLogger({ service: 'catalog', ...log });
  const seal = await createSealer(config.sealingPublicKeys);
  const tracing = await openTracing(env, 'catalog');
  let opened: CatalogService | undefined;
  let draining = false;
  const missing = () => [...(opened === undefined ? ['store'] : []), ...(draining ? ['catalog'] : [])];
  let listening: ReturnType<typeof listen> | undefined;
  const listenOnce = () => {
    listening ??= listen(settings, { logger, tracing, find: () => opened, missing });
    return listening;
  };
  const deps = { logger, nowMs: Date.now, seal, checkStatement, executorsApart: true };
  const catalog = await openWithStore(() => openCatalog(config, deps), {
    logger,
    isAwaited: isAwaited(config.storeUrl),
    onAway: listenOnce,
  });
  opened = catalog;
  const { server, internal, figures } = await listenOnce();
  server.setServing(true);
  internal.setServing(true);
  logger.info({ event: 'service.started', port: server.port }, `the catalog listens on port ${server.port}`);
  const stopLog = createStopLog({
    logger,
    drainMs: grpc.drainMs,
    underWay: () => server.underWay() + internal.underWay(),
    what: 'calls',
  });
  return {
    stopLog,
    close: async () => {
      draining = true;
      server.setServing(false);
      internal.setServing(false);
      catalog.stopWatches();
      await Promise.all(
        [server, internal].map((one) => one.close(grpc.drainMs, () => stopLog.cut(one.underWay()))),
      );
      await catalog.close();
      await figures.close();
      await tracing?.close();
    },
  };
}

/** The ports, which say that they do not serve. */
async function listen({ grpc, internalPort, metricsPort }: Settings, parts: Parts) {
  const { logger, tracing, find, missing } = parts;
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const common: Omit<GrpcServerOptions, 'address' | 'services'> = {
    serving: false,
    tracing,
    metrics: createRpcMetrics(registry),
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err, requestId, path) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  };
  const server = await startGrpcServer({
    ...common,
    address: `${grpc.host}:${grpc.port}`,
    reflect: grpc.reflection ? ['datahub.catalog.v1.CatalogService'] : [],
    connectionAgeMs: 60_000,
    services: [lateService(CatalogServiceService, () => find()?.calls)],
  });
  // A port of its own, so that a network policy can keep everybody but the executor from it.
  const internal = await startGrpcServer({
    ...common,
    address: `${grpc.host}:${internalPort}`,
    portSetting: 'DATAHUB_INTERNAL_PORT',
    services: [lateService(CatalogInternalServiceService, () => find()?.internal)],
  });
  const figures = await serveMetrics(() => registry.metrics(), {
    host: grpc.host,
    port: metricsPort,
    missing,
  });
  return { server, internal, figures };
}
