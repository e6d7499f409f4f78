/**
 * What a JSON parser does not report: a duplicate member, of which it keeps one in silence, and a body that is deeper or
 * wider than the hub takes. Bytes are checked as they arrive, so such a body is refused before it is whole.
 */

import { pointerTo, RequestError, validationError } from './validation-errors.ts';

const depthMax = 64;
/** Of one object. Looking up so many costs the event loop some tens of milliseconds, and it grows faster than they do. */
const membersMax = 100_000;
/** Of the whole body: an empty one takes 2 bytes of JSON and some 60 of memory. */
const containersMax = 200_000;
/** Members and elements of the whole body. */
const valuesMax = 1_000_000;

/** An object with the names it has so far, or an array with the number of its elements. */
interface Level {
  names: Set<string> | undefined;
  at: string | number;
}

const quote = 0x22;
const backslash = 0x5c;

/** Bytes are enough: no byte of a longer UTF-8 character looks like one of JSON's own. */
export class ShapeCheck {
  readonly #levels: Level[] = [];
  #level: Level | undefined;
  #nameNext = false;
  #inString = false;
  #escaped = false;
  /** What has arrived of the name of a member. */
  #name: string | undefined;
  #containers = 0;
  #values = 0;

  /** Throws VALIDATION. Where the bytes are no JSON it may say nothing: the parser finds that. */
  push(chunk: Buffer): void {
    for (let i = 0; i < chunk.length; i++) {
      if (this.#inString) {
        i = this.#readString(chunk, i);
        continue;
      }
      switch (chunk[i]) {
        case quote:
          this.#inString = true;
          if (this.#nameNext) this.#name = '';
          this.#nameNext = false;
          break;
        case 0x7b:
        case 0x5b:
          this.#open(chunk[i] === 0x7b);
          break;
        case 0x7d:
        case 0x5d:
          this.#levels.pop();
          this.#level = this.#levels.at(-1);
          break;
        case 0x2c:
          this.#next();
          break;
      }
    }
  }

  /** The index of the closing quote, or of the chunk's last byte. */
  #readString(chunk: Buffer, from: number): number {
    let end = from;
    for (; end < chunk.length; end++) {
      if (this.#escaped) this.#escaped = false;
      else if (chunk[end] === backslash) this.#escaped = true;
      else if (chunk[end] === quote) break;
    }
    // As Latin-1 first: a character may be cut in two by the end of a chunk.
    if (this.#name !== undefined) this.#name += chunk.toString('latin1', from, end);
    if (end === chunk.length) return end;
    this.#inString = false;
    if (this.#name !== undefined) this.#addName(nameOf(this.#name));
    this.#name = undefined;
    return end;
  }

  #open(isObject: boolean): void {
    this.#nameNext = isObject;
    this.#level = { names: isObject ? new Set() : undefined, at: 0 };
    if (this.#levels.push(this.#level) > depthMax)
      throw malformed(`it is nested deeper than ${depthMax} levels`, undefined);
    if (++this.#containers > containersMax)
      throw malformed(`it holds more than ${containersMax} objects and arrays`, undefined);
  }

  #next(): void {
    this.#nameNext = this.#level?.names !== undefined;
    if (typeof this.#level?.at === 'number') this.#level.at++;
    if (++this.#values > valuesMax)
      throw malformed(`it holds more than ${valuesMax} members and elements`, undefined);
  }

  #addName(name: string): void {
    const level = this.#level as Level;
    level.at = name;
    if (!level.names?.has(name)) {
      level.names?.add(name);
      if ((level.names?.size ?? 0) <= membersMax) return;
      throw malformed(`it holds an object with more than ${membersMax} members`, undefined);
    }
    const pointer = this.#levels.reduce((above, { at }) => pointerTo(above, String(at)), '');
    throw validationError([{ pointer, detail: 'stands there twice' }]);
  }
}

const ascii = /^[\x20-\x5b\x5d-\x7e]*$/;

function nameOf(bytes: string): string {
  if (ascii.test(bytes)) return bytes;
  const written = Buffer.from(bytes, 'latin1').toString();
  try {
    return JSON.parse(`"${written}"`);
  } catch {
    return written;
  }
}

export function malformed(why: string, cause: unknown): RequestError {
  return new RequestError(`The body is not valid JSON: ${why}.`, [{ pointer: '', detail: why }], cause);
}
