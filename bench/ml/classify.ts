/**
 * Measures the classifier: accuracy and calibration error after one pass, the calibration error by chance alone, the same
 * with examples sorted by class, accuracy with few examples, time and memory. Skips if the data sets beside the repository
 * are missing.
 * `npx node bench/ml/classify.ts [set …]`; with `--curves` accuracy and error with 1 to 50 examples per class instead.
 */

import type { Learner } from '../../services/ml/src/classifiers/learner.ts';
import { createLearners } from '../../services/ml/src/classifiers/model/online-learner.ts';
import { heldBytes } from '../../tests/support/memory.ts';
import { quantile } from '../support/table.ts';
import { baselines, type Example, errorByChance, listSets, load, score } from './data.ts';

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

function test(
  learner: Learner,
  examples: Example[],
): { accuracy: number; ece: number; confidences: number[]; predictMs: number } {
  const times: number[] = [];
  const predictions = examples.map(({ label, text }) => {
    const began = performance.now();
    const [best] = learner.predict(text);
    times.push(performance.now() - began);
    return { isCorrect: best?.classId === label, confidence: best?.confidence ?? 0 };
  });
  const confidences = predictions.map(({ confidence }) => confidence);
  return { ...score(predictions), confidences, predictMs: quantile(times, 0.5) };
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

/** The numbers of examples per class, and how many draws of each are averaged. */
const draws = new Map([
  [1, 12],
  [5, 24],
  [10, 12],
  [20, 6],
  [50, 3],
]);

function drawn(examples: Example[], tests: Example[], perClass: number): { accuracy: number; ece: number } {
  const count = draws.get(perClass) ?? 1;
  const mean = { accuracy: 0, ece: 0 };
  for (let seed = 1; seed <= count; seed++) {
    const { accuracy, ece } = test(train(few(examples, perClass, seed)), tests);
    mean.accuracy += accuracy / count;
    mean.ece += ece / count;
  }
  return mean;
}

function measureCurve(name: string): void {
  const [examples, tests] = [load(`${name}.train`), load(`${name}.test`)];
  const cells = [...draws.keys()].map((perClass) => {
    const { accuracy, ece } = drawn(examples, tests, perClass);
    return `${accuracy.toFixed(1)} / ${ece.toFixed(1)}`.padStart(13);
  });
  process.stdout.write(`${name.padEnd(16)}${cells.join('')}\n`);
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
  const five = drawn(examples, tests, 5).accuracy;
  const quarter = Math.floor(times.length / 4);
  const [first, last] = [quantile(times.slice(0, quarter), 0.5), quantile(times.slice(-quarter), 0.5)];
  const chance = errorByChance(result.confidences, createRandom(1));
  const { batch = Number.NaN, five: fiveBatch = Number.NaN } = baselines[name] ?? {};
  process.stdout.write(
    `${name.padEnd(16)}${cell(result.accuracy)} ${cell(batch)} ${cell(result.accuracy - batch)}${cell(result.ece)} ${cell(chance.mean)}${cell(chance.most)}` +
      `${cell(sorted.accuracy - result.accuracy)} ${cell(sorted.ece)}${cell(five)} ${cell(fiveBatch)}` +
      `${cell(first, 2)}${cell(last, 2)}${cell(quantile(times, 0.99), 2)}${cell(result.predictMs, 3)}${cell(memory)}\n`,
  );
}

const names = listSets(process.argv.slice(2).filter((argument) => !argument.startsWith('-')));
if (names.length === 0) {
  process.stdout.write('ml/classify: skipped, because the data sets are missing (../shared/data/ml).\n');
} else if (process.argv.includes('--curves')) {
  process.stdout.write(
    `${'per class'.padEnd(16)}${[...draws.keys()].map((count) => `${count}`.padStart(13)).join('')}\n`,
  );
  for (const name of names) measureCurve(name);
} else {
  process.stdout.write(
    `${'set'.padEnd(16)}    acc   batch    diff    ece  chance   95 %  sorted s.ece   five f.batch  1st ms lst ms p99 ms pred ms     MB\n`,
  );
  for (const name of names) measure(name);
}
