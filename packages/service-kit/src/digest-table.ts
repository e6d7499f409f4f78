/** Digests of texts, and a hash table that maps them to a few numbers: small enough for a million entries in memory. */

import { hash, randomInt } from 'node:crypto';

/** 64 bits of a SHA-256, as two 32-bit numbers. */
export type Digest = readonly [number, number];

export function digestOf(text: string): Digest {
  const bytes = hash('sha256', text, 'buffer');
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4)];
}

const slotsMin = 64;
const seedsMax = 2 ** 32;
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
  /** Absent in tables of releases that had none: the places of their entries can be foreseen. */
  seed?: number;
}

/**
 * A hash table with open addressing. The places of entries depend on a random number, so that texts cannot be chosen whose
 * entries all need one place. The last value of an entry must not be 0, because 0 marks a free slot.
 */
export class DigestTable {
  #slots: Uint32Array;
  #size: number;
  #seed: number;
  readonly #width: number;

  /**
   * @param width The numbers of an entry: two of its digest and at least one value.
   * @param state The table uses its slots, and changes them.
   */
  constructor(width: number, state?: DigestTableState) {
    this.#width = width;
    this.#slots = state?.slots ?? new Uint32Array(slotsMin * width);
    this.#size = state?.size ?? 0;
    this.#seed = state === undefined ? randomInt(1, seedsMax) : (state.seed ?? 0);
  }

  get size(): number {
    return this.#size;
  }

  get state(): Required<DigestTableState> {
    return { slots: this.#slots, size: this.#size, seed: this.#seed };
  }

  /** Returns the values of an entry, valid until the next change; undefined for an unknown digest. */
  find(digest: Digest): Uint32Array | undefined {
    const at = this.#slotOf(digest);
    return this.#isFree(at) ? undefined : this.#slots.subarray(at + 2, at + this.#width);
  }

  /** Adds an entry, or replaces the values of a known one. */
  set(digest: Digest, ...values: number[]): void {
    let at = this.#slotOf(digest);
    if (this.#isFree(at)) {
      if ((this.#size + 1) * this.#width > this.#slots.length * loadMax) {
        const grown = this.#ofLength(2 * this.#slots.length);
        this.#copy({ from: 0, end: this.#slots.length }, grown);
        this.#become(grown);
        at = this.#slotOf(digest);
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
    const next = this.#ofLength(length);
    const step = slotsPerPiece * this.#width;
    for (let from = 0; from < this.#slots.length; from += step) {
      const end = Math.min(this.#slots.length, from + step);
      this.#copy({ from, end }, next, keeps);
      await pause();
    }
    this.#become(next);
  }

  /** An empty table with a seed of its own. */
  #ofLength(length: number): DigestTable {
    const seed = randomInt(1, seedsMax);
    return new DigestTable(this.#width, { slots: new Uint32Array(length), size: 0, seed });
  }

  #become(other: DigestTable): void {
    this.#slots = other.#slots;
    this.#size = other.#size;
    this.#seed = other.#seed;
  }

  #copy({ from, end }: { from: number; end: number }, to: DigestTable, keeps?: Keeps): void {
    const width = this.#width;
    for (let at = from; at < end; at += width) {
      if (this.#isFree(at)) continue;
      if (keeps?.(this.#slots.subarray(at + 2, at + width)) === false) continue;
      const place = to.#slotOf([this.#slots[at] as number, this.#slots[at + 1] as number]);
      for (let i = 0; i < width; i++) to.#slots[place + i] = this.#slots[at + i] as number;
      to.#size += 1;
    }
  }

  #isFree(at: number): boolean {
    return this.#slots[at + this.#width - 1] === 0;
  }

  /** Returns the position of a digest's slot, or of the free slot for it. */
  #slotOf(digest: Digest): number {
    const slots = this.#slots;
    const [first, second] = digest;
    let at = (mixed(digest, this.#seed) % (slots.length / this.#width)) * this.#width;
    while (!this.#isFree(at) && (slots[at] !== first || slots[at + 1] !== second)) {
      at += this.#width;
      if (at === slots.length) at = 0;
    }
    return at;
  }
}

/** A number of 32 bits that nobody knows who does not know the seed. Without a seed, the first half of the digest. */
function mixed([first, second]: Digest, seed: number): number {
  return seed === 0 ? first : spread(spread(first ^ seed) ^ second) >>> 0;
}

/** The finalizer of MurmurHash3: each bit changes about half of the others. */
function spread(bits: number): number {
  const half = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  const whole = Math.imul(half ^ (half >>> 13), 0xc2b2ae35);
  return whole ^ (whole >>> 16);
}
