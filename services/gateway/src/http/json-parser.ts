/** Bodies: strict UTF-8, bounded depth, no member twice, and numbers that keep their digits where variables are concerned. */

import { parseExact } from '@datahub/contract/exact-json';
import { malformed, ShapeCheck } from './json-limits.ts';
import { RequestError } from './validation-errors.ts';

const decoder = new TextDecoder('utf-8', { fatal: true });

/**
 * Numbers that a double may not give back as they were written: many digits, exponents, trailing zeros, minus zero. Only
 * where a value can stand, so that ids with digits in them do not count.
 */
const risky = /[[:,]\s*-?(?:[\d.]{16}|\d+(?:\.\d+)?[eE]|\d+\.\d*0(?!\d))|[[:,]\s*-0(?![.\d])/;

export interface ParsedBody {
  value: unknown;
  /** Kept only when it may hold numbers whose digits would be lost. */
  exactText?: string;
}

/** Takes a body as it arrives. Both methods throw VALIDATION. */
export class JsonBody {
  bytes = 0;
  readonly #shape = new ShapeCheck();
  readonly #chunks: Buffer[] = [];

  push(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#shape.push(chunk);
    this.#chunks.push(chunk);
  }

  end(): ParsedBody {
    const [only] = this.#chunks;
    const text = decode(this.#chunks.length === 1 && only ? only : Buffer.concat(this.#chunks));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (err) {
      throw malformed(whereJsonBreaks(err), err);
    }
    if (escapedSurrogate.test(text)) requireWellFormed(value, '');
    return risky.test(text) ? { value, exactText: text } : { value };
  }
}

/** Half a character can only come as an escape: as bytes it would not be UTF-8. */
const escapedSurrogate = /\\u[dD][89abAB]|\\u[dD][c-fC-F]/;

function requireWellFormed(value: unknown, pointer: string): void {
  if (typeof value === 'string' && !value.isWellFormed()) throw unpaired(pointer);
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (!name.isWellFormed()) throw unpaired(pointer);
    requireWellFormed(member, `${pointer}/${name}`);
  }
}

function unpaired(pointer: string): RequestError {
  const detail = 'must be valid Unicode: it holds half of a surrogate pair';
  return new RequestError(`${pointer} ${detail}.`, [{ pointer, detail }]);
}

function decode(bytes: Buffer): string {
  try {
    return decoder.decode(bytes);
  } catch (err) {
    throw malformed('it is not valid UTF-8', err);
  }
}

/** Only the position: the engine's own text repeats parts of the body. */
function whereJsonBreaks(err: unknown): string {
  const position = /position (\d+)/.exec(String(err))?.[1];
  return position === undefined
    ? 'it ends too early or holds an unexpected token'
    : `unexpected token at position ${position}`;
}

/**
 * The JSON text of one member of the body, with every number as the caller wrote it. The path was validated before.
 * Undefined when the member is absent.
 */
export function exactMember(body: ParsedBody, path: readonly string[]): string | undefined {
  const root = body.exactText === undefined ? body.value : parseExact(body.exactText);
  let at: unknown = root;
  for (const name of path) {
    const holds = typeof at === 'object' && at !== null && Object.hasOwn(at, name);
    at = holds ? (at as Record<string, unknown>)[name] : undefined;
  }
  return at === undefined ? undefined : JSON.stringify(at);
}
