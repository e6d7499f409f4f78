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

/** After so many slots, work on all of them may pause. */
const slotsPerPiece = 4_096;

/** Called after each piece of work; the work goes on when what it returns has settled. */
type Pause = () => Promise<void> | undefined;
type Keeps = (values: Uint32Array) => boolean;

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

  /**
   * @param width The numbers of an entry: two of its digest and at least one value.
   * @param state The table uses its slots, and changes them.
   */
  constructor(width: number, state?: DigestTableState) {
    this.#width = width;
    this.#slots = state?.slots ?? new Uint32Array(slotsMin * width);
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
        const slots = new Uint32Array(2 * this.#slots.length);
        this.#copy({ from: 0, end: this.#slots.length }, slots);
        this.#slots = slots;
        at = this.#slotOf(this.#slots, digest);
      }
      this.#size += 1;
    }
    this.#slots.set(digest, at);
    this.#slots.set(values, at + 2);
  }

  /**
   * Makes room for so many further entries: `set` then takes little time. May pause between pieces; the table can be read
   * meanwhile, and must not change.
   */
  async reserve(count: number, pause: Pause): Promise<void> {
    let { length } = this.#slots;
    while ((this.#size + count) * this.#width > length * loadMax) length *= 2;
    if (length > this.#slots.length) await this.#rebuild(length, pause);
  }

  /** Removes the entries whose values don't pass. May pause as `reserve` does. */
  filter(keeps: Keeps, pause: Pause): Promise<void> {
    return this.#rebuild(this.#slots.length, pause, keeps);
  }

  async #rebuild(length: number, pause: Pause, keeps?: Keeps): Promise<void> {
    const slots = new Uint32Array(length);
    const step = slotsPerPiece * this.#width;
    let size = 0;
    for (let from = 0; from < this.#slots.length; from += step) {
      const end = Math.min(this.#slots.length, from + step);
      size += this.#copy({ from, end }, slots, keeps);
      await pause();
    }
    this.#slots = slots;
    this.#size = size;
  }

  /** Returns the number of entries that it copied. */
  #copy({ from, end }: { from: number; end: number }, slots: Uint32Array, keeps?: Keeps): number {
    const width = this.#width;
    let size = 0;
    for (let at = from; at < end; at += width) {
      if (this.#isFree(this.#slots, at)) continue;
      if (keeps?.(this.#slots.subarray(at + 2, at + width)) === false) continue;
      const to = this.#slotOf(slots, [this.#slots[at] as number, this.#slots[at + 1] as number]);
      for (let i = 0; i < width; i++) slots[to + i] = this.#slots[at + i] as number;
      size += 1;
    }
    return size;
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
