/** Whether two settings or queries say the same. */

import { lossOfCommand } from '@datahub/contract/commands';
import { defaultSshPort } from '@datahub/contract/source-settings';
import { writeExact } from '../exact-numbers.ts';
import { isObject } from './hub-file.ts';
import { bySetting, harmless, type Meaning, ofSignature, type QueryModel, querySettings } from './model.ts';

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

/** A member without an entry does not compile. */
const members: Record<Member, Meaning<never>> = {
  label: harmless,
  source: ofSignature,
  folder: harmless,
  command: { ...ofSignature, loss: lossOfCommand },
  context: ofSignature,
  notNull: ofSignature,
  ...bySetting((name): Meaning<never> => querySettings[name].meaning),
  text: ofSignature,
};
type Member = Exclude<keyof QueryModel, 'path'>;

const comparedMembers = Object.keys(members) as Member[];

export const isOfSignature = (name: string): boolean => members[name as Member]?.isOfSignature === true;

/** Why calls can fail after a change of these members, apart from the columns and variables. */
export const lossesOfQuery = (changed: readonly string[], before: QueryModel, after: QueryModel): string[] =>
  comparedMembers
    .filter((name) => changed.includes(name))
    .flatMap((name) => {
      const { loss }: Meaning<unknown> = members[name];
      const reason = loss?.(before[name], after[name]);
      return reason === undefined ? [] : [`${name}: ${reason}`];
    });

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
