/** The gateway in front of services that run apart. */

import { type LocalExecutor, openRemoteExecutor } from '@datahub/executor-session/remote-executor';
import { CatalogServiceService } from '@datahub/proto/catalog/v1/catalog';
import { MlServiceService } from '@datahub/proto/ml/v1/ml';
import { createClosers } from '@datahub/service-kit/closers';
import { openReplicatedClient } from '@datahub/service-kit/grpc/replicated-client';
import { clientCredentialsOf, readAddresses, readCallerSettings } from '@datahub/service-kit/grpc/settings';
import type { RunningService } from '@datahub/service-kit/process/lifecycle';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { type Environment, readSettings } from '@datahub/service-kit/settings/settings';
import { createThrottle } from '@datahub/service-kit/telemetry/log-throttle';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/telemetry/logger';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { type GatewayConfig, readGatewayConfig } from './config.ts';
import type { Readiness } from './open/health.ts';
import type { SignIn } from './open/sign-in.ts';
import { openGateway } from './service.ts';

const readinessTimeoutMs = 1_000;
/** Those that change nothing, of the catalog and ml. */
const repeatableMethods = /^(authenticate|find|get|list|name|predict|resolve|summarize)/;
/** How often the same reason for a lost executor is logged. */
const downEveryMs = 10_000;

export interface GatewayProcessOptions {
  /** The default pipeline in front. */
  edge?: GatewayConfig['edge'];
  /** An executor in this process. */
  local?: LocalExecutor;
  signIn?: SignIn;
}

export async function startGatewayProcess(
  env: Environment,
  { edge = 'express-gateway', local, signIn }: GatewayProcessOptions = {},
): Promise<RunningService & { metrics(): Promise<string> }> {
  const { config, caller, addresses, log } = readSettings(env, (reader) => ({
    config: readGatewayConfig(reader, { edge, env }),
    caller: readCallerSettings(reader),
    addresses: {
      catalog: readAddresses(reader, 'DATAHUB_CATALOG_ADDRESS', ['127.0.0.1:7071']),
      executor: readAddresses(reader, 'DATAHUB_EXECUTOR_ADDRESS', ['127.0.0.1:7072']),
      ml: readAddresses(reader, 'DATAHUB_ML_ADDRESS', ['127.0.0.1:7073']),
    },
    log: readLoggerSettings(reader),
  }));
  const logger = createLogger({ service: 'gateway', ...log });
  warnOfUnknownSettings(env, logger);
  caller.tls?.logTo(logger);
  const closers = createClosers();
  const tracing = await openTracing(env, 'gateway');
  if (tracing) closers.add(tracing);
  const credentials = {
    serviceToken: caller.serviceToken,
    forOthers: true,
    credentials: clientCredentialsOf(caller),
  };
  const repeatable = { ...credentials, mayRepeat: (method: string) => repeatableMethods.test(method) };
  const catalog = await openReplicatedClient(CatalogServiceService, {
    ...repeatable,
    addresses: addresses.catalog,
  });
  const ml = await openReplicatedClient(MlServiceService, { ...repeatable, addresses: addresses.ml });
  const mayLog = createThrottle(downEveryMs);
  const executor = await openRemoteExecutor({
    ...credentials,
    local,
    addresses: addresses.executor,
    // The client reconnects until the executor is back.
    onDown: (err) => {
      if (mayLog(String((err as Error).cause)))
        logger.warn({ event: 'executor.down', err }, 'an executor cannot be reached');
    },
  });
  for (const closable of [catalog, ml, executor]) closers.add(closable);
  const parts = Object.entries({ catalog, executor, ml });
  const readiness: Readiness = {
    parts: parts.map(([name]) => name),
    missing: async () => {
      const serving = await Promise.all(parts.map(([, part]) => part.isServing(readinessTimeoutMs)));
      return parts.filter((_, i) => !serving[i]).map(([name]) => name);
    },
  };
  const gateway = await openGateway(config, {
    logger,
    readiness,
    sharesLimits: true,
    ...(signIn === undefined ? {} : { signIn }),
    otherMetrics: async () => caller.tls?.metrics() ?? '',
    tracing,
    upstreams: { catalog: catalog.calls, executor, ml: ml.calls },
  });
  closers.add(gateway);
  logger.info(
    { event: 'service.started', port: gateway.port },
    `the gateway listens on port ${gateway.port}`,
  );
  return { stopLog: gateway.stopLog, metrics: gateway.metrics, close: closers.close };
}
