import { generateKeyPair } from '@datahub/sealing/key-pair';
import { expect, it } from 'vitest';
import { readHubSettings } from '../../src/hub-settings.ts';
import { planProcesses } from '../../src/workers/plan.ts';

it('keeps what the environment says of other hubs over the store, and leaves out what is for processes that run apart', async () => {
  const { privateKey } = await generateKeyPair();
  const env = {
    DATAHUB_SERVICE_TOKEN: 'x'.repeat(32),
    DATAHUB_CATALOG_REPLICAS: '2',
    DATAHUB_SEALING_PRIVATE_KEYS: privateKey,
    DATAHUB_TLS_CA: '/tls/ca.crt',
  };
  const options = { count: 2, port: 8080, privateKeys: [] };
  const { owner, workers } = await planProcesses(readHubSettings(env), options);
  for (const own of [owner, ...workers])
    expect({ ...env, ...own }).toMatchObject({
      DATAHUB_CATALOG_REPLICAS: '2',
      DATAHUB_SEALING_PRIVATE_KEYS: '',
      DATAHUB_TLS_CA: '',
    });
});
