/** Logs, at the first start over a store that older hubs wrote, which keys their limits now keep from something. */

import { withheldOf } from '@datahub/contract/withheld';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { KeyDoc } from '../documents.ts';
import type { CatalogStore } from '../store.ts';
import { scanAll } from './deletion-sweep.ts';

export async function logWithheldOnce(
  store: Pick<CatalogStore, 'accounts' | 'keys'>,
  { logger, nowMs }: { logger: Logger; nowMs: () => number },
): Promise<void> {
  const first = await store.accounts.getUnique('name', 'first');
  if (first === null || first.withheldLoggedAt !== undefined) return;
  for await (const key of scanAll<KeyDoc>(store.keys)) {
    const { id: keyId, accountId, name } = key;
    for (const { scope, limit, detail } of withheldOf(key))
      logger.warn(
        { event: 'key.withheld', keyId, accountId, scope, limit },
        `the key "${name}" cannot ${detail}, because of its limit ${limit}`,
      );
  }
  // If another replica was faster, both have logged.
  await store.accounts.replace({ ...first, withheldLoggedAt: nowMs(), version: first.version + 1 });
}
