/**
 * A JSON body, checked while it arrives and parsed when it is complete. JSON.parse silently drops one of two duplicate
 * members and accepts any depth and width. This check refuses such a body before it is complete. Members can be read as
 * JSON text, which keeps the digits of their numbers.
 */

import { mayLoseDigits } from '@datahub/contract/exact-json';
import { elementsOf, escapedSurrogate, membersOf, withoutSpaces } from '@datahub/contract/json-text';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { pointerTo, RequestError, validationError } from './request-error.ts';

const depthMax = 64;
/** The most members of one object, and of all objects of a body. Names that differ cost far more than values. */
export const membersMax = 10_000;
const allMembersMax = 100_000;
/** The most objects and arrays of a body. An empty one takes 2 bytes of JSON. */
const containersMax = 100_000;
/** What an object or array, and a member or element, takes in memory. */
const containerBytes = 60;
const valueBytes = 8;
/** The most members and elements of a body. */
const valuesMax = 1_000_000;

/** The text of a longer body is kept only if its digits are needed. */
const keptLengthMax = 65_536;

export class ParsedBody {
  readonly value: unknown;
  readonly #text: string | undefined;
  readonly #context: Range;
  /** What `mayLoseDigits` says of the text; undefined until it was asked. */
  #mayLoseDigits: boolean | undefined;

  /** `context` is where the text of the body's member `context` is; its end is 0 if that is unknown. */
  constructor(value: unknown, text: string, context: Range) {
    this.value = value;
    if (text.length > keptLengthMax) this.#mayLoseDigits = mayLoseDigits(text);
    this.#text = this.#mayLoseDigits === false ? undefined : text;
    this.#context = context;
  }

  /** The JSON text, if it may have numbers whose digits JSON.parse loses. */
  get exactText(): string | undefined {
    if (this.#text === undefined) return undefined;
    this.#mayLoseDigits ??= mayLoseDigits(this.#text);
    return this.#mayLoseDigits ? this.#text : undefined;
  }

  /** The body's member `context` as it was sent; undefined if that is unknown. */
  get contextText(): string | undefined {
    const { start, end } = this.#context;
    return end === 0 ? undefined : this.#text?.slice(start, end);
  }
}

interface Range {
  start: number;
  end: number;
}

const unknownRange: Range = { start: 0, end: 0 };

const noBytes: Buffer = Buffer.alloc(0);

/** Reads a body in chunks. Both methods throw VALIDATION, and `push` throws TOO_LARGE for too many values. */
export class JsonBody {
  bytes = 0;
  /** About what the body takes in memory until its request is answered, as bytes and as values. */
  get weight(): number {
    return this.bytes + this.#shape.weight;
  }

  readonly #shape = new ShapeCheck();
  /** The first chunk, then a copy of all chunks that grows by doubling. */
  #buffer: Buffer = noBytes;

  push(chunk: Buffer): void {
    this.#shape.push(chunk, this.bytes);
    const bytes = this.bytes + chunk.length;
    if (this.bytes === 0) this.#buffer = chunk;
    else {
      if (bytes > this.#buffer.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#buffer.length, bytes));
        this.#buffer.copy(larger, 0, 0, this.bytes);
        this.#buffer = larger;
      }
      chunk.copy(this.#buffer, this.bytes);
    }
    this.bytes = bytes;
  }

  end(): ParsedBody {
    const { length } = this.#buffer;
    const text = decode(length === this.bytes ? this.#buffer : this.#buffer.subarray(0, this.bytes));
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (err) {
      throw malformed(positionOf(err), err);
    }
    if (this.#shape.hasEscapes && escapedSurrogate.test(text)) requireWellFormed(value, '');
    // In a text of ASCII, each byte is a character.
    return new ParsedBody(value, text, text.length === this.bytes ? this.#shape.context : unknownRange);
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true });

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

/** Reports only the position, because the message of JSON.parse repeats parts of the body. */
function positionOf(err: unknown): string {
  const position = /position (\d+)/.exec(String(err))?.[1];
  return position === undefined
    ? 'it ends too early or holds an unexpected token'
    : `unexpected token at position ${position}`;
}

function malformed(why: string, cause?: unknown): RequestError {
  return new RequestError(`The body is not valid JSON: ${why}.`, [{ pointer: '', detail: why }], cause);
}

const tooLarge = (why: string) => new HubError('TOO_LARGE', `The body ${why}.`);

/** An unclosed object with its names so far, or an unclosed array with its number of elements. */
interface Level {
  names: Set<string> | undefined;
  at: string | number;
}

const quote = 0x22;
const backslash = 0x5c;

/** Reads bytes: no byte of a multi-byte UTF-8 character equals a delimiter of JSON. */
class ShapeCheck {
  /** True if a string has a backslash. */
  hasEscapes = false;
  /** The bytes of the value of the body's member `context`. The end is 0 until it is complete. */
  readonly context: Range = { start: 0, end: 0 };
  readonly #levels: Level[] = [];
  #level: Level | undefined;
  #nameNext = false;
  #inString = false;
  #escaped = false;
  /** The part of a member's name that has arrived. */
  #name: string | undefined;
  #containers = 0;
  #values = 0;
  #members = 0;
  /** The chunk in Latin-1, once it has a name. Names are cut from it, because decoding each one takes ten times as long. */
  #text: string | undefined;

  get weight(): number {
    return containerBytes * this.#containers + valueBytes * this.#values;
  }

  /** `before` is the number of bytes in front of the chunk. Throws VALIDATION or TOO_LARGE. Invalid JSON may pass; the parser refuses it. */
  push(chunk: Buffer, before: number): void {
    this.#text = undefined;
    let i = this.#inString ? this.#readString(chunk, 0) + 1 : 0;
    for (; i < chunk.length; i++) {
      switch (chunk[i]) {
        case quote:
          this.#inString = true;
          if (this.#nameNext) this.#name = '';
          this.#nameNext = false;
          i = this.#readString(chunk, i + 1);
          break;
        case 0x7b:
        case 0x5b:
          this.#open(chunk[i] === 0x7b);
          break;
        case 0x3a:
          if (this.#isContext()) this.context.start = before + i + 1;
          break;
        case 0x7d:
        case 0x5d:
          if (this.#isContext()) this.context.end = before + i;
          this.#levels.pop();
          this.#level = this.#levels.at(-1);
          break;
        case 0x2c:
          if (this.#isContext()) this.context.end = before + i;
          this.#next();
          break;
      }
    }
  }

  /** True in the body's own member `context`. */
  #isContext(): boolean {
    return this.#level?.at === 'context' && this.#levels.length === 1;
  }

  /** Returns the index of the closing quote, or the chunk's length. */
  #readString(chunk: Buffer, from: number): number {
    let end = from;
    let escaped = this.#escaped;
    for (; end < chunk.length; end++) {
      const byte = chunk[end];
      if (escaped) escaped = false;
      else if (byte === backslash) {
        escaped = true;
        this.hasEscapes = true;
      } else if (byte === quote) break;
    }
    this.#escaped = escaped;
    if (this.#name !== undefined) {
      // Latin-1 keeps every byte, because a chunk may end inside a character.
      const text = this.#text ?? chunk.toString('latin1');
      this.#text = text;
      this.#name += text.slice(from, end);
    }
    if (end === chunk.length) return end;
    this.#inString = false;
    if (this.#name !== undefined) this.#addName(toName(this.#name));
    this.#name = undefined;
    return end;
  }

  #open(isObject: boolean): void {
    this.#nameNext = isObject;
    this.#level = { names: isObject ? new Set() : undefined, at: 0 };
    if (this.#levels.push(this.#level) > depthMax)
      throw malformed(`it is nested deeper than ${depthMax} levels`);
    if (++this.#containers > containersMax)
      throw tooLarge(`has more than ${containersMax} objects and arrays`);
  }

  #next(): void {
    this.#nameNext = this.#level?.names !== undefined;
    if (typeof this.#level?.at === 'number') this.#level.at++;
    if (++this.#values > valuesMax) throw tooLarge(`has more than ${valuesMax} members and elements`);
  }

  #addName(name: string): void {
    const level = this.#level;
    // The closing bracket was of the wrong kind, so the parser will refuse the body.
    if (level?.names === undefined) return;
    const { names } = level;
    const { size } = names;
    level.at = name;
    names.add(name);
    if (names.size > membersMax) throw tooLarge(`has an object with more than ${membersMax} members`);
    if (++this.#members > allMembersMax)
      throw tooLarge(`has more than ${allMembersMax} members in all objects`);
    if (names.size > size) return;
    const pointer = this.#levels.reduce((above, { at }) => pointerTo(above, String(at)), '');
    throw validationError([{ pointer, detail: 'is a duplicate member' }]);
  }
}

function isPlain(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const unit = name.charCodeAt(i);
    if (unit < 0x20 || unit > 0x7e || unit === backslash) return false;
  }
  return true;
}

function toName(bytes: string): string {
  if (isPlain(bytes)) return bytes;
  const written = Buffer.from(bytes, 'latin1').toString();
  try {
    return JSON.parse(`"${written}"`);
  } catch {
    return written;
  }
}

/** The JSON text of one member or element of the body, or undefined if it is absent. The body must be valid. */
export function exactMember(body: ParsedBody, path: readonly string[]): string | undefined {
  let at: unknown = body.value;
  let text = body.exactText;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    if (text !== undefined)
      text = Array.isArray(at) ? elementsOf(text)[Number(name)] : membersOf(text).get(name);
    at = (at as Record<string, unknown>)[name];
  }
  return text === undefined ? JSON.stringify(at) : withoutSpaces(text);
}

/** The member `context` as JSON, with the digits of its numbers; empty for none. */
export function contextJson(request: FastifyRequest, { context }: { context?: unknown }): string {
  const isSet = context !== undefined && context !== null;
  return (isSet ? request.parsed?.contextText : undefined) ?? memberJson(request, 'context', context);
}

/** A member of the body as JSON, with the digits of its numbers; empty for none. */
export function memberJson(request: FastifyRequest, name: string, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (request.parsed?.exactText === undefined) return JSON.stringify(value);
  return exactMember(request.parsed, [name]) ?? '';
}
