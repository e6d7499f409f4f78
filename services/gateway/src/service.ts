/** The composition of the gateway: app, listener, metrics port. */

import type { Edge } from '@datahub/edge/edge';
import { watchDescriptors } from '@datahub/service-kit/process/descriptors';
import { createStopLog, type StopLog } from '@datahub/service-kit/process/stop-log';
import { cannotListen } from '@datahub/service-kit/settings/start-failure';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { serveMetrics } from '@datahub/service-kit/telemetry/metrics';
import type { Tracing } from '@datahub/service-kit/telemetry/tracing';
import { createKeyCache } from './access/authenticate.ts';
import { createRateLimiter, type RateLimiter } from './access/rate-limiter.ts';
import { createSharedRateLimiter } from './access/shared-rate-limiter.ts';
import { createUserTokens } from './access/user-tokens.ts';
import { createApp } from './app.ts';
import type { GatewayConfig } from './config.ts';
import { watchConnections } from './http/listener.ts';
import { answerProblem } from './http/raw-problem.ts';
import { createJobRunner } from './jobs/job-runner.ts';
import { challengeOf } from './oauth/settings.ts';
import type { Readiness } from './open/health.ts';
import type { SignIn } from './open/sign-in.ts';
import { createSessionReader } from './people/cookies.ts';
import { createRefreshRunner } from './people/refresh-runner.ts';
import { createGatewayEvents } from './telemetry/events.ts';
import { createUsageCounter, type UsageCounter } from './telemetry/usage-counter.ts';
import type { Upstreams } from './upstreams.ts';
import { createWatchRunner } from './watches/watch-runner.ts';

export interface GatewayDeps {
  logger: Logger;
  upstreams: Upstreams;
  readiness: Readiness;
  tracing?: Tracing | undefined;
  /** True if other gateways may serve the same keys. */
  sharesLimits?: boolean;
  /** Returns the metrics of the other services in this process, in Prometheus' text format. */
  otherMetrics?: () => Promise<string>;
  /** Creates links that sign in at a hub in one process. */
  signIn?: SignIn;
}

export interface Gateway {
  /** The public port. */
  port: number;
  metricsPort: number;
  stopLog: StopLog;
  /** Returns its metrics in Prometheus' text format. */
  metrics(): Promise<string>;
  close(): Promise<void>;
}

export async function openGateway(config: GatewayConfig, deps: GatewayDeps): Promise<Gateway> {
  const events = createGatewayEvents(deps.logger);
  const keyCache = createKeyCache({
    catalog: deps.upstreams.catalog,
    cacheMs: config.keyCacheMs,
    awayMs: config.keyCacheAwayMs,
  });
  const usage = createUsageCounter({ catalog: deps.upstreams.catalog, logger: deps.logger });
  const rateLimiter = openRateLimiter(config, deps);
  let draining = false;
  const readiness: Readiness = { ...deps.readiness, draining: () => draining };
  const edge = await openEdge(config, deps.logger);
  let ownWork: ReturnType<typeof startOwnWork> | undefined;
  const app = await createApp(config, {
    ...deps,
    keyCache,
    rateLimiter,
    userTokens: createUserTokens(deps.upstreams),
    ...waysIn(config),
    events,
    usage,
    readiness,
    onWork: () => ownWork?.expect(),
    inFront: edge?.inFront,
  });
  const connections = watchConnections(app.server);
  await app.listen({ host: config.host, port: config.port }).catch((err) => {
    throw cannotListen('PORT', err);
  });
  if (config.ownWork) ownWork = startOwnWork(config, { ...deps, usage });
  const metricsText = async () => (await events.metrics()) + lagText(ownWork?.lagMs() ?? 0);
  const allMetrics = async () => (await metricsText()) + ((await deps.otherMetrics?.()) ?? '');
  const metrics = await serveMetrics(allMetrics, { host: config.host, port: config.metricsPort });
  const descriptors = watchDescriptors(deps);
  const stopLog = createStopLog({
    logger: deps.logger,
    drainMs: config.drainMs,
    inFlight: connections.inFlight,
    what: 'requests',
  });
  let closing: Promise<void> | undefined;

  const close = async (): Promise<void> => {
    draining = true;
    const returned = ownWork?.close();
    const cut = setTimeout(() => {
      stopLog.cut(connections.inFlight());
      connections.cut();
    }, config.drainMs);
    await connections.drain();
    clearTimeout(cut);
    await app.close();
    edge?.close();
    descriptors.close();
    await returned;
    await usage.close();
    await metrics.close();
  };

  return {
    port: (app.server.address() as { port: number }).port,
    metricsPort: metrics.port,
    stopLog,
    metrics: metricsText,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

const waysIn = ({ publicOrigin, oauth, oidc }: GatewayConfig) => ({
  publicOrigin,
  challenge: oauth && challengeOf(oauth),
  sessionOf: oidc && createSessionReader(oidc.publicOrigin),
});

/** What no client asks for at the moment. */
function startOwnWork({ oidc }: GatewayConfig, deps: GatewayDeps & { usage: UsageCounter }) {
  const [watches, jobs] = [createWatchRunner(deps), createJobRunner(deps)];
  const refreshes = oidc && createRefreshRunner(oidc, deps);
  return {
    lagMs: () => watches.lagMs(),
    expect: () => {
      watches.expectWork();
      jobs.expectWork();
    },
    close: () => Promise.all([jobs.close(), watches.close(), refreshes?.close()]),
  };
}

const lagText = (lagMs: number): string =>
  `# TYPE datahub_watch_lag_seconds gauge\ndatahub_watch_lag_seconds ${lagMs / 1_000}\n`;

function openRateLimiter(config: GatewayConfig, { sharesLimits, upstreams }: GatewayDeps): RateLimiter {
  const local = createRateLimiter(config);
  const { ratePerMinute, unknownKeysPerMinute } = config;
  if (!sharesLimits) return local;
  return createSharedRateLimiter({ catalog: upstreams.catalog, ratePerMinute, unknownKeysPerMinute, local });
}

/** Loads Express Gateway only if it is configured. */
async function openEdge(config: GatewayConfig, logger: Logger): Promise<Edge | undefined> {
  if (config.edge === 'none') return undefined;
  const edge = await import('@datahub/edge/edge');
  return edge.openEdge({
    configPath: config.edgeConfigPath,
    logger,
    env: config.edgeVariables,
    answer: answerProblem,
  });
}
