/** Digests of texts, and a hash table that maps them to a few numbers: small enough for a million entries in memory. */

import { hash } from 'node:crypto';

/** 64 bits of a SHA-256, as two 32-bit numbers. */
export type Digest = readonly [number, number];

export function digestOf(text: string): Digest {
  const bytes = hash('sha256', text, 'buffer');
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
}

const slotsMin = 64;
/** The share of slots that may be taken. */
const loadMax = 0.6;

/** The content of a table. `slots` has `width` numbers per slot: the digest's two, then the values. */
export interface DigestTableState {
  slots: Uint32Array;
  size: number;
}

/** A hash table with open addressing. The last value of an entry must not be 0, because 0 marks a free slot. */
export class DigestTable {
  #slots: Uint32Array;
  #size: number;
  readonly #width: number;

  /** @param width The numbers of an entry: two of its digest and at least one value. The state is copied. */
  constructor(width: number, state?: DigestTableState) {
    this.#width = width;
    this.#slots = state?.slots.slice() ?? new Uint32Array(slotsMin * width);
    this.#size = state?.size ?? 0;
  }

  get size(): number {
    return this.#size;
  }

  get slots(): Uint32Array {
    return this.#slots;
  }

  /** Returns the values of an entry, valid until the next change; undefined for an unknown digest. */
  find(digest: Digest): Uint32Array | undefined {
    const at = this.#slotOf(this.#slots, digest);
    return this.#isFree(this.#slots, at) ? undefined : this.#slots.subarray(at + 2, at + this.#width);
  }

  /** Adds an entry, or replaces the values of a known one. */
  set(digest: Digest, ...values: number[]): void {
    let at = this.#slotOf(this.#slots, digest);
    if (this.#isFree(this.#slots, at)) {
      if ((this.#size + 1) * this.#width > this.#slots.length * loadMax) {
        this.#rebuild(2 * this.#slots.length, () => true);
        at = this.#slotOf(this.#slots, digest);
      }
      this.#size += 1;
    }
    this.#slots.set(digest, at);
    this.#slots.set(values, at + 2);
  }

  /** Removes the entries whose values don't pass. */
  filter(keeps: (values: Uint32Array) => boolean): void {
    this.#rebuild(this.#slots.length, keeps);
  }

  #rebuild(length: number, keeps: (values: Uint32Array) => boolean): void {
    const slots = new Uint32Array(length);
    let size = 0;
    for (let at = 0; at < this.#slots.length; at += this.#width) {
      if (this.#isFree(this.#slots, at)) continue;
      const entry = this.#slots.subarray(at, at + this.#width);
      if (!keeps(entry.subarray(2))) continue;
      slots.set(entry, this.#slotOf(slots, [entry[0] as number, entry[1] as number]));
      size += 1;
    }
    this.#slots = slots;
    this.#size = size;
  }

  #isFree(slots: Uint32Array, at: number): boolean {
    return slots[at + this.#width - 1] === 0;
  }

  /** Returns the position of a digest's slot, or of the free slot for it. */
  #slotOf(slots: Uint32Array, [first, second]: Digest): number {
    let at = (first % (slots.length / this.#width)) * this.#width;
    while (!this.#isFree(slots, at) && (slots[at] !== first || slots[at + 1] !== second)) {
      at += this.#width;
      if (at === slots.length) at = 0;
    }
    return at;
  }
}
