/**
 * Multinomial naive Bayes on words, smoothed with the word distribution of all classes (Jelinek and Mercer, 1980). It
 * only keeps sums, so the order of training doesn't matter.
 */

import type { ClassNumbers, EncodedExample, Model } from './model.ts';

/** Weight of the distribution of all classes against that of the class. */
const lambda = 0.6;
/** After its only example was subtracted, a 32-bit sum can differ from 0 by this much. */
const roundingMax = 1e-6;
/** The number of ratios whose product cannot overflow a double. Each ratio is smaller than the number of features. */
const productsMax = 24;

/** Adds an example to the sums, or subtracts it. */
export function countExample(
  model: Model,
  { rows, weights, words, classIndex }: EncodedExample,
  sign: 1 | -1,
): void {
  const { documents, bayes } = model.table;
  const own = model.classes[classIndex] as ClassNumbers;
  let norm = 0;
  for (let i = 0; i < words; i++) norm += (weights[i] as number) ** 2;
  const scale = norm === 0 ? 0 : sign / Math.sqrt(norm);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    documents[row] = (documents[row] as number) + sign;
    if (i >= words) continue;
    if (bayes.isCommon(row)) {
      // The classes that had the feature before count it, too.
      own.mass += (weights[i] as number) * scale;
      model.mass += (weights[i] as number) * scale;
      continue;
    }
    const pair = bayes.findOrAdd(row, classIndex);
    if (pair < 0) continue;
    const before = bayes.values[pair] as number;
    bayes.values[pair] = before + (weights[i] as number) * scale;
    // This is the change after rounding to 32 bits, so that the totals always equal the sums.
    const change = (bayes.values[pair] as number) - before;
    own.mass += change;
    model.mass += change;
  }
}

/** Writes log scores by class index. */
export function scoreBayes(model: Model, example: EncodedExample, into: Float64Array): void {
  scoreWithLess(model, example, { into, share: 0 });
}

/**
 * Writes the log scores of a counted example as if its words had not been counted. The share of its class still counts
 * it.
 */
export function scoreBayesWithout(model: Model, example: EncodedExample, into: Float64Array): void {
  let norm = 0;
  for (let i = 0; i < example.words; i++) norm += (example.weights[i] as number) ** 2;
  scoreWithLess(model, example, { into, share: norm === 0 ? 0 : 1 / Math.sqrt(norm) });
}

/** Writes log scores after subtracting `share` of the weight of each word from the class of the example. */
function scoreWithLess(
  model: Model,
  example: EncodedExample,
  { into, share }: { into: Float64Array; share: number },
): void {
  const { table, classes } = model;
  const { rows, weights, words, classIndex } = example;
  let subtracted = 0;
  for (let i = 0; i < words; i++) subtracted += share * (weights[i] as number);
  const factors = new Float64Array(classes.length);
  for (let c = 0; c < classes.length; c++) {
    const one = classes[c];
    into[c] = one && one.examples > 0 ? Math.log(one.examples / model.examples) : Number.NEGATIVE_INFINITY;
    if (one) factors[c] = (1 - lambda) / (lambda * (one.mass - (c === classIndex ? subtracted : 0)));
  }
  const products = new Float64Array(classes.length).fill(1);
  const uniform = 0.5 / Math.max(1, table.rows);
  const total = model.mass - subtracted;
  const { starts, sizes, classes: classesOf, values } = table.bayes;
  for (let i = 0; i < words; i++) {
    const row = rows[i] as number;
    if (table.bayes.isCommon(row)) continue;
    const weight = weights[i] as number;
    const less = share * weight;
    const from = starts[row] as number;
    const end = from + (sizes[row] as number);
    let mass = -less;
    for (let pair = from; pair < end; pair++) mass += values[pair] as number;
    const rarity = 1 / ((0.5 * mass) / total + uniform);
    for (let pair = from; pair < end; pair++) {
      const c = classesOf[pair] as number;
      const value = (values[pair] as number) - (c === classIndex ? less : 0);
      if (value <= roundingMax) continue;
      const ratio = value * (factors[c] as number) * rarity;
      if (weight === 1) products[c] = (products[c] as number) * (1 + ratio);
      else into[c] = (into[c] as number) + weight * Math.log1p(ratio);
    }
    if (i % productsMax === productsMax - 1) addLogarithms(products, into);
  }
  addLogarithms(products, into);
}

/** Adds the logarithms of products. One logarithm per word would be most of the cost. */
function addLogarithms(products: Float64Array, into: Float64Array): void {
  for (let c = 0; c < products.length; c++) {
    if (products[c] !== 1) into[c] = (into[c] as number) + Math.log(products[c] as number);
    products[c] = 1;
  }
}
