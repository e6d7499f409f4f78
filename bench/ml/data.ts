/** The data sets beside the repository, and the results of batch models on them. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const dataDir = fileURLToPath(new URL('../../../shared/data/ml/classify/', import.meta.url));

export interface Example {
  text: string;
  label: string;
}

/** Accuracy in %: the better of LinearSVC and naive Bayes in batch, and LinearSVC with five examples per class. */
export const baselines: Record<string, { batch: number; five?: number }> = {
  clinc150: { batch: 92.2, five: 74 },
  agnews: { batch: 90.4, five: 50 },
  'sms-spam': { batch: 98.3, five: 73 },
  'reuters-r8': { batch: 97.0 },
  sst2: { batch: 83.2 },
  trec6: { batch: 86.2, five: 39 },
  'thucnews-titles': { batch: 85.3 },
};

/** The wanted data sets, or all of them. Empty if the data is missing. */
export function listSets(wanted: readonly string[]): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir)
    .filter((file) => file.endsWith('.train.jsonl.gz'))
    .map((file) => file.replace('.train.jsonl.gz', ''))
    .filter((name) => wanted.length === 0 || wanted.includes(name));
}

export function load(name: string): Example[] {
  const text = gunzipSync(readFileSync(`${dataDir}${name}.jsonl.gz`)).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Accuracy in %, and the expected calibration error in % over 15 bins (Guo et al., ICML 2017). */
export function score(predictions: readonly { isCorrect: boolean; confidence: number }[]): {
  accuracy: number;
  ece: number;
} {
  const bins = Array.from({ length: 15 }, () => ({ correct: 0, confidence: 0 }));
  for (const { isCorrect, confidence } of predictions) {
    const bin = bins[Math.min(14, Math.floor(confidence * 15))] as (typeof bins)[number];
    bin.correct += isCorrect ? 1 : 0;
    bin.confidence += confidence;
  }
  const correct = predictions.filter(({ isCorrect }) => isCorrect).length;
  const gap = bins.reduce((sum, bin) => sum + Math.abs(bin.correct - bin.confidence), 0);
  return { accuracy: (100 * correct) / predictions.length, ece: (100 * gap) / predictions.length };
}

/**
 * Returns the expected error of a model that is perfectly calibrated and has these confidences, and the error that it
 * exceeds in one case of twenty: with few predictions, the bins differ by chance. Each prediction is right with its own
 * confidence, in 400 draws.
 */
export function errorByChance(
  confidences: readonly number[],
  random: () => number,
): { mean: number; most: number } {
  const draws = 400;
  const errors = Array.from(
    { length: draws },
    () => score(confidences.map((confidence) => ({ confidence, isCorrect: random() < confidence }))).ece,
  ).sort((a, b) => a - b);
  return { mean: errors.reduce((sum, error) => sum + error, 0) / draws, most: errors[0.95 * draws] ?? 0 };
}
