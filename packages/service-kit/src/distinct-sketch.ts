/**
 * Estimates how many different texts were added, in at most 1 KiB: HyperLogLog with 1,024 registers (Flajolet and others,
 * 2007) and linear counting for small numbers. The standard error is 3.3 %; a hundred texts are usually counted exactly or
 * within two. A sketch consists of ranks of digests, so it names no text. Merged sketches are the sketch of all texts.
 */

import { digestOf } from './digest-table.ts';

/** Where a text counts. */
export interface SketchPlace {
  register: number;
  /** The number of leading zeros of the rest of its digest, plus one. */
  rank: number;
}

const registerBits = 10;
const registerCount = 2 ** registerBits;
const rankBits = 5;
const rankMax = 2 ** rankBits - 1;
/** The constant of HyperLogLog that corrects its bias. */
const alpha = 0.7213 / (1 + 1.079 / registerCount);
/** A pair of register and rank needs two bytes, a register in a full list one byte. */
const pairsMax = registerCount / 2 - 1;

export function sketchPlaceOf(text: string): SketchPlace {
  const [first, second] = digestOf(text);
  return { register: first & (registerCount - 1), rank: Math.min(Math.clz32(second) + 1, rankMax) };
}

export class DistinctSketch {
  readonly #ranks = new Uint8Array(registerCount);

  add({ register, rank }: SketchPlace): void {
    this.#raise(register, rank);
  }

  #raise(register: number, rank: number): void {
    if (rank > (this.#ranks[register] as number)) this.#ranks[register] = rank;
  }

  /** Adds all texts of another sketch, or of its bytes. Ignores what no sketch has. */
  merge(other: Uint8Array | DistinctSketch): void {
    const bytes = other instanceof DistinctSketch ? other.#ranks : other;
    if (bytes.length === registerCount) {
      for (let register = 0; register < registerCount; register++)
        this.#raise(register, Math.min(bytes[register] as number, rankMax));
      return;
    }
    for (let at = 0; at + 1 < bytes.length && at < pairsMax * 2; at += 2) {
      const pair = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
      this.#raise((pair >> rankBits) & (registerCount - 1), pair & rankMax);
    }
  }

  /** At most 1 KiB: pairs of register and rank if they are few, else all ranks. */
  toBytes(): Buffer {
    const used = [...this.#ranks.entries()].filter(([, rank]) => rank > 0);
    if (used.length > pairsMax) return Buffer.from(this.#ranks);
    return Buffer.from(
      used.flatMap(([register, rank]) => {
        const pair = (register << rankBits) | rank;
        return [pair >> 8, pair & 0xff];
      }),
    );
  }

  estimate(): number {
    let sum = 0;
    let empty = 0;
    for (const rank of this.#ranks) {
      sum += 2 ** -rank;
      if (rank === 0) empty++;
    }
    const raw = (alpha * registerCount * registerCount) / sum;
    const isSmall = raw <= 2.5 * registerCount && empty > 0;
    return Math.round(isSmall ? registerCount * Math.log(registerCount / empty) : raw);
  }
}
