/** Where a service keeps its documents. */

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
