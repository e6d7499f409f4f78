/** The hub in one process and, unless DATAHUB_DEMO=0, a demo with queries and a trained classifier. */

import { createClosers } from '@datahub/service-kit/closers';
import type { RunningService } from '@datahub/service-kit/process/lifecycle';
import type { Environment } from '@datahub/service-kit/settings/settings';
import { findKey, storeUrl } from './access.ts';
import { openHub } from './compose.ts';
import { greet } from './welcome.ts';

export async function startOneProcess(env: Environment): Promise<RunningService> {
  const hub = await openHub(env);
  const closers = createClosers();
  closers.add(hub);
  closers.add(await storeUrl(hub.dataDir, hub.url));
  closers.add(await greet(hub, await findKey(env, hub.dataDir)));
  return { stopLog: hub.stopLog, close: closers.close };
}
