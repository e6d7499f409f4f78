/** `DATAHUB_SERVER_CONNECTIONS_MAX`: the most sessions of a database server, over all sources and users. */

import type { SettingsReader } from '@datahub/service-kit/settings/settings';

const entryShape = /^(?<host>[^\s=]+):(?<port>\d{1,5})=(?<max>\d{1,5})$/;

/** By `host:port` in lower case. */
export function readServerLimits(reader: SettingsReader): Map<string, number> {
  const name = 'DATAHUB_SERVER_CONNECTIONS_MAX';
  const limits = new Map<string, number>();
  for (const entry of reader.list(name, [])) {
    const { host = '', port = '', max = '' } = entryShape.exec(entry)?.groups ?? {};
    const isValid = Number(port) >= 1 && Number(port) <= 65_535 && Number(max) >= 1;
    if (!isValid) reader.fault(`${name}: ${entry} must be host:port=n, such as db.example.com:5432=50.`);
    else limits.set(`${host.toLowerCase()}:${Number(port)}`, Number(max));
  }
  return limits;
}
