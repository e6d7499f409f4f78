/**
 * A least-squares support vector machine, one class against the rest, with a free intercept (Suykens and Vandewalle,
 * Neural Processing Letters 9, 1999). The order of examples does not matter, because adding one extends the inverse of
 * the kernel matrix exactly. Its leave-one-out predictions are exact, too (Cawley and Talbot, Neural Networks 17,
 * 2004). Adding an example takes time quadratic in their number, so this suits only few examples. The caller computes
 * the kernel.
 */

import { addSquare, timesSymmetric } from './linear-algebra.ts';

/** An example to add. */
export interface Addition {
  /** The kernel of the example with each earlier example, and with itself. */
  similarities: Float64Array;
  self: number;
  classIndex: number;
}

/** Added to the diagonal of the kernel matrix. */
const ridge = 0.5;

export class LeastSquaresSvm {
  readonly #classIndexes: number[] = [];
  /** Lower triangle of the inverse of kernel + ridge, row by row. */
  #inverse = new Float64Array(512);
  /**
   * For each example, the solutions of the linear system: the first for a vector of ones, then one per class for the
   * targets of the class (1 for its own examples, else 0).
   */
  #solutions = new Float64Array(512);
  /** The room for solutions per example. */
  #stride = 8;
  /** The sums of the solutions over the examples. */
  #sums = new Float64Array(8);

  /** In bytes. */
  get size(): number {
    return this.#inverse.byteLength + this.#solutions.byteLength;
  }

  add({ similarities, self, classIndex }: Addition): void {
    const size = this.#classIndexes.length;
    this.#reserve(size + 1, classIndex + 2);
    const projected = timesSymmetric(this.#inverse, similarities);
    let rest = ridge + self;
    for (let i = 0; i < size; i++) rest -= (similarities[i] as number) * (projected[i] as number);
    this.#border(projected, rest);
    this.#solve(projected, { similarities, rest, classIndex });
    this.#classIndexes.push(classIndex);
  }

  /**
   * Writes scores by class index: about 1 for the class of similar examples, about 0 for others. `similarities` is the
   * kernel with each example.
   */
  score(similarities: Float64Array, into: Float64Array): void {
    const products = this.#timesSolutions(similarities);
    const [ones, count] = [products[0] as number, this.#sums[0] as number];
    for (let c = 0; c < into.length; c++) {
      into[c] = (products[c + 1] ?? 0) + ((this.#sums[c + 1] ?? 0) / count) * (1 - ones);
    }
  }

  /** Writes the scores of the example at index `at` as if it had not been added. */
  scoreWithout(at: number, into: Float64Array): void {
    const from = at * this.#stride;
    const solutions = this.#solutions;
    const [ones, count] = [solutions[from] as number, this.#sums[0] as number];
    const own = (this.#inverse[(at * (at + 3)) / 2] as number) - (ones * ones) / count;
    const classIndex = this.#classIndexes[at];
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
    addSquare(inverse, projected, rest);
    let at = (size * (size + 1)) / 2;
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
