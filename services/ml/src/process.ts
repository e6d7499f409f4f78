/** Runs the ml service as a gRPC server. */

import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { readGrpcSettings } from '@datahub/service-kit/grpc/settings';
import { lateService } from '@datahub/service-kit/process/store-wait';
import { type RunningStoredService, startStoredService } from '@datahub/service-kit/process/stored-service';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { type Environment, readSettings, type SettingsReader } from '@datahub/service-kit/settings/settings';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/telemetry/logger';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { readMlConfig } from './config.ts';
import { type MlService, openMl } from './service.ts';

const portDefault = 7073;
const metricsPortDefault = 9093;

function readProcess(reader: SettingsReader) {
  return {
    config: readMlConfig(reader),
    grpc: readGrpcSettings(reader, { portDefault }),
    metricsPort: reader.computedInteger('DATAHUB_METRICS_PORT', metricsPortDefault, [0, 65_535]),
    log: readLoggerSettings(reader),
  };
}

export async function startMlProcess(env: Environment): Promise<RunningStoredService<MlService>> {
  const { config, grpc, metricsPort, log } = readSettings(env, readProcess);
  const logger = createLogger({ service: 'ml', ...log });
  warnOfUnknownSettings(env, logger);
  const tracing = await openTracing(env, 'ml');
  return startStoredService({
    name: 'ml',
    title: 'the ml service',
    logger,
    tracing,
    grpc,
    metricsPort,
    storeUrl: config.storeUrl,
    open: () => openMl(config, { logger }),
    ports: (find) => [
      {
        address: `${grpc.host}:${grpc.port}`,
        services: [lateService(MlServiceService, () => find()?.grpcHandlers)],
        reflect: grpc.reflection ? ['datahub.ml.v1.MlService'] : [],
        connectionAgeMs: 60_000,
      },
    ],
  });
}
