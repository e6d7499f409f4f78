/** The process with the catalog, ml and their files, the operator's socket, the sign-in link and the demo. */

import { join } from 'node:path';
import { startCatalogProcess } from '@datahub/catalog/process';
import { requireMatchingKeys } from '@datahub/executor/credentials/key-check';
import { allowsSignIn } from '@datahub/gateway/open/sign-in';
import { startMlProcess } from '@datahub/ml/process';
import { readKeyFile } from '@datahub/sealing/key-pair';
import { createClosers } from '@datahub/service-kit/closers';
import { type RunningService, runProcess } from '@datahub/service-kit/process/lifecycle';
import { withoutUnknownSettings } from '@datahub/service-kit/process/unknown-settings';
import { createProcessRegistry } from '@datahub/service-kit/telemetry/process-metrics';
import { findKey, urlOf } from '../access.ts';
import { readHubSettings } from '../hub-settings.ts';
import { createSignInLinks } from '../sign-in-link.ts';
import { greet } from '../welcome.ts';
import { openChannel } from './channel.ts';
import { innerEnvironment, portOf } from './inner-environment.ts';

async function start(): Promise<RunningService> {
  const env = withoutUnknownSettings(process.env);
  const settings = readHubSettings(env);
  const { dataDir, gateway } = settings;
  const registry = createProcessRegistry();
  const inner = innerEnvironment(env);
  const catalog = await startCatalogProcess({
    ...inner,
    DATAHUB_GRPC_PORT: portOf(env.DATAHUB_CATALOG_ADDRESS),
    DATAHUB_INTERNAL_PORT: portOf(env.DATAHUB_CATALOG_INTERNAL_ADDRESS),
  });
  const { mlFile } = catalog.service;
  await mlFile.require(settings.ml.storeUrl);
  const ml = await startMlProcess({ ...inner, DATAHUB_GRPC_PORT: portOf(env.DATAHUB_ML_ADDRESS) });
  await mlFile.remember();
  const closers = createClosers();
  closers.add(catalog);
  closers.add(ml);
  const keyFile = join(dataDir, 'sealing-keys');
  await requireMatchingKeys(catalog.service.internal, await readKeyFile(keyFile), keyFile);
  const links = createSignInLinks({ catalog: catalog.service.calls, nowMs: Date.now });
  const channel = openChannel(process, {
    metrics: async () => (await registry.metrics()) + (await catalog.metrics()) + (await ml.metrics()),
    redeem: (code: string) => links.redeem(code),
    greet: async () => {
      const hub = {
        url: urlOf(gateway.host, gateway.port),
        dataDir,
        createdKey: catalog.service.bootstrapped.createdKey,
        console: gateway.console,
        createSignInCode: allowsSignIn(gateway) ? links.createCode : undefined,
        demo: settings.demo,
      };
      closers.add(await greet(hub, await findKey(env, dataDir)));
    },
  });
  await channel.ask('started');
  return { ...(catalog.stopLog ? { stopLog: catalog.stopLog } : {}), close: closers.close };
}

await runProcess({ start, stoppedByParent: true });
