/** The catalog's settings. */

import { isGivenKeyShape } from '@datahub/service-kit/api-key';
import { type Environment, readSettings } from '@datahub/service-kit/settings';

export interface CatalogConfig {
  /** `sqlite:<path>` or `mongodb://…`. */
  storeUrl: string;
  namespace: string;
  apiKey?: string | undefined;
  keyFile?: string | undefined;
  /** Public sealing keys, `<id>:<base64url>` each; the first seals. */
  sealingPublicKeys: string[];
  /** How long an executor may hold a definition. */
  leaseMs: number;
}

export function readCatalogConfig(env: Environment): CatalogConfig {
  return readSettings(env, (reader) => {
    const dataDir = reader.text('DATAHUB_DATA_DIR', 'data');
    const storeUrl = reader.text('DATAHUB_STORE_URL', `sqlite:${dataDir}/catalog.db`);
    if (!/^(sqlite:|mongodb(\+srv)?:\/\/)/.test(storeUrl)) {
      reader.fault('DATAHUB_STORE_URL must start with sqlite: or mongodb://.');
    }
    const apiKey = reader.optional('DATAHUB_API_KEY');
    if (apiKey !== undefined && !isGivenKeyShape(apiKey)) {
      reader.fault('DATAHUB_API_KEY must have 32 to 256 characters of A-Z, a-z, 0-9, _ and -.');
    }
    const namespace = reader.text('DATAHUB_NAMESPACE', 'dh');
    if (!/^[a-z][a-z0-9-]{0,31}$/.test(namespace)) {
      reader.fault('DATAHUB_NAMESPACE must be a lower-case word of at most 32 characters.');
    }
    return {
      storeUrl,
      namespace,
      apiKey,
      keyFile: `${dataDir}/api-key`,
      sealingPublicKeys: reader.list('DATAHUB_SEALING_PUBLIC_KEYS', []),
      leaseMs: reader.integer('DATAHUB_LEASE_MS', { fallback: 1_000, min: 0, max: 1_000 }),
    };
  });
}
