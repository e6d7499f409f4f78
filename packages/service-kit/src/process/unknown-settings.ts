/** Warns of `DATAHUB_…` variables that are not settings. */

import type { Environment } from '../settings/settings.ts';
import { type SettingName, settingNames } from '../settings/settings-table.ts';
import type { Logger } from '../telemetry/logger.ts';

export interface UnknownSetting {
  name: string;
  /** The setting that was probably meant. */
  nearest: SettingName | undefined;
}

/** More edits than this, or than a third of the name's own part, make another word of it. */
const editsMax = 4;
const prefix = 'DATAHUB_';

/** Variables that Kubernetes and Docker set for each service that a container can reach. */
const linkName = /_SERVICE_(HOST|PORT)(_|$)|_PORT_\d+_(TCP|UDP)(_|$)/;
const linkValue = /^(tcp|udp):\/\//;

export function unknownSettings(env: Environment): UnknownSetting[] {
  const known = new Set<string>(settingNames);
  return Object.entries(env)
    .filter(([name, value]) => name.startsWith(prefix) && !known.has(name) && !isLink(name, value))
    .map(([name]) => ({ name, nearest: nearestTo(name) }));
}

/** Logs the name only: the value may be a secret. */
export function warnOfUnknownSettings(env: Environment, logger: Logger): void {
  for (const { name, nearest } of unknownSettings(env)) {
    const hint =
      nearest === undefined ? 'docs/configuration.md lists all settings' : `did you mean ${nearest}?`;
    logger.warn({ event: 'setting.unknown', name, nearest }, `${name} is not a setting: ${hint}`);
  }
}

/** The environment of a process whose parent has warned of unknown settings. */
export function withoutUnknownSettings(env: Environment): Environment {
  const unknown = new Set(unknownSettings(env).map(({ name }) => name));
  return Object.fromEntries(Object.entries(env).filter(([name]) => !unknown.has(name)));
}

function isLink(name: string, value: string | undefined): boolean {
  return linkName.test(name) || linkValue.test(value ?? '');
}

function nearestTo(name: string): SettingName | undefined {
  const edits = settingNames.map((setting) => ({ setting, count: editDistance(name, setting) }));
  const best = edits.reduce((one, other) => (other.count < one.count ? other : one));
  return best.count <= Math.min(editsMax, (name.length - prefix.length) / 3) ? best.setting : undefined;
}

/** Levenshtein's distance, one row of the matrix at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
