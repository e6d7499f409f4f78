/** The sealing keys of a data directory. */

import { join } from 'node:path';
import { loadKeyFile } from '@datahub/sealing/key-pair';
import { createDirectory } from '@datahub/service-kit/process/create-directory';
import { isAwaited, openWithStore } from '@datahub/service-kit/process/store-wait';
import type { Logger } from '@datahub/service-kit/telemetry/logger';

export interface SealingKeys {
  keyFile: string;
  privateKeys: string[];
}

/** Creates the file unless the store has credentials, which would be sealed to lost keys. */
export async function loadSealingKeys(options: {
  dataDir: string;
  storeUrl: string;
  logger: Logger;
}): Promise<SealingKeys> {
  const { dataDir, storeUrl, logger } = options;
  createDirectory(dataDir);
  const keyFile = join(dataDir, 'sealing-keys');
  const mayCreate = async () => {
    // Loaded only at the first start.
    const { hasSealed } = await import('@datahub/catalog/store-file');
    return !(await openWithStore(() => hasSealed(storeUrl), { logger, isAwaited: isAwaited(storeUrl) }));
  };
  return { keyFile, privateKeys: await loadKeyFile(keyFile, mayCreate) };
}
