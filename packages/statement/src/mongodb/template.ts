/**
 * Splits a command with variables into the pieces of Extended JSON between them. A value that is inserted between two
 * pieces stays a value whatever it contains.
 */

import { HubError } from '@datahub/service-kit/call/error';
import { ExactNumber, type Value } from '../values.ts';
import { numberText, type Placeholder, unsendable } from './extended-json.ts';

export interface Template {
  /** One more than `placeholders`. */
  pieces: string[];
  placeholders: Placeholder[];
}

const variable = /^(?::([A-Za-z_]\w{0,63})|\{\{\s*([A-Za-z_]\w{0,63})\s*\}\})$/;
const escaped = /^:(:+[A-Za-z_]\w*)$/;
const braced = /\{\{\s*([A-Za-z_]\w{0,63})\s*\}\}/g;

/** The name of the variable that a string stands for. */
export function variableIn(value: Value): string | undefined {
  if (typeof value !== 'string') return undefined;
  const found = variable.exec(value);
  return found?.[1] ?? found?.[2];
}

/** Writes a template from start to end. A `pointer` is a JSON Pointer (RFC 6901) to the value, for error messages. */
export class TemplateWriter {
  readonly #pieces = [''];
  readonly #placeholders: Placeholder[] = [];
  readonly #isDeclared: (name: string) => boolean;

  constructor(isDeclared: (name: string) => boolean) {
    this.#isDeclared = isDeclared;
  }

  get template(): Template {
    return { pieces: this.#pieces, placeholders: this.#placeholders };
  }

  raw(text: string): void {
    this.#pieces[this.#pieces.length - 1] += text;
  }

  placeholder(placeholder: Placeholder): void {
    this.#placeholders.push(placeholder);
    this.#pieces.push('');
  }

  /** A constant of the query. */
  scalar(value: string | number | boolean | null | ExactNumber, pointer: string): void {
    if (typeof value === 'string') this.raw(JSON.stringify(this.#unescape(value, pointer)));
    else if (value instanceof ExactNumber) {
      const text = numberText(value);
      if (text === undefined) throw reject(pointer, 'has more digits than any number type of MongoDB');
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
        throw reject(at, 'is a variable used as a field name; variables stand for values only');
      if (key.includes('\0')) throw reject(at, 'is a name that contains a NUL character');
      if (key === unsendable) throw reject(at, 'is a name that the hub cannot send');
      this.raw(`${i > 0 ? ',' : ''}${JSON.stringify(key)}:`);
      write(key, at);
    }
    this.raw('}');
  }

  array(members: Value[], pointer: string, write: (member: Value, pointer: string) => void): void {
    this.raw('[');
    for (const [i, member] of members.entries()) {
      if (i > 0) this.raw(',');
      write(member, `${pointer}/${i}`);
    }
    this.raw(']');
  }

  /** `::name` escapes the string `:name`. A declared variable inside a longer string is rejected as a mistake. */
  #unescape(text: string, pointer: string): string {
    if (text.includes('\0')) throw reject(pointer, 'is a string that contains a NUL character');
    for (const [, name = ''] of text.matchAll(braced)) {
      if (!this.#isDeclared(name)) continue;
      throw reject(pointer, `contains {{${name}}} inside a string; a variable must be the whole value`);
    }
    return escaped.exec(text)?.[1] ?? text;
  }
}

export const below = (pointer: string, key: string) =>
  `${pointer}/${/[~/]/.test(key) ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key}`;

export function reject(pointer: string, detail: string): HubError {
  return new HubError('SQL_REJECTED', `${pointer} ${detail}.`, { stage: 'prepare', retryable: false });
}
