/** Serves the catalog over gRPC. */

import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { CatalogInternalServiceService } from '@datahub/proto/catalog/v1/catalog_internal';
import { createSealer } from '@datahub/sealing/sealer';
import { readGrpcSettings } from '@datahub/service-kit/grpc/settings';
import { lateService } from '@datahub/service-kit/process/store-wait';
import { type RunningStoredService, startStoredService } from '@datahub/service-kit/process/stored-service';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { type Environment, readSettings, type SettingsReader } from '@datahub/service-kit/settings/settings';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/telemetry/logger';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { checkStatement } from './check-statement.ts';
import { readCatalogConfig } from './config.ts';
import { type CatalogService, openCatalog } from './service.ts';

const portDefault = 7071;
const metricsPortDefault = 9091;

function readProcess(reader: SettingsReader) {
  return {
    config: readCatalogConfig(reader, { apart: true }),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.computedInteger('DATAHUB_METRICS_PORT', metricsPortDefault, [0, 65_535]),
    internalPort: reader.integer('DATAHUB_INTERNAL_PORT'),
    log: readLoggerSettings(reader),
  };
}

export async function startCatalogProcess(env: Environment): Promise<RunningStoredService<CatalogService>> {
  const { config, grpc, metricsPort, internalPort, log } = readSettings(env, readProcess);
  const logger = createLogger({ service: 'catalog', ...log });
  warnOfUnknownSettings(env, logger);
  const seal = await createSealer(config.sealingPublicKeys);
  const tracing = await openTracing(env, 'catalog');
  const deps = { logger, nowMs: Date.now, seal, checkStatement, executorsApart: true };
  return startStoredService({
    name: 'catalog',
    title: 'the catalog',
    logger,
    tracing,
    grpc,
    metricsPort,
    storeUrl: config.storeUrl,
    open: () => openCatalog(config, deps),
    ports: (find) => [
      {
        address: `${grpc.host}:${grpc.port}`,
        reflect: grpc.reflection ? ['datahub.catalog.v1.CatalogService'] : [],
        connectionAgeMs: 60_000,
        services: [lateService(CatalogServiceService, () => find()?.calls)],
      },
      // The internal service has its own port, so that a network policy can allow only the executor.
      {
        address: `${grpc.host}:${internalPort}`,
        portSetting: 'DATAHUB_INTERNAL_PORT',
        keepalive: true,
        services: [lateService(CatalogInternalServiceService, () => find()?.internal)],
      },
    ],
    beforeDrain: (catalog) => void catalog.stopWatches(),
  });
}
