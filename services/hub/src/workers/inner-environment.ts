/** The environment of services that only processes of this machine call. */

import type { Environment } from '@datahub/service-kit/settings/settings';

/** Inner ports are open on the loopback interface only. The supervisor serves the metrics. */
export const innerEnvironment = (env: Environment): Environment => ({
  ...env,
  HOST: '127.0.0.1',
  DATAHUB_METRICS_PORT: '0',
});

export const portOf = (address = ''): string => address.slice(address.lastIndexOf(':') + 1);
