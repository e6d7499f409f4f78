/** The rows that a job has learnt, by their digests: when its query runs again, these rows need no call to the classifier. */

import { hash } from 'node:crypto';
import type { Row } from '@datahub/proto/ml/v1/ml';

/** A classifier learns at most this many rows. They take 16 MiB. */
const rowsMax = 1_000_000;
const slotsMin = 1_024;

/** 64 bits of a row's SHA-256, as two 32-bit numbers. */
export type Digest = readonly [number, number];

export function digestOf({ id, label, text }: Row): Digest {
  const bytes = hash('sha256', JSON.stringify([id, label, text]), 'buffer');
  // Two zeros mark a free slot.
  return [bytes.readUInt32LE(0), bytes.readUInt32LE(4) || 1];
}

/** A hash table with open addressing. */
export class LearntRows {
  #slots = new Uint32Array(2 * slotsMin);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  has(digest: Digest): boolean {
    return this.#slots[this.#find(digest) + 1] !== 0;
  }

  /** Ignores a row beyond the maximum. */
  add(digest: Digest): void {
    if (this.#size >= rowsMax || this.has(digest)) return;
    if (4 * (this.#size + 1) > this.#slots.length) this.#grow();
    this.#slots.set(digest, this.#find(digest));
    this.#size += 1;
  }

  /** Returns the position of the digest, or of the free slot for it. */
  #find([first, second]: Digest): number {
    const mask = this.#slots.length - 1;
    let at = (2 * first) & mask;
    while (this.#slots[at + 1] !== 0 && (this.#slots[at] !== first || this.#slots[at + 1] !== second))
      at = (at + 2) & mask;
    return at;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    for (let at = 0; at < old.length; at += 2) {
      const digest: Digest = [old[at] as number, old[at + 1] as number];
      if (digest[1] !== 0) this.#slots.set(digest, this.#find(digest));
    }
  }
}
