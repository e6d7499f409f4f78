/** The catalog behind gRPC. */

import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { createSealer } from '@datahub/sealing/sealer';
import { startGrpcServer } from '@datahub/service-kit/grpc-server';
import { readGrpcSettings, serverCredentialsOf } from '@datahub/service-kit/grpc-settings';
import type { Closable } from '@datahub/service-kit/lifecycle';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/logger';
import { type Environment, readSettings } from '@datahub/service-kit/settings';
import { openTracing } from '@datahub/service-kit/tracing';
import { checkStatement } from './check-statement.ts';
import { readCatalogConfig } from './config.ts';
import { openCatalog } from './service.ts';

const portDefault = 7071;

export async function startCatalogProcess(env: Environment): Promise<Closable> {
  const { config, grpc, log } = readSettings(env, (reader) => ({
    config: readCatalogConfig(reader),
    grpc: readGrpcSettings(reader, { portDefault }),
    log: readLoggerSettings(reader),
  }));
  const logger = createLogger({ service: 'catalog', ...log });
  const seal = await createSealer(config.sealingPublicKeys);
  const catalog = await openCatalog(config, { logger, nowMs: Date.now, seal, checkStatement });
  const tracing = await openTracing(env, 'catalog');
  const server = await startGrpcServer({
    address: `${grpc.host}:${grpc.port}`,
    services: [
      { definition: CatalogServiceService, handlers: catalog.calls },
      { definition: CatalogInternalServiceService, handlers: catalog.internal },
    ],
    tracing,
    serviceToken: grpc.serviceToken,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err, requestId, path) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  });
  logger.info({ event: 'service.started', port: server.port }, `the catalog listens on port ${server.port}`);
  return {
    close: async () => {
      server.setServing(false);
      catalog.stopWatches();
      await server.close(grpc.drainMs);
      await catalog.close();
      await tracing?.close();
    },
  };
}
