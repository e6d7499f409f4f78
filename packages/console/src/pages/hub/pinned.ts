/** What pinned queries have in common. */

import { toText } from '../../api/exact.ts';
import type { Query, Variable } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';

export const isPinned = ({ config }: Query): boolean =>
  config.presentation?.pinned === true && reads(config.command);

/** The variables of pinned queries, each once. Values of secret ones never reach an address. */
export function commonVariables(pinned: Query[]): Variable[] {
  const found = new Map<string, Variable>();
  for (const { config } of pinned) {
    for (const variable of config.context) {
      if (variable.secret === true) continue;
      const known = found.get(variable.key);
      // Choices differ: then every value can be typed.
      const isSame = known === undefined || JSON.stringify(known.enum) === JSON.stringify(variable.enum);
      found.set(variable.key, isSame ? (known ?? variable) : { key: variable.key });
    }
  }
  return [...found.values()].sort((one, other) => usesOf(pinned, other.key) - usesOf(pinned, one.key));
}

const usesOf = (pinned: Query[], key: string): number =>
  pinned.filter(({ config }) => config.context.some((variable) => variable.key === key)).length;

/** The names of common variables with a value that a card does not use. */
export const ignoredBy = ({ config }: Query, values: object): string[] =>
  Object.keys(values).filter((name) => !config.context.some(({ key }) => key === name));

export const defaultOf = ({ value }: Variable): string => (value === undefined ? '' : toText(value));
