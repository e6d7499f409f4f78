/**
 * The classifier against the goals: accuracy and calibration after one online pass, sorted by class, few examples, time
 * and memory. Reads the measuring data from beside the repository and skips where it is not there.
 * `npm run bench -- ml/classify [set …]`
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { learners } from '../../services/ml/src/classifier.ts';
import type { Learner } from '../../services/ml/src/learner.ts';

const dataDir = fileURLToPath(new URL('../../../shared/data/ml/classify/', import.meta.url));

interface Example {
  text: string;
  label: string;
}

/** Accuracy in %: the better of LinearSVC and naive Bayes, both in batch; and LinearSVC at 5 examples a class. */
const baselines: Record<string, { batch: number; five?: number }> = {
  clinc150: { batch: 92.2, five: 74 },
  agnews: { batch: 90.4, five: 50 },
  'sms-spam': { batch: 98.3, five: 73 },
  'reuters-r8': { batch: 97.0 },
  sst2: { batch: 83.2 },
  trec6: { batch: 86.2, five: 39 },
  'thucnews-titles': { batch: 85.3 },
};

function load(name: string): Example[] {
  const text = gunzipSync(readFileSync(`${dataDir}${name}.jsonl.gz`)).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

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
  const bins = Array.from({ length: 15 }, () => ({ size: 0, hits: 0, confidence: 0 }));
  const times: number[] = [];
  let hits = 0;
  for (const { label, text } of examples) {
    const began = performance.now();
    const [best] = learner.predict(text);
    times.push(performance.now() - began);
    const hit = best?.classId === label;
    const confidence = best?.confidence ?? 0;
    if (hit) hits++;
    const bin = bins[Math.min(14, Math.floor(confidence * 15))];
    if (bin === undefined) continue;
    bin.size++;
    bin.hits += hit ? 1 : 0;
    bin.confidence += confidence;
  }
  const ece = bins.reduce((sum, bin) => sum + Math.abs(bin.hits - bin.confidence), 0) / examples.length;
  return { accuracy: (100 * hits) / examples.length, ece: 100 * ece, predictMs: quantile(times, 0.5) };
}

function quantile(values: number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0;
}

/** The same draws on every run. */
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
  global.gc?.();
  const before = process.memoryUsage();
  const times: number[] = [];
  const learner = train(examples, times);
  global.gc?.();
  const after = process.memoryUsage();
  const result = test(learner, tests);
  const sorted = test(train(examples.toSorted((a, b) => (a.label < b.label ? -1 : 1))), tests);
  const five = learningCurve(examples, tests, 5);
  const quarter = Math.floor(times.length / 4);
  const [first, last] = [quantile(times.slice(0, quarter), 0.5), quantile(times.slice(-quarter), 0.5)];
  const memory = (after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers) / 1_048_576;
  const { batch = Number.NaN, five: fiveBatch = Number.NaN } = baselines[name] ?? {};
  process.stdout.write(
    `${name.padEnd(16)}${cell(result.accuracy)} ${cell(batch)} ${cell(result.accuracy - batch)}${cell(result.ece)}` +
      `${cell(sorted.accuracy - result.accuracy)} ${cell(sorted.ece)}${cell(five)} ${cell(fiveBatch)}` +
      `${cell(first, 2)}${cell(last, 2)}${cell(quantile(times, 0.99), 2)}${cell(result.predictMs, 3)}${cell(memory)}\n`,
  );
}

if (!existsSync(dataDir)) {
  process.stdout.write('ml/classify: skipped, because the measuring data is not here (../shared/data/ml).\n');
} else {
  const asked = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
  const names = readdirSync(dataDir)
    .filter((file) => file.endsWith('.train.jsonl.gz'))
    .map((file) => file.replace('.train.jsonl.gz', ''))
    .filter((name) => asked.length === 0 || asked.includes(name));
  process.stdout.write(
    `${'set'.padEnd(16)}    acc   batch    diff    ece  sorted s.ece   five f.batch  1st ms lst ms p99 ms pred ms     MB\n`,
  );
  for (const name of names) measure(name);
}
