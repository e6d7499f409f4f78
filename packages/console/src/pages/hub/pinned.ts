/** What pinned queries have in common. */

import { toText } from '../../api/exact.ts';
import type { Query, Variable } from '../../api/types.ts';
import { reads } from '../../state/commands.ts';
import { readOutline } from '../../state/variables.ts';

export const isPinned = ({ config }: Query): boolean =>
  config.presentation?.pinned === true && reads(config.command);

/** The variables of a query: those that it declares, and those that its text uses. */
export function variablesOf({ config }: Query): Variable[] {
  const { context, query, source } = config;
  const declared = new Set(context.map(({ key }) => key));
  const { names } = readOutline({ text: query.query, engine: source.engine, context });
  return [...context, ...names.filter((key) => !declared.has(key)).map((key) => ({ key }))];
}

/** The variables of several queries, each once. Values of secret ones never reach an address. */
export function commonVariables(asked: Variable[][]): Variable[] {
  const found = new Map<string, Variable>();
  for (const variable of asked.flat()) {
    if (variable.secret === true) continue;
    const known = found.get(variable.key) ?? variable;
    const differs = (name: 'enum' | 'value') =>
      JSON.stringify(known[name]) !== JSON.stringify(variable[name]);
    const { value: _, ...withoutDefault } = known;
    // Choices differ: then every value can be typed. Of several defaults, the one that is shown would hold for one card.
    const common = differs('enum') ? { key: variable.key } : differs('value') ? withoutDefault : known;
    found.set(variable.key, common);
  }
  return [...found.values()].sort((one, other) => usesOf(asked, other.key) - usesOf(asked, one.key));
}

const usesOf = (asked: Variable[][], key: string): number =>
  asked.filter((variables) => variables.some((variable) => variable.key === key)).length;

/** The names of common variables with a value that a card does not use. */
export function ignoredBy(query: Query, values: object): string[] {
  const used = new Set(variablesOf(query).map(({ key }) => key));
  return Object.keys(values).filter((name) => !used.has(name));
}

export const defaultOf = ({ value }: Variable): string => (value === undefined ? '' : toText(value));
