/** The composition of the gateway: app, listener, metrics port. */

import { createServer } from 'node:http';
import type { Logger } from '@datahub/service-kit/logger';
import type { Tracing } from '@datahub/service-kit/tracing';
import { createApp } from './app.ts';
import { createAuth } from './auth.ts';
import type { GatewayConfig } from './config.ts';
import type { Edge } from './edge/edge.ts';
import { createGatewayEvents } from './events.ts';
import { createLimits } from './limits.ts';
import type { Readiness } from './routes/health.ts';
import { createSharedLimits } from './shared-limits.ts';
import type { Upstreams } from './upstreams.ts';
import { createUsage } from './usage.ts';

export interface GatewayDeps {
  logger: Logger;
  upstreams: Upstreams;
  readiness: Readiness;
  tracing?: Tracing | undefined;
  /** True where other gateways may serve the same keys. */
  sharesLimits?: boolean;
  /** Figures of the services in the same process, in the text form of Prometheus. */
  otherMetrics?: () => string;
}

export interface Gateway {
  /** The public port. */
  port: number;
  metricsPort: number;
  close(): Promise<void>;
}

const idleCloseMs = 100;

export async function openGateway(config: GatewayConfig, deps: GatewayDeps): Promise<Gateway> {
  const events = createGatewayEvents(deps.logger);
  const auth = createAuth({
    catalog: deps.upstreams.catalog,
    cacheMs: config.keyCacheMs,
    awayMs: config.keyCacheAwayMs,
  });
  const usage = createUsage({ catalog: deps.upstreams.catalog, logger: deps.logger });
  const local = createLimits(config);
  const { ratePerMinute } = config;
  const limits = deps.sharesLimits
    ? createSharedLimits({ catalog: deps.upstreams.catalog, ratePerMinute, local })
    : local;
  let draining = false;
  const readiness: Readiness = { missing: async () => (draining ? ['gateway'] : deps.readiness.missing()) };
  const edge = await openEdge(config, deps.logger);
  const app = await createApp(config, {
    ...deps,
    auth,
    limits,
    events,
    usage,
    readiness,
    inFront: edge?.inFront,
  });
  await app.listen({ host: config.host, port: config.port });
  const metrics = await openMetrics(
    config,
    async () => (await events.registry.metrics()) + (deps.otherMetrics?.() ?? ''),
  );
  let closing: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    draining = true;
    const cut = setTimeout(() => app.server.closeAllConnections(), config.drainMs);
    // Whoever is answered meanwhile keeps the connection for a next request that will not come.
    const idle = setInterval(() => app.server.closeIdleConnections(), idleCloseMs);
    await app.close();
    clearInterval(idle);
    clearTimeout(cut);
    edge?.close();
    await usage.close();
    await metrics.close();
  };

  return {
    port: (app.server.address() as { port: number }).port,
    metricsPort: metrics.port,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

/** Express Gateway is loaded only where it is wanted. */
async function openEdge(config: GatewayConfig, logger: Logger): Promise<Edge | undefined> {
  if (config.edge === 'none') return undefined;
  const edge = await import('./edge/edge.ts');
  return edge.openEdge({ configPath: config.edgeConfigPath, logger, env: config.edgeVariables });
}

/** Metrics have a port of their own, so that they are never on the public one. */
async function openMetrics(config: GatewayConfig, read: () => Promise<string>) {
  if (config.metricsPort === 0) return { port: 0, close: async () => {} };
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') return response.writeHead(404).end();
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    return response.end(await read());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(config.metricsPort, config.host, resolve);
  });
  return {
    port: (server.address() as { port: number }).port,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}
