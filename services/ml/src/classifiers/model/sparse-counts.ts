/**
 * Numbers of (row, class) pairs. A row's pairs lie side by side: to read them all is most of what a call does, and one
 * at a time they would come from all over the memory.
 */

export interface PairsState {
  /** Pairs of each row; they follow one another in the order of the rows. */
  sizes: Uint16Array;
  classes: Uint16Array;
  values: Float32Array;
  /** Empty where these are not kept. */
  squares: Float32Array;
}

const startRoom = 1_024;
/**
 * Pairs of all rows: a bound on memory, and on what one prediction can read. Counted without the room that rows leave,
 * which depends on what moved where: every replica must come to the same numbers.
 */
export const pairsMax = 1_500_000;
/** What arrays grow by. */
export const growth = 1.25;

export class Pairs {
  /** The first pair of each row, and how many it has. */
  starts = new Int32Array(startRoom);
  sizes = new Uint16Array(startRoom);
  classes = new Uint16Array(startRoom);
  values = new Float32Array(startRoom);
  /** Sums of squared gradients, where they are kept. */
  squares: Float32Array;
  #taken = 0;
  #count = 0;
  /** Where rows have moved out, by the room that they had. */
  readonly #freed = new Map<number, number[]>();

  constructor({ squares }: { squares: boolean }) {
    this.squares = new Float32Array(squares ? startRoom : 0);
  }

  static from(state: PairsState, options: { squares: boolean }): Pairs {
    const { sizes } = state;
    const pairs = new Pairs(options);
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
    }
    return pairs;
  }

  /** Only what is in use of the first so many rows, the same whatever moved where; without a class, where one is named. */
  toState(rows: number, without = -1): PairsState {
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
    }
    return { sizes, ...target };
  }

  without(classIndex: number, rows: number): Pairs {
    const pairs = Pairs.from(this.toState(rows, classIndex), { squares: this.squares.length > 0 });
    pairs.resizeRows(this.starts.length);
    return pairs;
  }

  /** At least so many. */
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

  /** The pair of row and class, or -1 where there is no room for another; rows may move for it. */
  findOrAdd(row: number, classIndex: number): number {
    const { classes } = this;
    const from = this.starts[row] as number;
    const end = from + (this.sizes[row] as number);
    for (let pair = from; pair < end; pair++) if (classes[pair] === classIndex) return pair;
    return this.add(row, classIndex);
  }

  /** For a class that the row has no pair of; -1 where there is no room for another. */
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

  /** Gives a row that is full the next larger room. */
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

type Numbers = Pick<PairsState, 'classes' | 'values' | 'squares'>;

function copyPair(source: Numbers, from: number, { target, to }: { target: Numbers; to: number }): void {
  target.classes[to] = source.classes[from] as number;
  target.values[to] = source.values[from] as number;
  if (source.squares.length > 0) target.squares[to] = source.squares[from] as number;
}

/** The room that a row of so many pairs has: the least power of two, or one and a half times one, that is no less. */
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
