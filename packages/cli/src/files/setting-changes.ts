/** The settings that differ, one by one, with what they were and what they become. */

import { writeCanonical } from './compare.ts';
import { isObject } from './hub-file.ts';

export interface SettingChange {
  /** As in `tls.mode` or `context.region.type`. */
  name: string;
  /** JSON, or undefined if the setting is not there. */
  from?: string | undefined;
  to?: string | undefined;
}

/** The most characters of a value that a report shows. */
const shownMax = 200;

export function settingChanges(before: unknown, after: unknown, name: string): SettingChange[] {
  if (writeCanonical(before) === writeCanonical(after)) return [];
  // What is new as a whole is listed by its members, too, because a report leaves out some of them.
  const [old, next] = [membersOf(before ?? {}), membersOf(after ?? {})];
  if (old !== undefined && next !== undefined && Object.keys({ ...old, ...next }).length > 0)
    return [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((member) =>
      settingChanges(old[member], next[member], `${name}.${member}`),
    );
  return [{ name, from: shown(before), to: shown(after) }];
}

/** The declarations of variables are compared by their keys. */
function membersOf(value: unknown): Record<string, unknown> | undefined {
  if (isObject(value)) return 'digits' in value ? undefined : value;
  const isKeyed = Array.isArray(value) && value.every((one) => isObject(one) && typeof one.key === 'string');
  return isKeyed ? Object.fromEntries(value.map(({ key, ...one }) => [key, one])) : undefined;
}

function shown(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = writeCanonical(value);
  return text.length <= shownMax ? text : `${text.slice(0, shownMax).toWellFormed()}…`;
}
