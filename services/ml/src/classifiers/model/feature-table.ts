/**
 * The features of a classifier in growing flat arrays, without an object per feature. The table maps hashes to rows.
 * For each row and class it has the sums of naive Bayes and the weights of the regression. The two are stored
 * separately, because each has entries that the other lacks: naive Bayes ignores n-grams, and the regression ignores
 * later features that only one example has.
 */

import { randomInt } from 'node:crypto';
import type { Pause } from '../../scheduling/time-slices.ts';
import { spread } from './features.ts';
import { grown, growth, SparseCounts, type SparseCountsState } from './sparse-counts.ts';

export interface FeatureTableState {
  keys: Uint32Array;
  documents: Uint32Array;
  bayes: SparseCountsState;
  regression: SparseCountsState;
}

const startRows = 1_024;
/** The most features of one classifier. Further features are not learnt. */
export const rowsMax = 1_000_000;
/** After so many rows, work on all of them may pause. */
const rowsPerPiece = 4_096;
/** Hash slots per row. At most 62 % of the slots are taken, so probing is short. */
const slotsPerRow = 1.6;
const seedsMax = 2 ** 32;

export class FeatureTable {
  rows = 0;
  /** The hash of each row. */
  keys = new Uint32Array(startRows);
  /** The number of examples that have the feature. */
  documents = new Uint32Array(startRows);
  /** Sums of naive Bayes. */
  bayes = new SparseCounts({ squares: false });
  /** Weights of the regression. */
  regression = new SparseCounts({ squares: true });
  #slots = new Int32Array(startRows * slotsPerRow).fill(-1);
  /** Places depend on a random number, so that words cannot be chosen whose rows all need one place. */
  readonly #seed = randomInt(seedsMax);

  static async from(state: FeatureTableState, pause: Pause): Promise<FeatureTable> {
    const { keys, documents } = state;
    const table = new FeatureTable();
    table.bayes = await SparseCounts.from(state.bayes, { squares: false }, pause);
    table.regression = await SparseCounts.from(state.regression, { squares: true }, pause);
    table.#resize(keys.length);
    table.keys.set(keys);
    table.documents.set(documents);
    table.rows = keys.length;
    table.#clearSlots();
    for (let row = 0; row < table.rows; row += rowsPerPiece) {
      table.#addSlots(row, Math.min(table.rows, row + rowsPerPiece));
      await pause();
    }
    return table;
  }

  /**
   * Returns only the entries in use, in an order that doesn't depend on how rows moved. The table must not change before
   * the state was used.
   */
  async toState(pause: Pause): Promise<FeatureTableState> {
    const { rows } = this;
    return {
      keys: this.keys.subarray(0, rows),
      documents: this.documents.subarray(0, rows),
      bayes: await this.bayes.toState(rows, pause),
      regression: await this.regression.toState(rows, pause),
    };
  }

  /** Returns the row of a hash, or -1. */
  find(hash: number): number {
    return this.#slots[this.#slotOf(hash)] as number;
  }

  /** Returns the row of a hash. Adds one if there is none. Returns -1 if the table is full. */
  findOrAdd(hash: number): number {
    const slot = this.#slotOf(hash);
    const known = this.#slots[slot] as number;
    if (known >= 0 || this.isFull) return known;
    const row = this.rows++;
    if (row < this.keys.length) {
      this.keys[row] = hash;
      this.#slots[slot] = row;
      return row;
    }
    this.#resize(Math.ceil(row * growth));
    this.keys[row] = hash;
    this.#clearSlots();
    this.#addSlots(0, this.rows);
    return row;
  }

  get isFull(): boolean {
    return this.rows >= rowsMax;
  }

  /** In bytes. */
  get size(): number {
    const { byteLength } = this.#slots;
    return (
      this.keys.byteLength + this.documents.byteLength + byteLength + this.bayes.size + this.regression.size
    );
  }

  /** Removes the class from every row. The counts in `documents` still include its examples. */
  async dropClass(classIndex: number, pause: Pause): Promise<void> {
    this.bayes = await this.bayes.without(classIndex, this.rows, pause);
    this.regression = await this.regression.without(classIndex, this.rows, pause);
  }

  #resize(rows: number): void {
    if (rows <= this.keys.length) return;
    this.keys = grown(this.keys, new Uint32Array(rows));
    this.documents = grown(this.documents, new Uint32Array(rows));
    this.bayes.resizeRows(rows);
    this.regression.resizeRows(rows);
  }

  #clearSlots(): void {
    this.#slots = new Int32Array(this.keys.length * slotsPerRow).fill(-1);
  }

  #addSlots(from: number, end: number): void {
    for (let row = from; row < end; row++) this.#slots[this.#slotOf(this.keys[row] as number)] = row;
  }

  /**
   * Returns the slot of a hash, or the free slot where it would be. A multiplication replaces the modulo (Lemire 2019).
   */
  #slotOf(hash: number): number {
    const slots = this.#slots;
    let slot = Math.floor((spread(hash ^ this.#seed) * slots.length) / 4_294_967_296);
    for (;;) {
      const row = slots[slot] as number;
      if (row < 0 || this.keys[row] === hash) return slot;
      if (++slot === slots.length) slot = 0;
    }
  }
}
