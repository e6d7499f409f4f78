/**
 * A least-squares support vector machine, one class against the rest, with a free intercept (Suykens and Vandewalle,
 * Neural Processing Letters 9, 1999). It is exact for its examples in any order: adding one borders the inverse of the
 * kernel matrix. Its leave-one-out predictions are exact, too (Cawley and Talbot, Neural Networks 17, 2004). Adding an
 * example costs the square of their number, so it only serves for few.
 */

import type { EncodedExample } from './model.ts';
import { grown } from './sparse-counts.ts';

/** An example with its inputs at the time it was added. Snapshots store it, so its members keep their names. */
export interface Support {
  kept: EncodedExample;
  inputs: Float32Array;
}

/** Added to the diagonal of the kernel matrix. */
const ridge = 0.5;

export class LeastSquaresSvm {
  readonly supports: Support[] = [];
  readonly #postings = new Postings();
  /** Lower triangle of the inverse of kernel + ridge, row by row. */
  #inverse = new Float64Array(512);
  /**
   * For each example: the inverse times a vector of ones, then, for each class, times the targets of the class (1 for its
   * own examples, else 0).
   */
  #solutions = new Float64Array(512);
  /** Solutions per example. */
  #stride = 8;
  /** The sums of the solutions over the examples. */
  #sums = new Float64Array(8);

  add(support: Support): void {
    const { kept, inputs } = support;
    const size = this.supports.length;
    this.#reserve(size + 1, kept.classIndex + 2);
    const similarities = this.#postings.dotProducts({ rows: kept.rows, inputs }, size);
    const projected = this.#timesInverse(similarities);
    let rest = ridge;
    for (const input of inputs) rest += input * input;
    for (let i = 0; i < size; i++) rest -= (similarities[i] as number) * (projected[i] as number);
    this.#border(projected, rest);
    this.#solve(projected, { similarities, rest, classIndex: kept.classIndex });
    this.#postings.add({ rows: kept.rows, inputs }, size);
    this.supports.push(support);
  }

  /** Writes scores by class index: about 1 for the class of similar examples, about 0 for others. */
  score({ rows }: EncodedExample, inputs: Float32Array, into: Float64Array): void {
    const similarities = this.#postings.dotProducts({ rows, inputs }, this.supports.length);
    const products = this.#timesSolutions(similarities);
    const [ones, count] = [products[0] as number, this.#sums[0] as number];
    for (let c = 0; c < into.length; c++) {
      into[c] = (products[c + 1] ?? 0) + ((this.#sums[c + 1] ?? 0) / count) * (1 - ones);
    }
  }

  /** The scores of its own example at index `at`, as if that example had not been added. */
  scoreWithout(at: number, into: Float64Array): void {
    const from = at * this.#stride;
    const solutions = this.#solutions;
    const [ones, count] = [solutions[from] as number, this.#sums[0] as number];
    const own = (this.#inverse[(at * (at + 3)) / 2] as number) - (ones * ones) / count;
    const { classIndex } = (this.supports[at] as Support).kept;
    for (let c = 0; c < into.length; c++) {
      const known = c + 1 < this.#stride;
      const value = known
        ? (solutions[from + c + 1] as number) - (ones * (this.#sums[c + 1] as number)) / count
        : 0;
      into[c] = (c === classIndex ? 1 : 0) - value / own;
    }
  }

  #border(projected: Float64Array, rest: number): void {
    const inverse = this.#inverse;
    const size = projected.length;
    let at = 0;
    for (let i = 0; i < size; i++) {
      const scaled = (projected[i] as number) / rest;
      for (let j = 0; j <= i; j++, at++)
        inverse[at] = (inverse[at] as number) + scaled * (projected[j] as number);
    }
    for (let i = 0; i < size; i++) inverse[at++] = -(projected[i] as number) / rest;
    inverse[at] = 1 / rest;
  }

  #solve(
    projected: Float64Array,
    { similarities, rest, classIndex }: { similarities: Float64Array; rest: number; classIndex: number },
  ): void {
    const size = projected.length;
    const stride = this.#stride;
    const solutions = this.#solutions;
    const added = this.#timesSolutions(similarities);
    let sum = 1;
    for (let c = 0; c < stride; c++)
      added[c] = ((c === 0 || c === classIndex + 1 ? 1 : 0) - (added[c] as number)) / rest;
    for (let i = 0, at = 0; i < size; i++) {
      const factor = projected[i] as number;
      sum -= factor;
      for (let c = 0; c < stride; c++, at++)
        solutions[at] = (solutions[at] as number) - factor * (added[c] as number);
    }
    solutions.set(added, size * stride);
    for (let c = 0; c < stride; c++) this.#sums[c] = (this.#sums[c] as number) + (added[c] as number) * sum;
  }

  #timesSolutions(similarities: Float64Array): Float64Array {
    const stride = this.#stride;
    const solutions = this.#solutions;
    const products = new Float64Array(stride);
    for (let i = 0; i < similarities.length; i++) {
      const factor = similarities[i] as number;
      if (factor === 0) continue;
      for (let c = 0, at = i * stride; c < stride; c++, at++)
        products[c] = (products[c] as number) + factor * (solutions[at] as number);
    }
    return products;
  }

  #timesInverse(vector: Float64Array): Float64Array {
    const size = vector.length;
    const product = new Float64Array(size);
    const inverse = this.#inverse;
    for (let i = 0, at = 0; i < size; i++) {
      const own = vector[i] as number;
      let sum = 0;
      for (let j = 0; j < i; j++, at++) {
        const cell = inverse[at] as number;
        sum += cell * (vector[j] as number);
        product[j] = (product[j] as number) + cell * own;
      }
      product[i] = sum + (inverse[at++] as number) * own;
    }
    return product;
  }

  #reserve(size: number, columns: number): void {
    const cells = (size * (size + 1)) / 2;
    if (cells > this.#inverse.length) {
      const inverse = new Float64Array(cells * 2);
      inverse.set(this.#inverse);
      this.#inverse = inverse;
    }
    if (columns <= this.#stride && size * this.#stride <= this.#solutions.length) return;
    const stride = columns <= this.#stride ? this.#stride : Math.ceil(columns * 1.25);
    const solutions = new Float64Array(size * 2 * stride);
    for (let i = 0; i + 1 < size; i++)
      solutions.set(this.#solutions.subarray(i * this.#stride, (i + 1) * this.#stride), i * stride);
    const sums = new Float64Array(stride);
    sums.set(this.#sums);
    this.#solutions = solutions;
    this.#stride = stride;
    this.#sums = sums;
  }
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
