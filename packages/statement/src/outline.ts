/** What an editor shows of a text that may be unfinished: its command and its variables. */

import type { EngineName } from '@datahub/contract/engines';
import { variableIn } from './mongodb/template.ts';
import { commandVerbs } from './mongodb/verbs.ts';
import { readTokens } from './sql/lexer.ts';
import { findPlaceholders } from './sql/source.ts';
import { findVerb, kindOf } from './sql/statement-kind.ts';
import type { Dialect } from './types.ts';

export interface Outline {
  /** The command that the text can be stored with; undefined if it has no verb, or one that the hub does not run. */
  command: string | undefined;
  /** Names in the order of their first use. */
  names: string[];
  /** The variables that can be lists. */
  lists: ReadonlySet<string>;
}

/** Reads the text up to its first fault. `declared` are the names of variables with a declaration. */
export function outlineOf(text: string, engine: EngineName, declared: ReadonlySet<string>): Outline {
  return engine === 'mongodb' ? outlineOfCommand(text) : outlineOfSql(text, engine, declared);
}

function outlineOfSql(text: string, dialect: Dialect, declared: ReadonlySet<string>): Outline {
  const tokens = readTokens(text, dialect, (name) => declared.has(name));
  const names = [...new Set(tokens.filter(({ kind }) => kind === 'variable').map((token) => token.text))];
  const lists = findPlaceholders(tokens, names, dialect).filter(({ list }) => list !== undefined);
  const verb = findVerb(tokens)?.text ?? '';
  return {
    command: verb === 'DESC' ? 'DESCRIBE' : kindOf(verb) && verb,
    names,
    lists: new Set(lists.map(({ variable }) => names[variable] as string)),
  };
}

const jsonString = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

function outlineOfCommand(text: string): Outline {
  const strings = [...text.matchAll(jsonString)].map(([whole, isKey]) => ({
    isKey: isKey !== undefined,
    value: parseString(isKey === undefined ? whole : whole.slice(0, -isKey.length)),
  }));
  const first = strings[0]?.isKey ? commandVerbs.get(strings[0].value) : undefined;
  const names = strings.flatMap(({ isKey, value }) => (isKey ? [] : (variableIn(value) ?? [])));
  return { command: first, names: [...new Set(names)], lists: new Set() };
}

/** An empty text for a string that is no JSON yet. */
function parseString(json: string): string {
  try {
    return JSON.parse(json);
  } catch {
    return '';
  }
}
