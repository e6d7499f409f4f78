/**
 * A sparse matrix with a number for each pair of row and class. The pairs of a row are next to each other in memory,
 * because a call spends most of its time reading all of them.
 */

import type { Pause } from '../../scheduling/time-slices.ts';

export interface SparseCountsState {
  /** The number of pairs of each row. The pairs follow in the order of the rows. */
  sizes: Uint16Array;
  classes: Uint16Array;
  values: Float32Array;
  /** Empty for naive Bayes. */
  squares: Float32Array;
}

const startRoom = 1_024;
/** After so many rows, work on all of them may pause. */
const rowsPerPiece = 256;
/**
 * The most pairs of all rows. It bounds the memory, and the work of one prediction. Free room does not count, because
 * it depends on how rows moved, and every replica must reach the bound at the same example.
 */
export const pairsMax = 1_500_000;
/**
 * A feature that more classes have says little about the class, and is skipped. So the cost of an example does not grow
 * with the number of classes that share its words. (Stop words are left out for the same reason.)
 */
export const rowClassesMax = 1_000;
/** The factor by which arrays grow. */
export const growth = 1.25;

export class SparseCounts {
  /** The first pair of each row, and its number of pairs. */
  starts = new Int32Array(startRoom);
  sizes = new Uint16Array(startRoom);
  classes = new Uint16Array(startRoom);
  values = new Float32Array(startRoom);
  /** Sums of squared gradients, for the regression. */
  squares: Float32Array;
  #taken = 0;
  #count = 0;
  /** Starts of free ranges, by their length. */
  readonly #freed = new Map<number, number[]>();

  constructor({ squares }: { squares: boolean }) {
    this.squares = new Float32Array(squares ? startRoom : 0);
  }

  static async from(
    state: SparseCountsState,
    options: { squares: boolean },
    pause: Pause,
  ): Promise<SparseCounts> {
    const { sizes } = state;
    const pairs = new SparseCounts(options);
    pairs.resizeRows(sizes.length);
    let taken = 0;
    for (const size of sizes) taken += roomFor(size);
    pairs.#resize(taken);
    for (let row = 0, from = 0; row < sizes.length; row++) {
      const size = sizes[row] as number;
      pairs.starts[row] = pairs.#taken;
      pairs.sizes[row] = size;
      for (let i = 0; i < size; i++) copyPair(state, from++, { target: pairs, to: pairs.#taken + i });
      pairs.#taken += roomFor(size);
      pairs.#count += size;
      if (row % rowsPerPiece === 0) await pause();
    }
    return pairs;
  }

  /**
   * Returns only the entries in use, in an order that doesn't depend on how rows moved. Leaves out the class `without`. The
   * pairs must not change meanwhile.
   */
  async toState(rows: number, pause: Pause, without = -1): Promise<SparseCountsState> {
    const sizes = this.sizes.slice(0, rows);
    let size = 0;
    for (const one of sizes) size += one;
    const target: Numbers = {
      classes: new Uint16Array(size),
      values: new Float32Array(size),
      squares: new Float32Array(this.squares.length > 0 ? size : 0),
    };
    let to = 0;
    for (let row = 0; row < rows; row++) {
      const from = this.starts[row] as number;
      const end = from + (sizes[row] as number);
      for (let pair = from; pair < end; pair++) {
        if (this.classes[pair] === without) sizes[row] = (sizes[row] as number) - 1;
        else copyPair(this, pair, { target, to: to++ });
      }
      if (row % rowsPerPiece === 0) await pause();
    }
    return { sizes, ...target };
  }

  async without(classIndex: number, rows: number, pause: Pause): Promise<SparseCounts> {
    const state = await this.toState(rows, pause, classIndex);
    const pairs = await SparseCounts.from(state, { squares: this.squares.length > 0 }, pause);
    pairs.resizeRows(this.starts.length);
    return pairs;
  }

  /** Makes room for at least `rows` rows. */
  resizeRows(rows: number): void {
    if (rows <= this.starts.length) return;
    this.starts = grown(this.starts, new Int32Array(rows));
    this.sizes = grown(this.sizes, new Uint16Array(rows));
  }

  /** In bytes. */
  get size(): number {
    const { starts, sizes, classes, values, squares } = this;
    return [starts, sizes, classes, values, squares].reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /**
   * Returns the pair of row and class. Adds one if there is none. Returns -1 if the matrix is full. May move the row.
   */
  findOrAdd(row: number, classIndex: number): number {
    const { classes } = this;
    const from = this.starts[row] as number;
    const end = from + (this.sizes[row] as number);
    for (let pair = from; pair < end; pair++) if (classes[pair] === classIndex) return pair;
    return this.add(row, classIndex);
  }

  /** True if so many classes have the row that it is skipped. */
  isCommon(row: number): boolean {
    return (this.sizes[row] as number) > rowClassesMax;
  }

  /** Adds a pair for a class that the row does not have yet. Returns -1 if the matrix is full. */
  add(row: number, classIndex: number): number {
    const size = this.sizes[row] as number;
    if (this.#count >= pairsMax) return -1;
    if (size === roomFor(size)) this.#move(row);
    this.#count++;
    const pair = (this.starts[row] as number) + size;
    this.sizes[row] = size + 1;
    this.classes[pair] = classIndex;
    this.values[pair] = 0;
    if (this.squares.length > 0) this.squares[pair] = 0;
    return pair;
  }

  /** Moves a full row to a larger range. */
  #move(row: number): void {
    const from = this.starts[row] as number;
    const size = this.sizes[row] as number;
    const room = roomFor(size + 1);
    const to = this.#freed.get(room)?.pop() ?? this.#extend(room);
    for (let i = 0; i < size; i++) copyPair(this, from + i, { target: this, to: to + i });
    this.starts[row] = to;
    if (size === 0) return;
    const freed = this.#freed.get(size);
    if (freed === undefined) this.#freed.set(size, [from]);
    else freed.push(from);
  }

  #extend(room: number): number {
    const at = this.#taken;
    this.#taken += room;
    if (this.#taken > this.classes.length) this.#resize(Math.ceil(this.#taken * growth));
    return at;
  }

  #resize(size: number): void {
    if (size <= this.classes.length) return;
    this.classes = grown(this.classes, new Uint16Array(size));
    this.values = grown(this.values, new Float32Array(size));
    if (this.squares.length > 0) this.squares = grown(this.squares, new Float32Array(size));
  }
}

type Numbers = Pick<SparseCountsState, 'classes' | 'values' | 'squares'>;

function copyPair(source: Numbers, from: number, { target, to }: { target: Numbers; to: number }): void {
  target.classes[to] = source.classes[from] as number;
  target.values[to] = source.values[from] as number;
  if (source.squares.length > 0) target.squares[to] = source.squares[from] as number;
}

/**
 * Returns the range length for a row with `size` pairs: the least power of two, or 1.5 times one, that is at least
 * `size`.
 */
function roomFor(size: number): number {
  if (size < 2) return size;
  const power = 2 ** (31 - Math.clz32(size));
  if (power === size) return size;
  const middle = power * 1.5;
  return size <= middle ? middle : power * 2;
}

export function grown<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}
