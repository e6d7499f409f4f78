/** Whether two settings or queries say the same. */

import { defaultSshPort } from '@datahub/contract/source-settings';
import { writeExact } from '../exact-numbers.ts';
import { isObject } from './hub-file.ts';
import { bySetting, type Concern, type QueryModel, querySettings } from './model.ts';

/** The same for objects whose members are in another order. */
export const writeCanonical = (value: unknown): string => writeExact(sorted(value) ?? null);

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isObject(value) || 'digits' in value) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((name) => [name, sorted(value[name])]),
  );
};

const members = {
  label: 'name',
  source: 'contract',
  folder: 'name',
  command: 'contract',
  context: 'contract',
  notNull: 'contract',
  ...bySetting((name): Concern => querySettings[name].concern),
  text: 'contract',
} as const satisfies Record<Exclude<keyof QueryModel, 'path'>, Concern>;
type Member = keyof typeof members;

const comparedMembers = Object.keys(members) as Member[];

export const isOfContract = (name: string): boolean => members[name as Member] === 'contract';

export const changedMembers = (mine: QueryModel, theirs: QueryModel): string[] =>
  comparedMembers.filter(
    (name) =>
      !(name === 'command' && mine.command === undefined) &&
      writeCanonical(mine[name]) !== writeCanonical(theirs[name]),
  );

/** The settings of a source without those that the hub uses, too, where a file leaves them out. */
export function withoutDefaults(settings: Record<string, unknown>): Record<string, unknown> {
  const { tls, ssh } = settings;
  const isUsual = isObject(tls) && tls.mode === 'prefer';
  return withoutEmpty({
    ...settings,
    ...(isUsual ? { tls: { ...tls, mode: null } } : {}),
    ...(isObject(ssh) && ssh.port === defaultSshPort ? { ssh: { ...ssh, port: null } } : {}),
  });
}

const withoutEmpty = (members: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(members)
      .map(([name, value]) => [name, isObject(value) ? withoutEmpty(value) : value] as const)
      .filter(([, value]) => !isEmpty(value)),
  );

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === '' ||
  value === false ||
  value === 0 ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0);
