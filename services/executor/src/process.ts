/** Serves the executor over gRPC. */

import { type BusyWatch, watchBusy } from '@datahub/executor-session/busy-watch';
import { executorService } from '@datahub/executor-session/codec';
import {
  type SessionServerOptions,
  serveExecute,
  serveSession,
} from '@datahub/executor-session/session-server';
import type { ExecutorServiceService } from '@datahub/proto/executor/v1/executor';
import { faultOfPrivateKey, readKeyFile } from '@datahub/sealing/key-pair';
import { createOpener } from '@datahub/sealing/opener';
import type { Calls } from '@datahub/service-kit/call/call';
import { createClosers } from '@datahub/service-kit/closers';
import { startGrpcServer } from '@datahub/service-kit/grpc/server';
import {
  clientCredentialsOf,
  readAddresses,
  readGrpcSettings,
  serverCredentialsOf,
} from '@datahub/service-kit/grpc/settings';
import type { RunningService } from '@datahub/service-kit/process/lifecycle';
import { createProcessId } from '@datahub/service-kit/process/process-id';
import { createStopLog } from '@datahub/service-kit/process/stop-log';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import {
  type Environment,
  readSettings,
  SettingsError,
  type SettingsReader,
} from '@datahub/service-kit/settings/settings';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/telemetry/logger';
import { serveMetrics } from '@datahub/service-kit/telemetry/metrics';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { readExecutorConfig, readSealing, type SealingSettings } from './config.ts';
import { startResealing } from './credentials/rotation.ts';
import { openRemoteCatalog } from './definitions/remote-catalog.ts';
import { type ExecutorDeps, type ExecutorService, openExecutor } from './service.ts';

const portDefault = 7072;
const metricsPortDefault = 9092;
/** The most concurrent executions of one gateway. Further ones fail with SOURCE_BUSY. */
const callsPerSessionMax = 10_000;

function readProcess(reader: SettingsReader, embedded: boolean) {
  return {
    config: readExecutorConfig(reader, { embedded }),
    sealing: readSealing(reader),
    grpc: readGrpcSettings(reader, { portDefault }),
    catalogAddresses: readAddresses(reader, 'DATAHUB_CATALOG_INTERNAL_ADDRESS', ['127.0.0.1:7074']),
    metricsPort: reader.computedInteger('DATAHUB_METRICS_PORT', metricsPortDefault, [0, 65_535]),
    log: readLoggerSettings(reader),
  };
}

export type ExecutorParts = Pick<ExecutorDeps, 'engines' | 'compile' | 'createWriter'>;

export type RunningExecutor = RunningService &
  Pick<ExecutorService, 'executor' | 'readStatistics' | 'metrics'> & { port: number };

/** `embedded` is true for a hub on the user's machine. */
export async function startExecutorProcess(
  env: Environment,
  { embedded = false, ...parts }: ExecutorParts & { embedded?: boolean },
): Promise<RunningExecutor> {
  const settings = readSettings(env, (reader) => readProcess(reader, embedded));
  const { config, sealing, grpc, catalogAddresses, metricsPort, log } = settings;
  const logger = createLogger({ service: 'executor', ...log });
  warnOfUnknownSettings(env, logger);
  grpc.tls?.logTo(logger);
  const privateKeys = await loadKeys(sealing);
  const opener = await createOpener(privateKeys);
  const tracing = await openTracing(env, 'executor');
  const catalog = await openRemoteCatalog({
    addresses: catalogAddresses,
    instanceId: createProcessId(),
    serviceToken: grpc.serviceToken,
    forOthers: true,
    credentials: clientCredentialsOf(grpc),
  });
  const service = openExecutor(config, {
    ...parts,
    logger,
    opener,
    catalog: catalog.calls,
    follow: catalog.follow,
    leaseSlots: catalog.leaseSlots,
    tracing,
  });
  const draining = new AbortController();
  const busy = watchBusy();
  const server = await startServer(service, { grpc, tracing, busy, draining: draining.signal });
  let catalogReached = false;
  void catalog.reached.then(() => {
    catalogReached = true;
    if (!draining.signal.aborted) server.setServing(true);
  });
  const closers = createClosers();
  if (tracing) closers.add(tracing);
  closers.add(busy);
  closers.add({ close: () => catalog.close() });
  closers.add({ close: () => service.close(0) });
  const { inFlight } = service;
  const stopLog = createStopLog({ logger, drainMs: grpc.drainMs, inFlight, what: 'executions' });
  closers.add({ close: () => server.close(grpc.drainMs, () => stopLog.cut(inFlight())) });
  const missing = () => (draining.signal.aborted ? ['executor'] : catalogReached ? [] : ['catalog']);
  const resealing = await startResealing({ privateKeys, opener, catalog: catalog.calls, logger });
  const metrics = () => service.metrics() + resealing.metrics();
  const ownMetrics = () => metrics() + (grpc.tls?.metrics() ?? '');
  closers.add(await serveMetrics(ownMetrics, { host: grpc.host, port: metricsPort, missing }));
  closers.add(resealing);
  logger.info({ event: 'service.started', port: server.port }, `the executor listens on port ${server.port}`);
  const { executor, readStatistics } = service;
  return {
    port: server.port,
    executor,
    readStatistics,
    metrics,
    stopLog,
    close: () => {
      server.setServing(false);
      draining.abort();
      service.drain();
      return closers.close();
    },
  };
}

interface ServerOptions {
  grpc: ReturnType<typeof readGrpcSettings>;
  tracing: ExecutorDeps['tracing'];
  draining: AbortSignal;
  busy: BusyWatch;
}

function startServer(service: ExecutorService, { grpc, tracing, draining, busy }: ServerOptions) {
  const { onFailure } = service;
  return startGrpcServer({
    address: `${grpc.host}:${grpc.port}`,
    services: [
      {
        definition: executorService,
        handlers: createHandlers(service, { callsMax: callsPerSessionMax, draining, onFailure, busy }),
      },
    ],
    reflect: grpc.reflection ? ['datahub.executor.v1.ExecutorService'] : [],
    // Health checks fail until the catalog was reached, because the executor can run nothing without it.
    serving: false,
    tracing,
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure,
  });
}

function createHandlers(
  { executor, readStatistics }: ExecutorService,
  options: SessionServerOptions,
): Calls<typeof ExecutorServiceService> {
  return {
    execute: (request, ctx) => serveExecute(executor, request, ctx),
    session: (requests, ctx) => serveSession(executor, requests, { ...ctx, options }),
    testSource: (request, ctx) => executor.testSource(request, ctx),
    readSchema: (request, ctx) => executor.readSchema(request, ctx),
    describeQuery: (request, ctx) => executor.describeQuery(request, ctx),
    checkSource: (request, ctx) => executor.checkSource(request, ctx),
    checkQuery: (request, ctx) => executor.checkQuery(request, ctx),
    findCommit: (request, ctx) => executor.findCommit(request, ctx),
    fetchIssuerKeys: (request, ctx) => executor.fetchIssuerKeys(request, ctx),
    fetchClientDocument: (request, ctx) => executor.fetchClientDocument(request, ctx),
    readStatistics,
  };
}

async function loadKeys({ privateKeys, keyFile }: SealingSettings): Promise<string[]> {
  const inFile = keyFile === undefined ? [] : await readKeys(keyFile);
  const faults = [
    ...(await faultsOf('DATAHUB_SEALING_PRIVATE_KEYS', privateKeys)),
    ...(await faultsOf('DATAHUB_SEALING_KEY_FILE', inFile)),
  ];
  if (keyFile !== undefined && inFile.length === 0) {
    faults.push('The file that DATAHUB_SEALING_KEY_FILE names contains no key.');
  }
  if (faults.length > 0) throw new SettingsError(faults);
  return [...privateKeys, ...inFile];
}

async function readKeys(keyFile: string): Promise<string[]> {
  try {
    return await readKeyFile(keyFile);
  } catch {
    throw new SettingsError(['The file that DATAHUB_SEALING_KEY_FILE names cannot be read.']);
  }
}

async function faultsOf(setting: string, keys: string[]): Promise<string[]> {
  const faults = await Promise.all(keys.map(faultOfPrivateKey));
  return faults.filter((fault) => fault !== undefined).map((fault) => `${setting}: ${fault}`);
}
