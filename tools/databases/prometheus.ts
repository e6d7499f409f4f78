/** Finds Prometheus and promtool for the tests of the alerts and the dashboard. */

import { createInstaller } from './debian.ts';
import { findCommand } from './process.ts';

export interface PrometheusPrograms {
  prometheus: string;
  promtool: string;
}

/** The installed programs, else those of Debian's package if it can be installed. Undefined if there are none. */
export async function findPrometheus(options: {
  say: (line: string) => void;
}): Promise<PrometheusPrograms | undefined> {
  const here = findInstalled();
  const installer = createInstaller();
  if (here !== undefined || !installer.able) return here;
  options.say('installing prometheus …');
  await installer
    .install(['prometheus'])
    .catch((err: Error) => options.say(`prometheus could not be installed: ${err.message}`));
  return findInstalled();
}

function findInstalled(): PrometheusPrograms | undefined {
  const [prometheus, promtool] = ['prometheus', 'promtool'].map(findCommand);
  return prometheus === undefined || promtool === undefined ? undefined : { prometheus, promtool };
}
