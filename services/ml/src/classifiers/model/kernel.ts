/**
 * The two kernels of the model for small samples: the dot products of the sparse inputs, and of the vectors of what the
 * words mean.
 */

import type { EncodedExample } from './model.ts';
import { grown } from './sparse-counts.ts';

/** An example with its inputs at the time it was added. Snapshots store it, so its members keep their names. */
export interface Support {
  kept: EncodedExample;
  inputs: Float32Array;
  /** Of what the words mean; no numbers if that is not known. */
  vector: Float32Array;
}

/** A text as the kernels see it. */
export interface Point {
  rows: Int32Array;
  inputs: Float32Array;
  vector: Float32Array;
}

/** With each example. */
export interface Similarities {
  sparse: Float64Array;
  dense: Float64Array;
}

export class Kernel {
  readonly #postings = new Postings();
  readonly #vectors: Float32Array[] = [];

  add({ rows, inputs, vector }: Point): void {
    this.#postings.add({ rows, inputs }, this.#vectors.length);
    this.#vectors.push(vector);
  }

  similarities({ rows, inputs, vector }: Point): Similarities {
    const sparse = this.#postings.dotProducts({ rows, inputs }, this.#vectors.length);
    return { sparse, dense: Float64Array.from(this.#vectors, (other) => dot(vector, other)) };
  }
}

/** 0 if one of the two has no numbers. */
export function dot(a: Float32Array, b: Float32Array): number {
  const size = Math.min(a.length, b.length);
  let sum = 0;
  for (let i = 0; i < size; i++) sum += (a[i] as number) * (b[i] as number);
  return sum;
}

interface Vector {
  rows: Int32Array;
  inputs: Float32Array;
}

/** An inverted index: the examples that have a feature, and their inputs, as linked lists in flat arrays. */
class Postings {
  /** The first entry of each row; 0 if there is none. */
  #heads = new Int32Array(1_024);
  #next = new Int32Array(1_024);
  #examples = new Uint16Array(1_024);
  #inputs = new Float32Array(1_024);
  #entries = 1;

  add({ rows, inputs }: Vector, example: number): void {
    this.#reserve(rows);
    for (let i = 0; i < rows.length; i++) {
      const row = rows[i] as number;
      const entry = this.#entries++;
      this.#next[entry] = this.#heads[row] as number;
      this.#heads[row] = entry;
      this.#examples[entry] = example;
      this.#inputs[entry] = inputs[i] as number;
    }
  }

  /** Dot products with each of the first `examples` examples. */
  dotProducts({ rows, inputs }: Vector, examples: number): Float64Array {
    const products = new Float64Array(examples);
    for (let i = 0; i < rows.length; i++) {
      const input = inputs[i] as number;
      for (let entry = this.#heads[rows[i] as number] ?? 0; entry > 0; entry = this.#next[entry] as number) {
        const example = this.#examples[entry] as number;
        products[example] = (products[example] as number) + input * (this.#inputs[entry] as number);
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
    this.#examples = grown(this.#examples, new Uint16Array(2 * entries));
    this.#inputs = grown(this.#inputs, new Float32Array(2 * entries));
  }
}
