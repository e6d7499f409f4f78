/** Where a service keeps its documents, and how many. */

import { dirname, join } from 'node:path';
import type { SettingsReader } from './settings.ts';

/**
 * `DATAHUB_STORE_URL`: `sqlite:<directory>`, in which each service has a file of its own, or `mongodb://…`. The default
 * is SQLite in the data directory.
 */
export function readStoreUrl(reader: SettingsReader, service: string): string {
  const dataDir = reader.text('DATAHUB_DATA_DIR', 'data');
  const url = reader.text('DATAHUB_STORE_URL', `sqlite:${dataDir}`);
  if (url.startsWith('sqlite:')) {
    if (url === 'sqlite:') reader.fault('DATAHUB_STORE_URL names no directory after sqlite:.');
    return `${url.replace(/\/+$/, '')}/${service}.db`;
  }
  if (!/^mongodb(\+srv)?:\/\//.test(url)) {
    reader.fault('DATAHUB_STORE_URL must be sqlite:<directory> or mongodb://….');
  }
  return url;
}

/** `DATAHUB_ACCOUNT_QUOTA`: how many things of each kind an account may have; 0 for no bound. */
export function readAccountQuota(reader: SettingsReader): number {
  return reader.integer('DATAHUB_ACCOUNT_QUOTA', { fallback: 100_000, min: 0, max: 1_000_000_000 });
}

/**
 * Where the operator's commands reach a running service whose store is open to one process; undefined for other stores.
 * Windows has no sockets with a mode.
 */
export function operatorSocketOf(storeUrl: string, name: string): string | undefined {
  if (!storeUrl.startsWith('sqlite:') || process.platform === 'win32') return undefined;
  return join(dirname(storeUrl.slice('sqlite:'.length)), 'operator', name);
}
