/**
 * Flat tables that grow: hash → row, and for each row and class the numbers of naive Bayes and of the regression. No
 * object a feature. The two have pairs of their own: naive Bayes none of characters, the regression none of what was
 * seen once and late.
 */

import { grown, growth, Pairs, type PairsState } from './sparse-counts.ts';

export interface TablesState {
  keys: Uint32Array;
  documents: Uint32Array;
  bayes: PairsState;
  regression: PairsState;
}

const startRows = 1_024;
/** Features of one classifier; what comes up after so many is not learnt. */
export const rowsMax = 1_000_000;
/** Slots for a row: so many of them are never taken that searches are short. */
const slotsPerRow = 1.6;

export class Tables {
  rows = 0;
  /** The hash of each row. */
  keys = new Uint32Array(startRows);
  /** Examples that hold the feature. */
  documents = new Uint32Array(startRows);
  /** Sums of naive Bayes. */
  bayes = new Pairs({ squares: false });
  /** Weights of the regression. */
  regression = new Pairs({ squares: true });
  #slots = new Int32Array(startRows * slotsPerRow).fill(-1);

  static from({ keys, documents, bayes, regression }: TablesState): Tables {
    const tables = new Tables();
    tables.bayes = Pairs.from(bayes, { squares: false });
    tables.regression = Pairs.from(regression, { squares: true });
    tables.#resize(keys.length);
    tables.keys.set(keys);
    tables.documents.set(documents);
    tables.rows = keys.length;
    tables.#rehash();
    return tables;
  }

  /** Only what is in use, the same whatever moved where. */
  toState(): TablesState {
    const { rows } = this;
    return {
      keys: this.keys.slice(0, rows),
      documents: this.documents.slice(0, rows),
      bayes: this.bayes.toState(rows),
      regression: this.regression.toState(rows),
    };
  }

  /** The row of a hash, or -1. */
  find(hash: number): number {
    return this.#slots[this.#slotOf(hash)] as number;
  }

  /** The row of a hash, made where there is none; -1 when the tables are full. */
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
    this.#rehash();
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

  /** Takes a class out of every row. That examples of it held a feature stays counted. */
  dropClass(classIndex: number): void {
    this.bayes = this.bayes.without(classIndex, this.rows);
    this.regression = this.regression.without(classIndex, this.rows);
  }

  #resize(rows: number): void {
    if (rows <= this.keys.length) return;
    this.keys = grown(this.keys, new Uint32Array(rows));
    this.documents = grown(this.documents, new Uint32Array(rows));
    this.bayes.resizeRows(rows);
    this.regression.resizeRows(rows);
  }

  #rehash(): void {
    this.#slots = new Int32Array(this.keys.length * slotsPerRow).fill(-1);
    for (let row = 0; row < this.rows; row++) this.#slots[this.#slotOf(this.keys[row] as number)] = row;
  }

  /** Where the row of a hash stands, or would (Lemire, ACM TOMACS 29, 2019: the high bits of a product, not a remainder). */
  #slotOf(hash: number): number {
    const slots = this.#slots;
    let slot = Math.floor((hash * slots.length) / 4_294_967_296);
    for (;;) {
      const row = slots[slot] as number;
      if (row < 0 || this.keys[row] === hash) return slot;
      if (++slot === slots.length) slot = 0;
    }
  }
}
