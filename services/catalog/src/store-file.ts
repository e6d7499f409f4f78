/** Whether the file of an embedded store is there, and is what it was. */

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { HubError } from '@datahub/service-kit/call/error';
import { openCatalogStore } from './store.ts';

/** True where the store keeps credentials that are sealed already: a key that is made now would open none of them. */
export async function hasSealed(storeUrl: string): Promise<boolean> {
  const path = pathOf(storeUrl);
  if (path !== undefined && sizeOf(path) <= 0) return false;
  const store = await openCatalogStore(storeUrl);
  try {
    return (await store.sources.scan({ limit: 1 })).length > 0;
  } finally {
    await store.close();
  }
}

/** Throws where the file is empty beside others that only a used hub leaves: it was lost, and is not to be begun anew. */
export function requireWhole(storeUrl: string): void {
  const path = pathOf(storeUrl);
  if (path === undefined || sizeOf(path) !== 0) return;
  const others = [`${path}-wal`, join(dirname(path), 'ml.db'), join(dirname(path), 'api-key')];
  const found = others.find((other) => sizeOf(other) > 0);
  if (found === undefined) return;
  throw new HubError(
    'UNAVAILABLE',
    `${path} is empty, but ${found} beside it is not: what the hub kept was lost. Put a backup in its place. To begin anew, remove the empty file.`,
    { retryable: false },
  );
}

function pathOf(storeUrl: string): string | undefined {
  const path = storeUrl.slice('sqlite:'.length);
  return storeUrl.startsWith('sqlite:') && path !== ':memory:' ? path : undefined;
}

/** In bytes; -1 where there is none. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}
