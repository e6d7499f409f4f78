/**
 * Measures the classifier: accuracy and calibration after one pass, the same with examples sorted by class, accuracy with
 * few examples, time and memory. Skips if the data sets beside the repository are missing.
 * `npm run bench -- ml/classify [set …]`
 */

import type { Learner } from '../../services/ml/src/classifiers/learner.ts';
import { createLearners } from '../../services/ml/src/classifiers/model/online-learner.ts';
import { heldBytes } from '../../tests/support/memory.ts';
import { quantile } from '../support/table.ts';
import { baselines, type Example, listSets, load, score } from './data.ts';

const learners = createLearners();

function train(examples: Example[], times?: number[]): Learner {
  const learner = learners.create();
  for (const { label, text } of examples) {
    const began = performance.now();
    learner.learn(label, text);
    times?.push(performance.now() - began);
  }
  return learner;
}

function test(learner: Learner, examples: Example[]): { accuracy: number; ece: number; predictMs: number } {
  const times: number[] = [];
  const predictions = examples.map(({ label, text }) => {
    const began = performance.now();
    const [best] = learner.predict(text);
    times.push(performance.now() - began);
    return { isCorrect: best?.classId === label, confidence: best?.confidence ?? 0 };
  });
  return { ...score(predictions), predictMs: quantile(times, 0.5) };
}

/** The same numbers in every run. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

function few(examples: Example[], perClass: number, seed: number): Example[] {
  const random = createRandom(seed);
  const shuffled = examples
    .map((example) => ({ example, order: random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ example }) => example);
  const seen = new Map<string, number>();
  return shuffled.filter(({ label }) => {
    const count = seen.get(label) ?? 0;
    seen.set(label, count + 1);
    return count < perClass;
  });
}

export function learningCurve(examples: Example[], tests: Example[], perClass: number): number {
  const seeds = [1, 2, 3, 4, 5];
  const sum = seeds.reduce(
    (total, seed) => total + test(train(few(examples, perClass, seed)), tests).accuracy,
    0,
  );
  return sum / seeds.length;
}

const cell = (value: number, digits = 1) => value.toFixed(digits).padStart(7);

function measure(name: string): void {
  const examples = load(`${name}.train`);
  const tests = load(`${name}.test`);
  const before = heldBytes();
  const times: number[] = [];
  const learner = train(examples, times);
  const memory = (heldBytes() - before) / 1_048_576;
  const result = test(learner, tests);
  const sorted = test(train(examples.toSorted((a, b) => (a.label < b.label ? -1 : 1))), tests);
  const five = learningCurve(examples, tests, 5);
  const quarter = Math.floor(times.length / 4);
  const [first, last] = [quantile(times.slice(0, quarter), 0.5), quantile(times.slice(-quarter), 0.5)];
  const { batch = Number.NaN, five: fiveBatch = Number.NaN } = baselines[name] ?? {};
  process.stdout.write(
    `${name.padEnd(16)}${cell(result.accuracy)} ${cell(batch)} ${cell(result.accuracy - batch)}${cell(result.ece)}` +
      `${cell(sorted.accuracy - result.accuracy)} ${cell(sorted.ece)}${cell(five)} ${cell(fiveBatch)}` +
      `${cell(first, 2)}${cell(last, 2)}${cell(quantile(times, 0.99), 2)}${cell(result.predictMs, 3)}${cell(memory)}\n`,
  );
}

const names = listSets(process.argv.slice(2).filter((argument) => !argument.startsWith('-')));
if (names.length === 0) {
  process.stdout.write('ml/classify: skipped, because the data sets are missing (../shared/data/ml).\n');
} else {
  process.stdout.write(
    `${'set'.padEnd(16)}    acc   batch    diff    ece  sorted s.ece   five f.batch  1st ms lst ms p99 ms pred ms     MB\n`,
  );
  for (const name of names) measure(name);
}
