/**
 * Counts the elements of a reply that the driver takes apart at once, before it has them: those of the reply, of its
 * `cursor`, and the documents of a batch. The driver makes an object of each, however small it is. Elements within others,
 * such as errors of a write, are decoded at times, and count on their own. Documents of a batch and values of `distinct`
 * stay bytes, unless the reply reports a failure.
 */

import { countedSizes, fixedSizes, misfit, types } from '../../result/values/bson-reader.ts';

/** The hub asks for 1,000 documents. The driver takes apart this many elements within 50 ms. */
export const replyPiecesMax = 65_536;
/** Of values within others. A write of 60,000 documents can fail with as many errors of eight elements each. */
export const nestedPiecesMax = 500_000;
/** The driver decodes a reply that reports a failure as a whole. MongoDB's are far shorter. */
export const failureBytesMax = 1_048_576;
/** Longer names are none of those that are looked for. */
const nameLengthMax = 16;

export class ReplyPieces {
  #count = 0;
  #depth = 0;
  #nested = 0;
  /** The documents and lists, within one that is not taken apart at once, that the next byte is in. */
  #nestedDepth = 0;
  /** What the next byte belongs to. */
  #at: 'type' | 'name' | 'length' | 'texts' | 'end' = 'type';
  /** The bytes to skip. At first the length of the reply. */
  #left = 4;
  #type = 0;
  #name = '';
  #length = 0;
  #lengthBytes = 0;
  #texts = 0;
  /** True while every `ok` of the reply so far is a 1; undefined before the first. */
  #ok: boolean | undefined;
  /** The value of an `ok`, as it is read. */
  #okBytes: number[] = [];
  readonly #bytes: number;
  /** The bytes of earlier calls. */
  #before = 0;
  /** Where the documents and lists must end that the next byte is in. */
  readonly #ends: number[];

  /** `bytes` is the length of the reply's document. */
  constructor(bytes: number) {
    this.#bytes = bytes;
    this.#ends = [bytes];
  }

  /**
   * Takes the next bytes of the reply's document. Throws a RangeError if it has too many elements, is a long failure, or
   * has lengths that do not fit, by which the driver would find other elements in it.
   */
  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#at !== 'end'; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        if (this.#isOk()) this.#okBytes.push(...bytes.subarray(at, at + skipped));
        this.#left -= skipped;
        at += skipped;
        if (this.#left === 0 && this.#isOk()) this.#readOk();
      } else if (this.#at === 'type') this.#beginElement(bytes[at++] as number, this.#before + at);
      else if (this.#at === 'length') this.#addToLength(bytes[at++] as number, this.#before + at);
      else at = this.#readText(bytes, at);
    }
    this.#before += bytes.length;
  }

  /** `end` is the position after the type. */
  #beginElement(type: number, end: number): void {
    this.#type = type;
    if (type === 0) {
      if (this.#ends.pop() !== end) throw misfit();
      if (this.#nestedDepth > 0) this.#nestedDepth--;
      else if (this.#depth > 0) this.#depth--;
      else this.#end();
      return;
    }
    const isNested = this.#nestedDepth > 0;
    const isOver = isNested ? ++this.#nested > nestedPiecesMax : ++this.#count > replyPiecesMax;
    if (isOver) throw new RangeError('The reply has too many elements.');
    this.#name = '';
    this.#at = 'name';
  }

  #end(): void {
    this.#at = 'end';
    if (this.#ok !== true && this.#bytes > failureBytesMax) throw new RangeError('The reply is too long.');
  }

  #isOk(): boolean {
    return (
      this.#depth + this.#nestedDepth === 0 && this.#name === 'ok' && fixedSizes[this.#type] !== undefined
    );
  }

  #readOk(): void {
    const value = Buffer.from(this.#okBytes);
    this.#okBytes = [];
    this.#ok = this.#ok !== false && (ones[this.#type]?.equals(value) ?? false);
  }

  /** Reads a name, or a text of a regular expression, to its zero byte. Returns the position after what it read. */
  #readText(bytes: Buffer, at: number): number {
    const found = bytes.indexOf(0, at);
    const end = found < 0 ? bytes.length : found;
    if (this.#at === 'name' && this.#name.length < nameLengthMax)
      this.#name += bytes.toString('latin1', at, Math.min(end, at + nameLengthMax));
    if (found < 0) return end;
    if (this.#at === 'name') this.#beginValue();
    else if (--this.#texts === 0) this.#at = 'type';
    return end + 1;
  }

  #beginValue(): void {
    const fixed = fixedSizes[this.#type];
    this.#left = fixed ?? 0;
    this.#length = 0;
    this.#lengthBytes = 0;
    this.#texts = 2;
    if (fixed !== undefined) this.#at = 'type';
    else if (this.#type === types.regex) this.#at = 'texts';
    else if (countedSizes[this.#type] !== undefined) this.#at = 'length';
    else throw misfit();
  }

  /** `end` is the position after the byte. */
  #addToLength(byte: number, end: number): void {
    this.#length |= byte << (8 * this.#lengthBytes++);
    if (this.#lengthBytes < 4) return;
    this.#at = 'type';
    const isTakenApart = this.#isTakenApart();
    if (!isTakenApart && !this.#isDecoded()) {
      this.#skip();
      return;
    }
    if (isTakenApart) this.#depth++;
    else this.#nestedDepth++;
    this.#ends.push(end - 4 + this.#length);
  }

  #skip(): void {
    this.#left = this.#length + (countedSizes[this.#type] as number) - 4;
    if (this.#length < 0 || this.#left < 0) throw misfit();
  }

  #isTakenApart(): boolean {
    if (this.#nestedDepth > 0) return false;
    if (this.#depth === 0) return this.#type === types.document && this.#name === 'cursor';
    return this.#depth === 1 && this.#type === types.array && /^(first|next)Batch$/.test(this.#name);
  }

  #isDecoded(): boolean {
    if (this.#type !== types.document && this.#type !== types.array) return false;
    const isRow = this.#depth === 2 || (this.#depth === 0 && this.#name === 'values');
    return this.#nestedDepth > 0 || !isRow;
  }
}

/** A 1 in each type of numbers. */
const ones: Record<number, Buffer> = {
  [types.double]: Buffer.from([0, 0, 0, 0, 0, 0, 0xf0, 0x3f]),
  [types.int32]: Buffer.from([1, 0, 0, 0]),
  [types.int64]: Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]),
};
