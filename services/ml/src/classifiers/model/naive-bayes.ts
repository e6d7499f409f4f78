/** Naive Bayes on words, smoothed with what all classes say (Jelinek and Mercer); sums only, so no order of training matters. */

import type { ClassNumbers, Model } from './model.ts';
import type { Kept } from './replay-buffer.ts';

/** Share of what all classes say against what the class says. */
const lambda = 0.6;
/** What 32-bit sums may leave of a word whose only example is taken out. */
const roundingMax = 1e-6;
/** Words whose ratios, each under the number of features, can be multiplied before it is too much for a double. */
const productsMax = 24;

/** Adds an example to naive Bayes' sums, or takes it out again. */
export function countExample(model: Model, { rows, weights, words, classIndex }: Kept, sign: 1 | -1): void {
  const { documents, bayes } = model.tables;
  const own = model.classes[classIndex] as ClassNumbers;
  let norm = 0;
  for (let i = 0; i < words; i++) norm += (weights[i] as number) ** 2;
  const scale = norm === 0 ? 0 : sign / Math.sqrt(norm);
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i] as number;
    documents[row] = (documents[row] as number) + sign;
    if (i >= words) continue;
    const pair = bayes.findOrAdd(row, classIndex);
    if (pair < 0) continue;
    const before = bayes.values[pair] as number;
    bayes.values[pair] = before + (weights[i] as number) * scale;
    // What a 32-bit sum really took, so that the totals always agree with it.
    const taken = (bayes.values[pair] as number) - before;
    own.mass += taken;
    model.mass += taken;
  }
}

/** Naive Bayes' log scores; `into` is by class index. */
export function scoreBayes(model: Model, kept: Kept, into: Float64Array): void {
  scoreLess(model, kept, { into, share: 0 });
}

/** The same for an example that was added, as if its words had not been; its class keeps its share. */
export function scoreBayesWithout(model: Model, kept: Kept, into: Float64Array): void {
  let norm = 0;
  for (let i = 0; i < kept.words; i++) norm += (kept.weights[i] as number) ** 2;
  scoreLess(model, kept, { into, share: norm === 0 ? 0 : 1 / Math.sqrt(norm) });
}

/** Takes so much of each word's weight out of the example's class first. */
function scoreLess(model: Model, kept: Kept, { into, share }: { into: Float64Array; share: number }): void {
  const { tables, classes } = model;
  const { rows, weights, words, classIndex } = kept;
  let taken = 0;
  for (let i = 0; i < words; i++) taken += share * (weights[i] as number);
  const factors = new Float64Array(classes.length);
  for (let c = 0; c < classes.length; c++) {
    const one = classes[c];
    into[c] = one && one.examples > 0 ? Math.log(one.examples / model.examples) : Number.NEGATIVE_INFINITY;
    if (one) factors[c] = (1 - lambda) / (lambda * (one.mass - (c === classIndex ? taken : 0)));
  }
  const products = new Float64Array(classes.length).fill(1);
  const uniform = 0.5 / Math.max(1, tables.rows);
  const total = model.mass - taken;
  const { starts, sizes, classes: classesOf, values } = tables.bayes;
  for (let i = 0; i < words; i++) {
    const row = rows[i] as number;
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

/** One logarithm for the product of many words: theirs one by one would be most of the cost. */
function addLogarithms(products: Float64Array, into: Float64Array): void {
  for (let c = 0; c < products.length; c++) {
    if (products[c] !== 1) into[c] = (into[c] as number) + Math.log(products[c] as number);
    products[c] = 1;
  }
}
