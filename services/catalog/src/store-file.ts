/** Checks the file of an embedded store at startup. */

import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { hasDocuments } from '@datahub/document-store/sqlite/has-documents';
import { HubError } from '@datahub/service-kit/call/error';
import { hasCredentials } from './maintenance/forget-credentials.ts';
import { openCatalogStore } from './store.ts';

/** True if the store has sealed credentials. A newly generated key could not open them. */
export async function hasSealed(storeUrl: string): Promise<boolean> {
  const path = pathOf(storeUrl);
  if (path !== undefined && sizeOf(path) <= 0) return false;
  const store = await openCatalogStore(storeUrl);
  try {
    return await hasCredentials(store);
  } finally {
    await store.close();
  }
}

/**
 * Throws if the file is empty or missing but files of a used hub stand beside it: the data was lost, and a new store would
 * hide that.
 */
export function requireWhole(storeUrl: string): void {
  const path = pathOf(storeUrl);
  if (path === undefined || sizeOf(path) > 0) return;
  if (sizeOf(path) < 0) {
    requireUnusedBeside(path);
    return;
  }
  const others = [`${path}-wal`, join(dirname(path), 'ml.db'), join(dirname(path), 'api-key')];
  const found = others.find((other) => sizeOf(other) > 0);
  if (found === undefined) return;
  throw new HubError(
    'UNAVAILABLE',
    `${path} is empty, but ${found} next to it is not: the data of the hub is lost. Restore a backup. To start with an empty hub, delete the empty file.`,
    { retryable: false },
  );
}

/** At the first start of a hub in several processes, ml may have opened its file before. It has no documents then. */
function requireUnusedBeside(path: string): void {
  const other = join(dirname(path), 'ml.db');
  if (sizeOf(other) <= 0 || !hasDocuments(other)) return;
  throw new HubError(
    'UNAVAILABLE',
    `${path} is missing, but ${other} next to it has data of a hub. Put ${path} back, or restore a backup of both. To start with an empty hub, move ${other} away.`,
    { retryable: false },
  );
}

function pathOf(storeUrl: string): string | undefined {
  const path = storeUrl.slice('sqlite:'.length);
  return storeUrl.startsWith('sqlite:') && path !== ':memory:' ? path : undefined;
}

/** In bytes; -1 if there is no file. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? -1;
}
