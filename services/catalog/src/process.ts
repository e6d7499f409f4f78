/** The catalog behind gRPC. */

import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { createSealer } from '@datahub/sealing/sealer';
import { startGrpcServer } from '@datahub/service-kit/grpc-server';
import { readGrpcSettings, serverCredentialsOf } from '@datahub/service-kit/grpc-settings';
import type { Closable } from '@datahub/service-kit/lifecycle';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/logger';
import { createRpcMetrics, serveMetrics } from '@datahub/service-kit/metrics';
import { type Environment, readSettings } from '@datahub/service-kit/settings';
import { openTracing } from '@datahub/service-kit/tracing';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { checkStatement } from './check-statement.ts';
import { readCatalogConfig } from './config.ts';
import { openCatalog } from './service.ts';

const portDefault = 7071;
const metricsPortDefault = 9091;
const internalPortDefault = 7074;

export async function startCatalogProcess(env: Environment): Promise<Closable> {
  const { config, grpc, internalPort, metricsPort, log } = readSettings(env, (reader) => ({
    config: readCatalogConfig(reader, { apart: true }),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.integer('DATAHUB_METRICS_PORT', {
      fallback: metricsPortDefault,
      min: 0,
      max: 65_535,
    }),
    internalPort: reader.integer('DATAHUB_INTERNAL_PORT', {
      fallback: internalPortDefault,
      min: 0,
      max: 65_535,
    }),
    log: readLoggerSettings(reader),
  }));
  const logger = createLogger({ service: 'catalog', ...log });
  const seal = await createSealer(config.sealingPublicKeys);
  const catalog = await openCatalog(config, {
    logger,
    nowMs: Date.now,
    seal,
    checkStatement,
    executorsApart: true,
  });
  const tracing = await openTracing(env, 'catalog');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const common = {
    tracing,
    metrics: createRpcMetrics(registry),
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err: unknown, requestId: string, path: string) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  };
  const server = await startGrpcServer({
    ...common,
    address: `${grpc.host}:${grpc.port}`,
    reflect: grpc.reflection ? ['datahub.catalog.v1.CatalogService'] : [],
    connectionAgeMs: 60_000,
    services: [{ definition: CatalogServiceService, handlers: catalog.calls }],
  });
  // A port of its own, so that a network policy can keep everybody but the executor from it.
  const internal = await startGrpcServer({
    ...common,
    address: `${grpc.host}:${internalPort}`,
    portSetting: 'DATAHUB_INTERNAL_PORT',
    services: [{ definition: CatalogInternalServiceService, handlers: catalog.internal }],
  });
  let serving = true;
  const figures = await serveMetrics(() => registry.metrics(), {
    host: grpc.host,
    port: metricsPort,
    isReady: () => serving,
  });
  logger.info({ event: 'service.started', port: server.port }, `the catalog listens on port ${server.port}`);
  return {
    close: async () => {
      serving = false;
      server.setServing(false);
      internal.setServing(false);
      catalog.stopWatches();
      await Promise.all([server.close(grpc.drainMs), internal.close(grpc.drainMs)]);
      await catalog.close();
      await figures.close();
      await tracing?.close();
    },
  };
}
