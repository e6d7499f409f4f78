/** The measuring data beside the repository, and what the batch models of others reach on it. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';

const dataDir = fileURLToPath(new URL('../../../shared/data/ml/classify/', import.meta.url));

export interface Example {
  text: string;
  label: string;
}

/** Accuracy in %: the better of LinearSVC and naive Bayes, both in batch; and LinearSVC at 5 examples a class. */
export const baselines: Record<string, { batch: number; five?: number }> = {
  clinc150: { batch: 92.2, five: 74 },
  agnews: { batch: 90.4, five: 50 },
  'sms-spam': { batch: 98.3, five: 73 },
  'reuters-r8': { batch: 97.0 },
  sst2: { batch: 83.2 },
  trec6: { batch: 86.2, five: 39 },
  'thucnews-titles': { batch: 85.3 },
};

/** Of those asked for, or all; empty where the data is not there. */
export function listSets(asked: readonly string[]): string[] {
  if (!existsSync(dataDir)) return [];
  return readdirSync(dataDir)
    .filter((file) => file.endsWith('.train.jsonl.gz'))
    .map((file) => file.replace('.train.jsonl.gz', ''))
    .filter((name) => asked.length === 0 || asked.includes(name));
}

export function load(name: string): Example[] {
  const text = gunzipSync(readFileSync(`${dataDir}${name}.jsonl.gz`)).toString();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

/** Expected calibration error in %, over 15 bins (Guo et al., ICML 2017), and accuracy in %. */
export function score(answers: readonly { hit: boolean; confidence: number }[]): {
  accuracy: number;
  ece: number;
} {
  const bins = Array.from({ length: 15 }, () => ({ hits: 0, confidence: 0 }));
  for (const { hit, confidence } of answers) {
    const bin = bins[Math.min(14, Math.floor(confidence * 15))] as (typeof bins)[number];
    bin.hits += hit ? 1 : 0;
    bin.confidence += confidence;
  }
  const hits = answers.filter(({ hit }) => hit).length;
  const gap = bins.reduce((sum, bin) => sum + Math.abs(bin.hits - bin.confidence), 0);
  return { accuracy: (100 * hits) / answers.length, ece: (100 * gap) / answers.length };
}
