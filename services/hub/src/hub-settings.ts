/** The settings of a hub on one machine, which all its services read. */

import { readCatalogConfig } from '@datahub/catalog/config';
import { readExecutorConfig } from '@datahub/executor/config';
import { readGatewayConfig } from '@datahub/gateway/config';
import { readMlConfig } from '@datahub/ml/config';
import { type Environment, readSettings, type SettingsReader } from '@datahub/service-kit/settings/settings';
import { readLoggerSettings } from '@datahub/service-kit/telemetry/logger';

export type HubSettings = ReturnType<typeof readHubSettings>;

/** Reports the faults of all services at once. */
export const readHubSettings = (env: Environment) =>
  readSettings(env, (reader) => hubSettingsOf(reader, env));

export function hubSettingsOf(reader: SettingsReader, env: Environment) {
  return {
    env,
    dataDir: reader.text('DATAHUB_DATA_DIR'),
    catalog: readCatalogConfig(reader),
    executor: readExecutorConfig(reader, { embedded: true }),
    ml: readMlConfig(reader),
    gateway: readGatewayConfig(reader, { edge: 'none', metricsPort: 0, env }),
    log: readLoggerSettings(reader),
    demo: reader.flag('DATAHUB_DEMO'),
  };
}
