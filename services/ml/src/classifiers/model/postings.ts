/** Which examples hold a feature, and with what input: flat lists, by row of the tables. */

export interface Vector {
  rows: Int32Array;
  inputs: Float32Array;
}

export class Postings {
  /** First entry of each row; 0 for none. */
  #heads = new Int32Array(1_024);
  #next = new Int32Array(1_024);
  #holders = new Uint16Array(1_024);
  #inputs = new Float32Array(1_024);
  #entries = 1;

  add({ rows, inputs }: Vector, holder: number): void {
    this.#reserve(rows);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as number;
      const entry = this.#entries++;
      this.#next[entry] = this.#heads[row] as number;
      this.#heads[row] = entry;
      this.#holders[entry] = holder;
      this.#inputs[entry] = inputs[i] as number;
    }
  }

  /** Dot products with each of the first so many examples. */
  compare({ rows, inputs }: Vector, holders: number): Float64Array {
    const products = new Float64Array(holders);
    for (let i = 0; i < rows.length; i++) {
      const input = inputs[i] as number;
      for (let entry = this.#heads[rows[i] as number] ?? 0; entry > 0; entry = this.#next[entry] as number) {
        const holder = this.#holders[entry] as number;
        products[holder] = (products[holder] as number) + input * (this.#inputs[entry] as number);
      }
    }
    return products;
  }

  #reserve(rows: Int32Array): void {
    let most = 0;
    for (const row of rows) if (row > most) most = row;
    if (most >= this.#heads.length) this.#heads = grown(this.#heads, new Int32Array(2 * most));
    const entries = this.#entries + rows.length;
    if (entries <= this.#next.length) return;
    this.#next = grown(this.#next, new Int32Array(2 * entries));
    this.#holders = grown(this.#holders, new Uint16Array(2 * entries));
    this.#inputs = grown(this.#inputs, new Float32Array(2 * entries));
  }
}

function grown<A extends { set(from: A): void }>(from: A, to: A): A {
  to.set(from);
  return to;
}
