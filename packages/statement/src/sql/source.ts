/** A parsed SQL text with the positions of its variables: the input of each engine's writer. */

import type { Declaration } from '../values.ts';
import { rejectAt, type Token } from './lexer.ts';

export interface Source {
  text: string;
  placeholders: Placeholder[];
  declarations: Declaration[];
}

/** One use of a variable. */
export interface Placeholder {
  variable: number;
  start: number;
  end: number;
  /** Set if the variable is alone in the parentheses of `[NOT] IN (:name)`. `from` is the start of that expression. */
  list: undefined | { not: boolean; from: number };
}

/** The most placeholders that the protocols of the engines can number in one statement. */
export const placeholdersMax = 65_535;

/** Returns the distinct names in the order of the text. */
export function variableNames(text: string, tokens: Token[]): string[] {
  const variables = tokens.filter((token) => token.kind === 'variable');
  const beyond = variables[placeholdersMax];
  if (beyond === undefined) return [...new Set(variables.map((token) => token.text))];
  throw rejectAt(text, beyond.start, `The statement uses variables in more than ${placeholdersMax} places.`);
}

export function findPlaceholders(tokens: Token[], names: string[]): Placeholder[] {
  const numbers = new Map(names.map((name, number) => [name, number]));
  return tokens.flatMap(({ text, start, end }, i) => {
    const variable = tokens[i]?.kind === 'variable' ? numbers.get(text) : undefined;
    return variable === undefined ? [] : [{ variable, start, end, list: findList(tokens, i) }];
  });
}

function findList(tokens: Token[], i: number): Placeholder['list'] {
  const [open, close, word] = [tokens[i - 1], tokens[i + 1], tokens[i - 2]];
  if (open?.text !== '(' || close?.text !== ')' || word?.kind !== 'word' || word.text !== 'IN')
    return undefined;
  const before = tokens[i - 3];
  const not = before?.kind === 'word' && before.text === 'NOT';
  return { not, from: (not ? (before as Token) : word).start };
}
