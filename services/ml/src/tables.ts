/** Flat tables that grow: hash → row, and for each row a list of (row, class) pairs with their numbers. No object a feature. */

const emptyList = -1;

export interface TablesState {
  keys: Uint32Array;
  rows: number;
  documents: Uint32Array;
  mass: Float64Array;
  heads: Int32Array;
  pairs: number;
  freed: number;
  next: Int32Array;
  classes: Uint16Array;
  counts: Uint32Array;
  bayes: Float32Array;
  weights: Float32Array;
  gradients: Float32Array;
}

export class Tables implements TablesState {
  /** The hash of each row. */
  keys = new Uint32Array(1_024);
  rows = 0;
  /** Examples that hold the feature. */
  documents = new Uint32Array(1_024);
  /** Sum of `bayes` over the row's classes. */
  mass = new Float64Array(1_024);
  /** First pair of each row. */
  heads = new Int32Array(1_024);
  pairs = 0;
  /** First of the pairs that deleted classes left. */
  freed = emptyList;
  next = new Int32Array(2_048);
  classes = new Uint16Array(2_048);
  /** Examples of the class that hold the feature. */
  counts = new Uint32Array(2_048);
  bayes = new Float32Array(2_048);
  weights = new Float32Array(2_048);
  /** Sums of squared gradients. */
  gradients = new Float32Array(2_048);
  #slots = new Int32Array(2_048).fill(-1);

  static from(state: TablesState): Tables {
    const tables = Object.assign(new Tables(), state);
    tables.#rehash(tables.#slotsFor(tables.rows));
    return tables;
  }

  /** Only what is in use. */
  toState(): TablesState {
    const { rows, pairs } = this;
    return {
      keys: this.keys.slice(0, rows),
      rows,
      documents: this.documents.slice(0, rows),
      mass: this.mass.slice(0, rows),
      heads: this.heads.slice(0, rows),
      pairs,
      freed: this.freed,
      next: this.next.slice(0, pairs),
      classes: this.classes.slice(0, pairs),
      counts: this.counts.slice(0, pairs),
      bayes: this.bayes.slice(0, pairs),
      weights: this.weights.slice(0, pairs),
      gradients: this.gradients.slice(0, pairs),
    };
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
    if (this.rows === this.keys.length) this.#growRows();
    const row = this.rows++;
    this.keys[row] = hash;
    this.heads[row] = emptyList;
    this.#slots[slot] = row;
    if (this.rows * 2 > this.#slots.length) this.#rehash(this.#slots.length * 2);
    return row;
  }

  /** The pair of row and class, or -1. */
  pair(row: number, classIndex: number): number {
    let pair = this.heads[row] as number;
    while (pair >= 0 && this.classes[pair] !== classIndex) pair = this.next[pair] as number;
    return pair;
  }

  pairOrAdd(row: number, classIndex: number): number {
    const found = this.pair(row, classIndex);
    if (found >= 0) return found;
    const pair = this.#freshPair();
    this.next[pair] = this.heads[row] as number;
    this.heads[row] = pair;
    this.classes[pair] = classIndex;
    return pair;
  }

  #freshPair(): number {
    if (this.freed >= 0) {
      const pair = this.freed;
      this.freed = this.next[pair] as number;
      this.counts[pair] = 0;
      this.bayes[pair] = 0;
      this.weights[pair] = 0;
      this.gradients[pair] = 0;
      return pair;
    }
    if (this.pairs === this.next.length) this.#growPairs();
    return this.pairs++;
  }

  /** Takes a class out of every row, as if it had never been there. Returns the mass that went. */
  dropClass(classIndex: number): number {
    let gone = 0;
    for (let row = 0; row < this.rows; row++) {
      let before = emptyList;
      for (let pair = this.heads[row] as number; pair >= 0; before = pair, pair = this.next[pair] as number) {
        if (this.classes[pair] !== classIndex) continue;
        const after = this.next[pair] as number;
        if (before < 0) this.heads[row] = after;
        else this.next[before] = after;
        this.documents[row] = (this.documents[row] as number) - (this.counts[pair] as number);
        this.mass[row] = (this.mass[row] as number) - (this.bayes[pair] as number);
        gone += this.bayes[pair] as number;
        this.next[pair] = this.freed;
        this.freed = pair;
        break;
      }
    }
    return gone;
  }

  #growRows(): void {
    const size = Math.max(1_024, this.keys.length * 2);
    this.keys = grown(this.keys, new Uint32Array(size));
    this.documents = grown(this.documents, new Uint32Array(size));
    this.mass = grown(this.mass, new Float64Array(size));
    this.heads = grown(this.heads, new Int32Array(size));
  }

  #growPairs(): void {
    const size = Math.max(2_048, Math.ceil(this.next.length * 1.5));
    this.next = grown(this.next, new Int32Array(size));
    this.classes = grown(this.classes, new Uint16Array(size));
    this.counts = grown(this.counts, new Uint32Array(size));
    this.bayes = grown(this.bayes, new Float32Array(size));
    this.weights = grown(this.weights, new Float32Array(size));
    this.gradients = grown(this.gradients, new Float32Array(size));
  }

  #slotsFor(rows: number): number {
    return Math.max(2_048, 2 ** Math.ceil(Math.log2(rows * 2 + 1)));
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

function grown<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}
