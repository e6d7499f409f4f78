/** All four services in one process, connected by the interfaces that gRPC serves between processes. */

import { join } from 'node:path';
import { checkStatement } from '@datahub/catalog/check-statement';
import { readCatalogConfig } from '@datahub/catalog/config';
import { openCatalog } from '@datahub/catalog/service';
import { hasSealed } from '@datahub/catalog/store-file';
import { readExecutorConfig } from '@datahub/executor/config';
import { requireMatchingKeys } from '@datahub/executor/credentials/key-check';
import { startResealing } from '@datahub/executor/credentials/rotation';
import { watchCatalog } from '@datahub/executor/definitions/catalog-watch';
import { createEngines } from '@datahub/executor/engines/index';
import { compileQuery } from '@datahub/executor/execution/prepare';
import { createResponseWriters } from '@datahub/executor/result/response-writer';
import { openExecutor } from '@datahub/executor/service';
import { allowsSignIn } from '@datahub/gateway/access/sign-in';
import { readGatewayConfig } from '@datahub/gateway/config';
import { openGateway } from '@datahub/gateway/service';
import { readMlConfig } from '@datahub/ml/config';
import { openMl } from '@datahub/ml/service';
import { loadKeyFile, publicKeyOf } from '@datahub/sealing/key-pair';
import { createOpener } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { createClosers } from '@datahub/service-kit/process/lifecycle';
import { type Environment, readSettings } from '@datahub/service-kit/process/settings';
import type { StopLog } from '@datahub/service-kit/process/stop-log';
import { isAwaited, openWithStore } from '@datahub/service-kit/process/store-wait';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { createLogger, readLoggerSettings } from '@datahub/service-kit/telemetry/logger';
import { renderStores } from '@datahub/service-kit/telemetry/store-metrics';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { createSignInLinks } from './sign-in-link.ts';

export interface Hub {
  /** The URL on this machine. */
  url: string;
  port: number;
  metricsPort: number;
  dataDir: string;
  /** The key that the first start created, to be shown once. */
  createdKey: string | undefined;
  /** Whether the URL serves the console. */
  console: boolean;
  /** For a link that signs in with a new key that may do what the given one may; undefined if others may reach the hub. */
  createSignInCode: ((apiKey: string) => string) | undefined;
  /** Whether to start the demo. */
  demo: boolean;
  stopLog: StopLog;
  close(): Promise<void>;
}

export async function openHub(env: Environment): Promise<Hub> {
  const settings = readHubSettings(env);
  const closers = createClosers();
  try {
    return await open(settings, closers);
  } catch (err) {
    await closers.close();
    throw err;
  }
}

function readHubSettings(env: Environment) {
  return readSettings(env, (reader) => ({
    env,
    dataDir: reader.text('DATAHUB_DATA_DIR', 'data'),
    catalog: readCatalogConfig(reader),
    executor: readExecutorConfig(reader, { embedded: true }),
    ml: readMlConfig(reader),
    gateway: readGatewayConfig(reader, { edge: 'none', metricsPort: 0, env }),
    log: readLoggerSettings(reader),
    demo: reader.flag('DATAHUB_DEMO', true),
  }));
}

async function open(
  settings: ReturnType<typeof readHubSettings>,
  closers: ReturnType<typeof createClosers>,
): Promise<Hub> {
  const { dataDir } = settings;
  const logger = createLogger({ service: 'hub', ...settings.log });
  warnOfUnknownSettings(settings.env, logger);
  const tracing = await openTracing(settings.env, 'hub');
  if (tracing) closers.add(tracing);
  const keyFile = join(dataDir, 'sealing-keys');
  const { storeUrl } = settings.catalog;
  const waiting = { logger, isAwaited: isAwaited(storeUrl) };
  const mayCreate = async () => !(await openWithStore(() => hasSealed(storeUrl), waiting));
  const privateKeys = await loadKeyFile(keyFile, mayCreate);
  const publicKeys = await Promise.all(privateKeys.map(publicKeyOf));

  const seal = await createSealer(publicKeys);
  const deps = { logger, nowMs: Date.now, seal, checkStatement };
  const catalog = await openWithStore(() => openCatalog(settings.catalog, deps), waiting);
  closers.add(catalog);
  await requireMatchingKeys(catalog.internal, privateKeys, keyFile);
  const opener = await createOpener(privateKeys);
  const executor = openExecutor(settings.executor, {
    logger,
    catalog: catalog.internal,
    follow: (news) =>
      watchCatalog({ catalog: catalog.internal, instanceId: 'hub', random: Math.random, ...news }),
    opener,
    engines: createEngines(),
    compile: compileQuery,
    createWriter: createResponseWriters(),
    tracing,
  });
  closers.add({ close: () => executor.close(settings.gateway.drainMs) });
  closers.add(await startResealing({ privateKeys, opener, catalog: catalog.internal, logger }));
  const ml = await openWithStore(() => openMl(settings.ml, { logger }), waiting);
  closers.add(ml);
  const links = createSignInLinks({ catalog: catalog.calls, nowMs: Date.now });
  const gateway = await openGateway(settings.gateway, {
    signIn: links,
    logger,
    upstreams: { catalog: catalog.calls, executor: executor.executor, ml: ml.calls },
    readiness: { parts: ['catalog', 'ml'], missing: () => unhealthy({ catalog, ml }) },
    otherMetrics: async () =>
      executor.metrics() +
      (await renderStores([
        { service: 'catalog', storeUrl, health: catalog.health },
        { service: 'ml', storeUrl: settings.ml.storeUrl, health: ml.health },
      ])),
    tracing,
  });
  closers.add(gateway);
  return {
    url: `http://${hostFor(settings.gateway.host)}:${gateway.port}`,
    port: gateway.port,
    metricsPort: gateway.metricsPort,
    dataDir,
    createdKey: catalog.bootstrapped.createdKey,
    console: settings.gateway.console,
    createSignInCode: allowsSignIn(settings.gateway) ? links.createCode : undefined,
    demo: settings.demo,
    stopLog: gateway.stopLog,
    close: async () => closers.close(),
  };
}

async function unhealthy(parts: Record<string, { health(): Promise<void> }>): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(parts).map(([name, part]) =>
      part.health().then(
        () => undefined,
        () => name,
      ),
    ),
  );
  return answers.filter((name) => name !== undefined);
}

/** A wildcard address is reached at the loopback address. */
function hostFor(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
