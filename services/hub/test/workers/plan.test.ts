import { generateKeyPair } from '@datahub/sealing/key-pair';
import { expect, it } from 'vitest';
import { readHubSettings } from '../../src/hub-settings.ts';
import { planProcesses } from '../../src/workers/plan.ts';

it('keeps what the environment says of other hubs over the store, and takes the sealing keys of the file', async () => {
  const { privateKey } = await generateKeyPair();
  const env = {
    DATAHUB_SERVICE_TOKEN: 'x'.repeat(32),
    DATAHUB_CATALOG_REPLICAS: '2',
    DATAHUB_SEALING_PRIVATE_KEYS: privateKey,
  };
  const options = { count: 2, port: 8080, privateKeys: [] };
  const { owner, workers } = await planProcesses(readHubSettings(env), options);
  for (const own of [owner, ...workers])
    expect({ ...env, ...own }).toMatchObject({
      DATAHUB_CATALOG_REPLICAS: '2',
      DATAHUB_SEALING_PRIVATE_KEYS: '',
    });
});
