/** Where a service stores its documents, and how many an account may have. */

import { dirname, join } from 'node:path';
import type { SettingsReader } from './settings.ts';

/**
 * `DATAHUB_STORE_URL`: `sqlite:<directory>`, with a separate file for each service, or `mongodb://…`. The default is SQLite
 * in the data directory.
 */
export function readStoreUrl(reader: SettingsReader, service: string): string {
  const dataDir = reader.text('DATAHUB_DATA_DIR');
  const url = reader.text('DATAHUB_STORE_URL', `sqlite:${dataDir}`);
  if (url.startsWith('sqlite:')) {
    if (url === 'sqlite:') reader.fault('DATAHUB_STORE_URL must name a directory after sqlite:.');
    return `${url.replace(/\/+$/, '')}/${service}.db`;
  }
  if (!/^mongodb(\+srv)?:\/\//.test(url)) {
    reader.fault('DATAHUB_STORE_URL must be sqlite:<directory> or mongodb://….');
  }
  return url;
}

/** `DATAHUB_ACCOUNT_QUOTA`: how many resources of each kind an account may have; 0 for no limit. */
export function readAccountQuota(reader: SettingsReader): number {
  return reader.integer('DATAHUB_ACCOUNT_QUOTA');
}

/**
 * The socket for the operator's commands to a running service with an embedded store, which only one process can open.
 * Undefined for other stores, and on Windows, whose sockets have no file mode.
 */
export function operatorSocketOf(storeUrl: string, name: string): string | undefined {
  if (!storeUrl.startsWith('sqlite:') || process.platform === 'win32') return undefined;
  return join(dirname(storeUrl.slice('sqlite:'.length)), 'operator', name);
}
