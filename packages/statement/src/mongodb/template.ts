/**
 * A command with variables → the pieces of its text between them. The text is Extended JSON (canonical where a type is
 * meant), so a value that is put between two pieces is a value whatever is in it.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { ExactNumber, type Value } from '../values.ts';
import { numberText } from './extended-json.ts';

/**
 * How a value stands where its variable stood: as it is; as `$literal`, where MongoDB would read a text as the path of
 * a field or an object as an expression; or as what an Extended JSON type makes of it, as in `{"$oid": ":id"}`.
 */
export type Form = 'plain' | 'literal' | ExtendedType;

export const extendedTypes = [
  '$oid',
  '$date',
  '$uuid',
  '$numberInt',
  '$numberLong',
  '$numberDouble',
  '$numberDecimal',
] as const;
export type ExtendedType = (typeof extendedTypes)[number];

export interface Place {
  variable: string;
  form: Form;
}

export interface Template {
  /** One more than there are places. */
  pieces: string[];
  places: Place[];
}

const variable = /^(?::([A-Za-z_]\w{0,63})|\{\{\s*([A-Za-z_]\w{0,63})\s*\}\})$/;
const escaped = /^:(:+[A-Za-z_]\w*)$/;
const braced = /\{\{\s*([A-Za-z_]\w{0,63})\s*\}\}/g;

/** The name, when a text stands for a variable. */
export function variableIn(value: Value): string | undefined {
  if (typeof value !== 'string') return undefined;
  const found = variable.exec(value);
  return found?.[1] ?? found?.[2];
}

/** Writes a template from the start to the end of a command. Pointers (RFC 6901) say where a fault is. */
export class TemplateWriter {
  readonly #pieces = [''];
  readonly #places: Place[] = [];
  readonly #isDeclared: (name: string) => boolean;

  constructor(isDeclared: (name: string) => boolean) {
    this.#isDeclared = isDeclared;
  }

  get template(): Template {
    return { pieces: this.#pieces, places: this.#places };
  }

  raw(text: string): void {
    this.#pieces[this.#pieces.length - 1] += text;
  }

  place(name: string, form: Form): void {
    this.#places.push({ variable: name, form });
    this.#pieces.push('');
  }

  /** A text, a number, a boolean or null, as the query has it. */
  scalar(value: string | number | boolean | null | ExactNumber, pointer: string): void {
    if (typeof value === 'string') this.raw(JSON.stringify(this.#unescaped(value, pointer)));
    else if (value instanceof ExactNumber) {
      const text = numberText(value);
      if (text === undefined) throw refuse(pointer, 'has more digits than any number of MongoDB');
      this.raw(text);
    } else this.raw(JSON.stringify(value));
  }

  object(
    members: Record<string, Value>,
    pointer: string,
    write: (key: string, pointer: string) => void,
  ): void {
    this.raw('{');
    for (const [i, key] of Object.keys(members).entries()) {
      const at = below(pointer, key);
      if (variableIn(key) !== undefined)
        throw refuse(at, 'is a variable in the place of a name; variables stand for values');
      if (key.includes('\0')) throw refuse(at, 'is a name with a NUL character');
      this.raw(`${i > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      write(key, at);
    }
    this.raw('}');
  }

  array(members: Value[], pointer: string, write: (member: Value, pointer: string) => void): void {
    this.raw('[');
    for (const [i, member] of members.entries()) {
      if (i > 0) this.raw(',');
      write(member, below(pointer, String(i)));
    }
    this.raw(']');
  }

  /** A colon more stands for a text that would be a variable; a declared variable inside of a text is a mistake. */
  #unescaped(text: string, pointer: string): string {
    if (text.includes('\0')) throw refuse(pointer, 'is a text with a NUL character');
    for (const [, name = ''] of text.matchAll(braced)) {
      if (!this.#isDeclared(name)) continue;
      throw refuse(pointer, `has {{${name}}} inside of a text; a variable stands for a whole value`);
    }
    return escaped.exec(text)?.[1] ?? text;
  }
}

export const below = (pointer: string, key: string) =>
  `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

export function refuse(pointer: string, detail: string): HubError {
  return new HubError('SQL_REJECTED', `${pointer} ${detail}.`, { stage: 'prepare', retryable: false });
}
