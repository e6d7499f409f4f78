/**
 * Compares the accuracy after labels of the texts that the classifier is least certain of with that after as many labels
 * of random texts: `node bench/ml/label-next.ts [set …]`. Both begin with ten random labels, and ask for ten at a time out
 * of 2,000 unlabelled texts. Prints the means of `DRAWS` draws of these texts, and the difference in each draw. Skips if
 * the data sets beside the repository are missing.
 */

import { LeastCertain } from '@datahub/contract/least-certain';
import type { Learner } from '../../services/ml/src/classifiers/learner.ts';
import { createLearners } from '../../services/ml/src/classifiers/model/online-learner.ts';
import { type Example, listSets, load } from './data.ts';

const batch = 10;
const poolMax = 2_000;
const testMax = 600;
const labelsMax = 200;
const draws = Number(process.env.DRAWS ?? 5);
const learners = createLearners();

function leastCertain(learner: Learner, pool: readonly Example[]): Example[] {
  const found = new LeastCertain<Example>(batch);
  for (const example of pool) found.add(example, learner.predict(example.text, 2));
  return found.items();
}

const randomOnes = (_learner: Learner, pool: readonly Example[]) => pool.slice(0, batch);

/** The accuracy in % after the last label. */
function accuracy(texts: readonly Example[], tests: readonly Example[], choose: typeof leastCertain): number {
  const learner = learners.create();
  let pool = [...texts];
  let chosen = randomOnes(learner, pool);
  for (let labels = 0; labels < labelsMax; labels += batch) {
    if (labels > 0) chosen = choose(learner, pool);
    for (const { label, text } of chosen) learner.learn(label, text);
    const known = new Set(chosen);
    pool = pool.filter((example) => !known.has(example));
  }
  const right = tests.filter(({ text, label }) => learner.predict(text, 1)[0]?.classId === label);
  return (100 * right.length) / tests.length;
}

function shuffled(examples: readonly Example[], seed: number): Example[] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state;
  };
  return examples
    .map((example) => ({ example, order: next() }))
    .sort((a, b) => a.order - b.order)
    .map(({ example }) => example);
}

for (const set of listSets(process.argv.slice(2))) {
  const tests = load(`${set}.test`).slice(0, testMax);
  const results = Array.from({ length: draws }, (_, seed) => {
    const texts = shuffled(load(`${set}.train`), seed + 1).slice(0, poolMax);
    return { random: accuracy(texts, tests, randomOnes), asked: accuracy(texts, tests, leastCertain) };
  });
  const mean = (of: (one: (typeof results)[number]) => number) =>
    (results.reduce((sum, one) => sum + of(one), 0) / draws).toFixed(1);
  const gains = results.map(({ random, asked }) => (asked - random).toFixed(1)).join(' ');
  console.log(
    `${set}: random ${mean(({ random }) => random)}, asked ${mean(({ asked }) => asked)}, by draw ${gains}`,
  );
}
