/** The ml service behind gRPC. */

import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { startGrpcServer } from '@datahub/service-kit/grpc-server';
import { readGrpcSettings, serverCredentialsOf } from '@datahub/service-kit/grpc-settings';
import type { Closable } from '@datahub/service-kit/lifecycle';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/logger';
import { createRpcMetrics, serveMetrics } from '@datahub/service-kit/metrics';
import { type Environment, readSettings } from '@datahub/service-kit/settings';
import { openTracing } from '@datahub/service-kit/tracing';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { readMlConfig } from './config.ts';
import { openMl } from './service.ts';

const portDefault = 7073;
const metricsPortDefault = 9093;

export async function startMlProcess(env: Environment): Promise<Closable> {
  const { config, grpc, metricsPort, log } = readSettings(env, (reader) => ({
    config: readMlConfig(reader),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.integer('DATAHUB_METRICS_PORT', {
      fallback: metricsPortDefault,
      min: 0,
      max: 65_535,
    }),
    log: readLoggerSettings(reader),
  }));
  const logger = createLogger({ service: 'ml', ...log });
  const ml = await openMl(config, { logger });
  const tracing = await openTracing(env, 'ml');
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const server = await startGrpcServer({
    address: `${grpc.host}:${grpc.port}`,
    services: [{ definition: MlServiceService, handlers: ml.calls }],
    reflect: grpc.reflection ? ['datahub.ml.v1.MlService'] : [],
    connectionAgeMs: 60_000,
    tracing,
    metrics: createRpcMetrics(registry),
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err, requestId, path) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  });
  let serving = true;
  const figures = await serveMetrics(() => registry.metrics(), {
    host: grpc.host,
    port: metricsPort,
    isReady: () => serving,
  });
  logger.info(
    { event: 'service.started', port: server.port },
    `the ml service listens on port ${server.port}`,
  );
  return {
    close: async () => {
      serving = false;
      server.setServing(false);
      await server.close(grpc.drainMs);
      await ml.close();
      await figures.close();
      await tracing?.close();
    },
  };
}
