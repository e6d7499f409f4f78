/** All four services in one process, connected by the interfaces that gRPC serves between processes. */

import { checkStatement } from '@datahub/catalog/check-statement';
import { openCatalog } from '@datahub/catalog/service';
import { requireMatchingKeys } from '@datahub/executor/credentials/key-check';
import { startResealing } from '@datahub/executor/credentials/rotation';
import { watchCatalog } from '@datahub/executor/definitions/catalog-watch';
import { createEngines } from '@datahub/executor/engines/index';
import { compileStored } from '@datahub/executor/execution/transactions/compile';
import { createResponseWriters } from '@datahub/executor/result/response-writer';
import { openExecutor } from '@datahub/executor/service';
import { leaseSlots } from '@datahub/executor/slots/slot-stream';
import { allowsSignIn } from '@datahub/gateway/open/sign-in';
import { openGateway } from '@datahub/gateway/service';
import { openMl } from '@datahub/ml/service';
import { publicKeyOf } from '@datahub/sealing/key-pair';
import { createOpener } from '@datahub/sealing/opener';
import { createSealer } from '@datahub/sealing/sealer';
import { createClosers } from '@datahub/service-kit/closers';
import type { StopLog } from '@datahub/service-kit/process/stop-log';
import { isAwaited, openWithStore } from '@datahub/service-kit/process/store-wait';
import { warnOfUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { createLogger } from '@datahub/service-kit/telemetry/logger';
import { renderStores } from '@datahub/service-kit/telemetry/store-metrics';
import { openTracing } from '@datahub/service-kit/telemetry/tracing';
import { urlOf } from './access.ts';
import { type HubSettings, readHubSettings } from './hub-settings.ts';
import { loadSealingKeys } from './sealing-keys.ts';
import { createSignInLinks } from './sign-in-link.ts';
import type { GreetingHub } from './welcome.ts';

export interface Hub extends GreetingHub {
  port: number;
  metricsPort: number;
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

async function open(settings: HubSettings, closers: ReturnType<typeof createClosers>): Promise<Hub> {
  const { dataDir } = settings;
  const logger = createLogger({ service: 'hub', ...settings.log });
  warnOfUnknownSettings(settings.env, logger);
  const tracing = await openTracing(settings.env, 'hub');
  if (tracing) closers.add(tracing);
  const { storeUrl } = settings.catalog;
  const waiting = { logger, isAwaited: isAwaited(storeUrl) };
  const { keyFile, privateKeys } = await loadSealingKeys({ dataDir, storeUrl, logger });
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
    leaseSlots: (book) =>
      leaseSlots({ catalog: catalog.internal, instanceId: 'hub', random: Math.random, book }),
    opener,
    engines: createEngines(),
    compile: compileStored,
    createWriter: createResponseWriters(),
    tracing,
  });
  closers.add({ close: () => executor.close(settings.gateway.drainMs) });
  const resealing = await startResealing({ privateKeys, opener, catalog: catalog.internal, logger });
  closers.add(resealing);
  await catalog.mlFile.require(settings.ml.storeUrl);
  const ml = await openWithStore(() => openMl(settings.ml, { logger }), waiting);
  await catalog.mlFile.remember();
  closers.add(ml);
  const links = createSignInLinks({ catalog: catalog.calls, nowMs: Date.now });
  const gateway = await openGateway(settings.gateway, {
    signIn: links,
    logger,
    upstreams: { catalog: catalog.calls, executor: executor.executor, ml: ml.calls },
    // The executor needs no store, so it is there as long as this process is.
    readiness: { parts: ['catalog', 'executor', 'ml'], missing: () => unhealthy({ catalog, ml }) },
    otherMetrics: async () =>
      executor.metrics() +
      resealing.metrics() +
      (await renderStores([
        { service: 'catalog', storeUrl, health: catalog.health },
        { service: 'ml', storeUrl: settings.ml.storeUrl, health: ml.health },
      ])),
    tracing,
  });
  closers.add(gateway);
  return {
    url: urlOf(settings.gateway.host, gateway.port),
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
