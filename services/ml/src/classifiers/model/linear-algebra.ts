/** Symmetric matrices, as flat arrays of their lower triangles, row by row; and small systems of equations. */

/** Returns the product of the matrix and a vector. */
export function timesSymmetric(matrix: Float64Array, vector: Float64Array): Float64Array {
  const size = vector.length;
  const product = new Float64Array(size);
  for (let i = 0, at = 0; i < size; i++) {
    const own = vector[i] as number;
    let sum = 0;
    for (let j = 0; j < i; j++, at++) {
      const cell = matrix[at] as number;
      sum += cell * (vector[j] as number);
      product[j] = (product[j] as number) + cell * own;
    }
    product[i] = sum + (matrix[at++] as number) * own;
  }
  return product;
}

/** Adds the product of the vector with itself, divided by `divisor`, to the matrix. */
export function addSquare(matrix: Float64Array, vector: Float64Array, divisor: number): void {
  let at = 0;
  for (let i = 0; i < vector.length; i++) {
    const scaled = (vector[i] as number) / divisor;
    for (let j = 0; j <= i; j++, at++) matrix[at] = (matrix[at] as number) + scaled * (vector[j] as number);
  }
}

/** Gaussian elimination for a positive definite 3 × 3 matrix with all its cells. Overwrites both arguments. */
export function solve(matrix: number[], right: number[]): number[] {
  for (let i = 0; i < 3; i++) {
    for (let j = i + 1; j < 3; j++) {
      const factor = (matrix[3 * j + i] as number) / (matrix[4 * i] as number);
      for (let k = i; k < 3; k++)
        matrix[3 * j + k] = (matrix[3 * j + k] as number) - factor * (matrix[3 * i + k] as number);
      right[j] = (right[j] as number) - factor * (right[i] as number);
    }
  }
  for (let i = 2; i >= 0; i--) {
    for (let k = i + 1; k < 3; k++)
      right[i] = (right[i] as number) - (matrix[3 * i + k] as number) * (right[k] as number);
    right[i] = (right[i] as number) / (matrix[4 * i] as number);
  }
  return right;
}

/**
 * Returns the weighted means of three variables and the lower triangle of their covariance matrix. Each variable is an
 * array times a factor. The weights add up to 1; where one is 0, the values don't count. The sums are separate
 * variables, because sums in an array take five times as long.
 */
export function momentsOf(
  weights: Float64Array,
  [xs, ys, zs]: readonly [Float64Array, Float64Array, Float64Array],
  [a, b, c]: readonly [number, number, number] = [1, 1, 1],
): { means: [number, number, number]; covariances: [number, number, number, number, number, number] } {
  let x = 0;
  let y = 0;
  let z = 0;
  let xx = 0;
  let xy = 0;
  let yy = 0;
  let xz = 0;
  let yz = 0;
  let zz = 0;
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i] as number;
    if (weight === 0) continue;
    const ofX = a * (xs[i] as number);
    const ofY = b * (ys[i] as number);
    const ofZ = c * (zs[i] as number);
    const weightedX = weight * ofX;
    const weightedY = weight * ofY;
    const weightedZ = weight * ofZ;
    x += weightedX;
    y += weightedY;
    z += weightedZ;
    xx += weightedX * ofX;
    xy += weightedX * ofY;
    yy += weightedY * ofY;
    xz += weightedX * ofZ;
    yz += weightedY * ofZ;
    zz += weightedZ * ofZ;
  }
  return {
    means: [x, y, z],
    covariances: [xx - x * x, xy - x * y, yy - y * y, xz - x * z, yz - y * z, zz - z * z],
  };
}

/** Returns all cells of the 3 × 3 matrix with this lower triangle. */
export function fromTriangle([aa, ab, bb, ac, bc, cc]: readonly number[]): number[] {
  return [aa, ab, ac, ab, bb, bc, ac, bc, cc] as number[];
}
