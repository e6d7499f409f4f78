/**
 * Flat tables that grow: hash → row, and for each row its (row, class) pairs with their numbers. No object a feature, and
 * a row's pairs lie side by side: to read them all is most of what a call does, and one at a time they would come from
 * all over the memory.
 */

export interface TablesState {
  keys: Uint32Array;
  documents: Uint32Array;
  mass: Float64Array;
  /** Pairs of each row; they follow one another in the order of the rows. */
  sizes: Int32Array;
  classes: Uint16Array;
  counts: Uint32Array;
  bayes: Float32Array;
  weights: Float32Array;
  gradients: Float32Array;
}

export class Tables {
  rows = 0;
  /** The hash of each row. */
  keys = new Uint32Array(1_024);
  /** Examples that hold the feature. */
  documents = new Uint32Array(1_024);
  /** Sum of `bayes` over the row's classes. */
  mass = new Float64Array(1_024);
  /** The first pair of each row, and how many it has. */
  starts = new Int32Array(1_024);
  sizes = new Int32Array(1_024);
  /** Pairs that a row has room for: none, or a power of two. */
  #rooms = new Int32Array(1_024);
  classes = new Uint16Array(2_048);
  /** Examples of the class that hold the feature. */
  counts = new Uint32Array(2_048);
  bayes = new Float32Array(2_048);
  weights = new Float32Array(2_048);
  /** Sums of squared gradients. */
  gradients = new Float32Array(2_048);
  #pairs = 0;
  /** Rooms that rows have moved out of, by the logarithm of their size. */
  readonly #freed: number[][] = [];
  #slots = new Int32Array(2_048).fill(-1);

  static from(state: TablesState): Tables {
    const tables = new Tables();
    const { keys, documents, mass, sizes } = state;
    tables.rows = keys.length;
    tables.#resizeRows(keys.length);
    for (const [to, from] of [
      [tables.keys, keys],
      [tables.documents, documents],
      [tables.mass, mass],
    ] as const)
      to.set(from);
    for (let row = 0, from = 0; row < sizes.length; row++) {
      const size = sizes[row] as number;
      if (size > 0) tables.#move(row, roomFor(size));
      tables.sizes[row] = size;
      const to = tables.starts[row] as number;
      for (let i = 0; i < size; i++, from++) copyPair(state, from, tables, to + i);
    }
    tables.#rehash(Math.max(2_048, roomFor(tables.rows * 2 + 1)));
    return tables;
  }

  /** Only what is in use, the same whatever moved where. */
  toState(): TablesState {
    const { rows } = this;
    const sizes = this.sizes.slice(0, rows);
    let pairs = 0;
    for (const size of sizes) pairs += size;
    const state: TablesState = {
      keys: this.keys.slice(0, rows),
      documents: this.documents.slice(0, rows),
      mass: this.mass.slice(0, rows),
      sizes,
      classes: new Uint16Array(pairs),
      counts: new Uint32Array(pairs),
      bayes: new Float32Array(pairs),
      weights: new Float32Array(pairs),
      gradients: new Float32Array(pairs),
    };
    for (let row = 0, to = 0; row < rows; row++) {
      const from = this.starts[row] as number;
      const size = sizes[row] as number;
      for (let i = 0; i < size; i++, to++) copyPair(this, from + i, state, to);
    }
    return state;
  }

  /** The row of a hash, or -1. */
  find(hash: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const row = this.#slots[slot] as number;
      if (row < 0 || this.keys[row] === hash) return row;
    }
  }

  findOrAdd(hash: number): number {
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    for (; (this.#slots[slot] as number) >= 0; slot = (slot + 1) & mask) {
      if (this.keys[this.#slots[slot] as number] === hash) return this.#slots[slot] as number;
    }
    if (this.rows === this.keys.length) this.#resizeRows(this.rows * 2);
    const row = this.rows++;
    this.keys[row] = hash;
    this.#slots[slot] = row;
    if (this.rows * 2 > this.#slots.length) this.#rehash(this.#slots.length * 2);
    return row;
  }

  /** The pair of row and class; rows may move for it. */
  pairOrAdd(row: number, classIndex: number): number {
    const { classes } = this;
    const from = this.starts[row] as number;
    const size = this.sizes[row] as number;
    for (let pair = from; pair < from + size; pair++) if (classes[pair] === classIndex) return pair;
    return this.addPair(row, classIndex);
  }

  /** For a class that the row has no pair of. */
  addPair(row: number, classIndex: number): number {
    const size = this.sizes[row] as number;
    if (size === this.#rooms[row]) this.#move(row, Math.max(1, size * 2));
    const pair = (this.starts[row] as number) + size;
    this.sizes[row] = size + 1;
    this.classes[pair] = classIndex;
    this.counts[pair] = 0;
    this.bayes[pair] = 0;
    this.weights[pair] = 0;
    this.gradients[pair] = 0;
    return pair;
  }

  /** Takes a class out of every row, as if it had never been there. Returns the mass that went. */
  dropClass(classIndex: number): number {
    let gone = 0;
    for (let row = 0; row < this.rows; row++) {
      const from = this.starts[row] as number;
      const last = from + (this.sizes[row] as number) - 1;
      for (let pair = from; pair <= last; pair++) {
        if (this.classes[pair] !== classIndex) continue;
        this.documents[row] = (this.documents[row] as number) - (this.counts[pair] as number);
        this.mass[row] = (this.mass[row] as number) - (this.bayes[pair] as number);
        gone += this.bayes[pair] as number;
        copyPair(this, last, this, pair);
        this.sizes[row] = last - from;
        break;
      }
    }
    return gone;
  }

  /** Gives a row other room for its pairs. */
  #move(row: number, room: number): void {
    const to = this.#freed[Math.log2(room)]?.pop() ?? this.#extend(room);
    const from = this.starts[row] as number;
    const size = this.sizes[row] as number;
    for (let i = 0; i < size; i++) copyPair(this, from + i, this, to + i);
    const left = this.#rooms[row] as number;
    if (left > 0) {
      const which = Math.log2(left);
      for (let i = this.#freed.length; i <= which; i++) this.#freed.push([]);
      this.#freed[which]?.push(from);
    }
    this.starts[row] = to;
    this.#rooms[row] = room;
  }

  #extend(room: number): number {
    const at = this.#pairs;
    this.#pairs += room;
    if (this.#pairs <= this.classes.length) return at;
    const size = Math.max(this.#pairs, Math.ceil(this.classes.length * 1.5));
    this.classes = grown(this.classes, new Uint16Array(size));
    this.counts = grown(this.counts, new Uint32Array(size));
    this.bayes = grown(this.bayes, new Float32Array(size));
    this.weights = grown(this.weights, new Float32Array(size));
    this.gradients = grown(this.gradients, new Float32Array(size));
    return at;
  }

  #resizeRows(rows: number): void {
    if (rows <= this.keys.length) return;
    this.keys = grown(this.keys, new Uint32Array(rows));
    this.documents = grown(this.documents, new Uint32Array(rows));
    this.mass = grown(this.mass, new Float64Array(rows));
    this.starts = grown(this.starts, new Int32Array(rows));
    this.sizes = grown(this.sizes, new Int32Array(rows));
    this.#rooms = grown(this.#rooms, new Int32Array(rows));
  }

  #rehash(size: number): void {
    const slots = new Int32Array(size).fill(-1);
    for (let row = 0; row < this.rows; row++) {
      let slot = (this.keys[row] as number) & (size - 1);
      while ((slots[slot] as number) >= 0) slot = (slot + 1) & (size - 1);
      slots[slot] = row;
    }
    this.#slots = slots;
  }
}

type Pairs = Pick<TablesState, 'classes' | 'counts' | 'bayes' | 'weights' | 'gradients'>;

function copyPair(source: Pairs, from: number, target: Pairs, to: number): void {
  target.classes[to] = source.classes[from] as number;
  target.counts[to] = source.counts[from] as number;
  target.bayes[to] = source.bayes[from] as number;
  target.weights[to] = source.weights[from] as number;
  target.gradients[to] = source.gradients[from] as number;
}

/** The least power of two that is no less. */
function roomFor(size: number): number {
  return 2 ** Math.ceil(Math.log2(size));
}

function grown<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}
