/**
 * Counts the elements of a reply that the driver takes apart at once, before it has them: those of the reply, of its
 * `cursor`, and the documents of a batch. The driver makes an object of each, however small it is.
 */

import { countedSizes, fixedSizes, misfit, types } from '../../result/values/bson-reader.ts';

/** The hub asks for 1,000 documents. The driver takes apart this many elements within 50 ms. */
export const replyPiecesMax = 65_536;
/** Longer names are none of those that are looked for. */
const nameLengthMax = 16;

export class ReplyPieces {
  #count = 0;
  #depth = 0;
  /** What the next byte belongs to. */
  #at: 'type' | 'name' | 'length' | 'texts' | 'end' = 'type';
  /** The bytes to skip. At first the length of the reply. */
  #left = 4;
  #type = 0;
  #name = '';
  #length = 0;
  #lengthBytes = 0;
  #texts = 0;

  /** Takes the next bytes of the reply's document. Throws a RangeError if it has too many elements. */
  take(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#at !== 'end'; ) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at);
        this.#left -= skipped;
        at += skipped;
      } else if (this.#at === 'type') this.#beginElement(bytes[at++] as number);
      else if (this.#at === 'length') this.#addToLength(bytes[at++] as number);
      else at = this.#readText(bytes, at);
    }
  }

  #beginElement(type: number): void {
    this.#type = type;
    if (type === 0) {
      if (this.#depth === 0) this.#at = 'end';
      else this.#depth--;
      return;
    }
    if (++this.#count > replyPiecesMax) throw new RangeError('The reply has too many elements.');
    this.#name = '';
    this.#at = 'name';
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

  #addToLength(byte: number): void {
    this.#length |= byte << (8 * this.#lengthBytes++);
    if (this.#lengthBytes < 4) return;
    this.#at = 'type';
    if (this.#isTakenApart()) {
      this.#depth++;
      return;
    }
    this.#left = this.#length + (countedSizes[this.#type] as number) - 4;
    if (this.#length < 0 || this.#left < 0) throw misfit();
  }

  #isTakenApart(): boolean {
    if (this.#depth === 0) return this.#type === types.document && this.#name === 'cursor';
    const isBatch = this.#name === 'firstBatch' || this.#name === 'nextBatch';
    return this.#depth === 1 && this.#type === types.array && isBatch;
  }
}
