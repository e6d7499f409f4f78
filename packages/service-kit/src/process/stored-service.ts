/**
 * The life cycle of a service that runs as its own process and has a store. While it waits for the store, its ports are
 * open and report that it is not serving.
 */

import type { Closable } from '../closers.ts';
import { type GrpcServerOptions, startGrpcServer } from '../grpc/server.ts';
import { type GrpcSettings, serverCredentialsOf } from '../grpc/settings.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createRpcMetrics, serveMetrics } from '../telemetry/metrics.ts';
import { renderStores } from '../telemetry/store-metrics.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { RunningService } from './lifecycle.ts';
import { createStopLog } from './stop-log.ts';
import { isAwaited, openWithStore } from './store-wait.ts';

interface Stored extends Closable {
  /** Rejects if the store does not work. */
  health(): Promise<void>;
  /** What the service waits for before it serves well. It answers calls meanwhile, but reports that it is not serving. */
  settling?: { name: string; settled: Promise<void> };
}

export interface StoredServiceOptions<T extends Stored> {
  /** The name of the service in `/readyz`. */
  name: string;
  /** The name of the service in the log. */
  title: string;
  logger: Logger;
  tracing: Tracing | undefined;
  grpc: GrpcSettings;
  metricsPort: number;
  storeUrl: string;
  open: () => Promise<T>;
  /** The services of each port, the public port first. `find` returns undefined until the store is open. */
  ports: (find: () => T | undefined) => ServedPort[];
  /** Ends long-lived streams, which would prevent draining. */
  beforeDrain?: (service: T) => void;
}

export type ServedPort = Pick<
  GrpcServerOptions,
  'address' | 'services' | 'portSetting' | 'reflect' | 'connectionAgeMs' | 'keepalive'
>;

export interface RunningStoredService<T> extends RunningService {
  service: T;
  /** Returns its metrics in Prometheus' text format. */
  metrics(): Promise<string>;
}

export async function startStoredService<T extends Stored>(
  options: StoredServiceOptions<T>,
): Promise<RunningStoredService<T>> {
  const { name, title, logger, tracing, grpc } = options;
  let opened: T | undefined;
  let draining = false;
  let settling: string | undefined;
  const missing = () => [
    ...(opened === undefined ? ['store'] : []),
    ...(settling === undefined ? [] : [settling]),
    ...(draining ? [name] : []),
  ];
  let listening: ReturnType<typeof listen> | undefined;
  const listenOnce = () => {
    listening ??= listen(options, { find: () => opened, missing });
    return listening;
  };
  const service = await openWithStore(options.open, {
    logger,
    isAwaited: isAwaited(options.storeUrl),
    onUnavailable: listenOnce,
  });
  settling = service.settling?.name;
  opened = service;
  const { servers, metricsServer, metrics } = await listenOnce();
  const serve = () => {
    settling = undefined;
    if (!draining) for (const server of servers) server.setServing(true);
  };
  if (service.settling === undefined) serve();
  else void service.settling.settled.then(serve);
  const port = servers[0]?.port;
  logger.info({ event: 'service.started', port }, `${title} listens on port ${port}`);
  const stopLog = createStopLog({
    logger,
    drainMs: grpc.drainMs,
    inFlight: () => servers.reduce((sum, server) => sum + server.inFlight(), 0),
    what: 'calls',
  });
  return {
    service,
    metrics,
    stopLog,
    close: async () => {
      draining = true;
      for (const server of servers) server.setServing(false);
      options.beforeDrain?.(service);
      await Promise.all(servers.map((one) => one.close(grpc.drainMs, () => stopLog.cut(one.inFlight()))));
      await service.close();
      await metricsServer.close();
      await tracing?.close();
    },
  };
}

/** Opens the ports, which report NOT_SERVING at first. */
async function listen<T extends Stored>(
  options: StoredServiceOptions<T>,
  { find, missing }: { find: () => T | undefined; missing: () => string[] },
) {
  const { name, logger, tracing, grpc, metricsPort, storeUrl } = options;
  grpc.tls?.logTo(logger);
  const rpcMetrics = createRpcMetrics();
  const common: Omit<GrpcServerOptions, keyof ServedPort> = {
    serving: false,
    tracing,
    metrics: rpcMetrics,
    serviceTokens: grpc.serviceTokens,
    credentials: serverCredentialsOf(grpc),
    onFailure: (err, requestId, path) =>
      logger.error({ event: 'rpc.failed', err, requestId, path }, 'a call failed'),
  };
  const servers = [];
  for (const port of options.ports(find)) servers.push(await startGrpcServer({ ...common, ...port }));
  const health = async () => {
    const service = find();
    if (service === undefined) throw new Error('The store is not open.');
    await service.health();
  };
  const metrics = async () =>
    rpcMetrics.text() +
    (grpc.tls?.metrics() ?? '') +
    (await renderStores([{ service: name, storeUrl, health }]));
  const metricsServer = await serveMetrics(metrics, {
    host: grpc.host,
    port: metricsPort,
    missing,
  });
  return { servers, metricsServer, metrics };
}
