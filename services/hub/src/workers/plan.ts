/** Chooses the inner addresses of the owner and the workers, and the environment of each. */

import { publicKeyOf } from '@datahub/sealing/key-pair';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { HubSettings } from '../hub-settings.ts';
import { serviceToken } from '../processes.ts';

/** The environment of each process, beside that of this one. */
export async function planProcesses(
  { dataDir, env, gateway }: HubSettings,
  options: { count: number; port: number; privateKeys: readonly string[] },
) {
  const newAddress = async () => `127.0.0.1:${await freePort()}`;
  const executors: string[] = [];
  for (let i = 0; i < options.count; i++) executors.push(await newAddress());
  const publicKeys = await Promise.all(options.privateKeys.map(publicKeyOf));
  const common = {
    PORT: String(options.port),
    DATAHUB_METRICS_PORT: '0',
    DATAHUB_EDGE: gateway.edge,
    DATAHUB_SERVICE_TOKEN: env.DATAHUB_SERVICE_TOKEN ?? (await serviceToken(dataDir)),
    DATAHUB_CATALOG_ADDRESS: await newAddress(),
    DATAHUB_CATALOG_INTERNAL_ADDRESS: await newAddress(),
    DATAHUB_ML_ADDRESS: await newAddress(),
    DATAHUB_EXECUTOR_ADDRESS: executors.join(','),
    DATAHUB_SEALING_KEY_FILE: `${dataDir}/sealing-keys`,
    DATAHUB_SEALING_PUBLIC_KEYS: publicKeys.join(','),
    // As in one process, the keys are those of the file, and inner calls do not leave the machine.
    ...{ DATAHUB_SEALING_PRIVATE_KEYS: '', DATAHUB_TLS_CA: '', DATAHUB_TLS_CERT: '', DATAHUB_TLS_KEY: '' },
  };
  return {
    owner: common,
    workers: executors.map((address) => ({
      ...common,
      DATAHUB_GRPC_PORT: address.slice(address.lastIndexOf(':') + 1),
    })),
  };
}
