/**
 * A least-squares support vector machine, each class against the rest, with a free intercept: Suykens and Vandewalle,
 * Neural Processing Letters 9 (1999). It is exact for the examples that it holds, whatever their order: an example is
 * taken in by bordering the inverse of the kernel matrix. What it would say of an example had it not learnt it is exact
 * too: Cawley and Talbot, Neural Networks 17 (2004). Costs the square of the number of examples, so only for few.
 */

import { Postings } from './postings.ts';
import type { Kept } from './replay-buffer.ts';

/** An example with the inputs that it had when it came. */
export interface Support {
  kept: Kept;
  inputs: Float32Array;
}

/** Added to the diagonal of the kernel matrix. */
const ridge = 0.5;

export class LeastSquares {
  readonly supports: Support[] = [];
  readonly #postings = new Postings();
  /** Lower triangle of the inverse of kernel + ridge, row by row. */
  #inverse = new Float64Array(512);
  /** For each example, the inverse times ones and, for each class, times its targets: 1 for its own examples, else 0. */
  #solutions = new Float64Array(512);
  /** Numbers an example has there. */
  #stride = 8;
  /** Their sums over the examples. */
  #sums = new Float64Array(8);

  add(support: Support): void {
    const { kept, inputs } = support;
    const size = this.supports.length;
    this.#reserve(size + 1, kept.classIndex + 2);
    const similar = this.#postings.compare({ rows: kept.rows, inputs }, size);
    const moved = this.#timesInverse(similar);
    let rest = ridge;
    for (const input of inputs) rest += input * input;
    for (let i = 0; i < size; i++) rest -= (similar[i] as number) * (moved[i] as number);
    this.#border(moved, rest);
    this.#solve(moved, { similar, rest, classIndex: kept.classIndex });
    this.#postings.add({ rows: kept.rows, inputs }, size);
    this.supports.push(support);
  }

  /** About 1 for the class of similar examples and 0 for others; `into` is by class index. */
  score(kept: Kept, inputs: Float32Array, into: Float64Array): void {
    const similar = this.#postings.compare({ rows: kept.rows, inputs }, this.supports.length);
    const products = this.#timesSolutions(similar);
    const [ones, count] = [products[0] as number, this.#sums[0] as number];
    for (let c = 0; c < into.length; c++) {
      into[c] = (products[c + 1] ?? 0) + ((this.#sums[c + 1] ?? 0) / count) * (1 - ones);
    }
  }

  /** What it would say of an example that it holds, had it not learnt it. */
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

  #border(moved: Float64Array, rest: number): void {
    const inverse = this.#inverse;
    const size = moved.length;
    let at = 0;
    for (let i = 0; i < size; i++) {
      const scaled = (moved[i] as number) / rest;
      for (let j = 0; j <= i; j++, at++)
        inverse[at] = (inverse[at] as number) + scaled * (moved[j] as number);
    }
    for (let i = 0; i < size; i++) inverse[at++] = -(moved[i] as number) / rest;
    inverse[at] = 1 / rest;
  }

  #solve(
    moved: Float64Array,
    { similar, rest, classIndex }: { similar: Float64Array; rest: number; classIndex: number },
  ): void {
    const size = moved.length;
    const stride = this.#stride;
    const solutions = this.#solutions;
    const added = this.#timesSolutions(similar);
    let sum = 1;
    for (let c = 0; c < stride; c++)
      added[c] = ((c === 0 || c === classIndex + 1 ? 1 : 0) - (added[c] as number)) / rest;
    for (let i = 0, at = 0; i < size; i++) {
      const factor = moved[i] as number;
      sum -= factor;
      for (let c = 0; c < stride; c++, at++)
        solutions[at] = (solutions[at] as number) - factor * (added[c] as number);
    }
    solutions.set(added, size * stride);
    for (let c = 0; c < stride; c++) this.#sums[c] = (this.#sums[c] as number) + (added[c] as number) * sum;
  }

  #timesSolutions(similar: Float64Array): Float64Array {
    const stride = this.#stride;
    const solutions = this.#solutions;
    const products = new Float64Array(stride);
    for (let i = 0; i < similar.length; i++) {
      const factor = similar[i] as number;
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
