/** A parsed SQL text with the positions of its variables: the input of each engine's writer. */

import type { Dialect } from '../types.ts';
import type { Declaration } from '../values.ts';
import { rejectAt, type Token } from './lexer.ts';
import { type Place, Places } from './places.ts';

export interface Source {
  text: string;
  placeholders: Placeholder[];
  declarations: Declaration[];
  /** True if the server compares JSON with text by other rules than with JSON, and has a cast: MySQL itself. */
  castsJson: boolean;
  /** For each variable, the number of its placeholders. */
  uses: readonly number[];
}

/** One use of a variable. */
export interface Placeholder extends Place {
  variable: number;
  start: number;
  end: number;
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

export function findPlaceholders(tokens: Token[], names: string[], dialect: Dialect): Placeholder[] {
  const numbers = new Map(names.map((name, number) => [name, number]));
  const places = new Places(tokens, dialect === 'mariadb');
  return tokens.flatMap(({ kind, text, start, end }, i) => {
    const variable = kind === 'variable' ? numbers.get(text) : undefined;
    return variable === undefined ? [] : [{ variable, start, end, ...places.of(i) }];
  });
}
