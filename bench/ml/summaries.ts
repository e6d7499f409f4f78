/**
 * Compares summaries with their references: ROUGE and its baselines, repeated word pairs, sentences that are not in the
 * texts, differences between two runs, and times. `node bench/ml/summaries.ts [set…]`; skips data sets that are missing in
 * `../shared/data/ml/summarize`. Each text of an item is one document, and the budget of the item is `maxWords`.
 * `SLACK=1.1` adds the 10 % that the scoring tolerates.
 */
import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { HubError } from '@datahub/service-kit/call/error';
import { stopWordsOf } from '../../services/ml/src/summaries/extractive/stop-words.ts';
import { summarize } from '../../services/ml/src/summaries/extractive/summarize.ts';
import { rouge } from './summaries-rouge.ts';

interface Item {
  docs: string[];
  refs: string[];
  budget: number;
}

/** ROUGE-1 and -2 of the best of the leading sentences and sumy's six methods, measured with rouge-score. */
const baselines: Record<string, [number, number]> = {
  bbc100: [72.1, 66.9],
  cnndm50: [41.4, 17.3],
  scitldr300: [25.9, 7.0],
  sumpubmed60: [45.8, 14.9],
  'yelp-reviews': [28.9, 5.0],
  opinosis25: [30.5, 9.4],
};

const folder = new URL('../../../shared/data/ml/summarize/', import.meta.url);
const slack = Number(process.env.SLACK ?? 1);
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(baselines);
const row = (cells: string[]) =>
  console.log(cells.map((cell, i) => (i === 0 ? cell.padEnd(14) : cell.padStart(9))).join(''));

row(['set', 'R1', 'best', 'R2', 'best', 'RL', 'repeat %', 'words %', 'changed', 'foreign', 'p99 ms']);
for (const set of wanted) measure(set);
times();

/** Empty if the shortest sentence is longer than the budget. */
function summaryOf(documents: string[][], maxWords: number): string {
  try {
    return summarize(documents, { maxWords });
  } catch (err) {
    if (err instanceof HubError && err.code === 'VALIDATION') return '';
    throw err;
  }
}

function measure(set: string): void {
  const file = new URL(`${set}.jsonl.gz`, folder);
  if (!existsSync(file)) {
    console.log(`${set}: skipped, because its data is missing`);
    return;
  }
  const items = gunzipSync(readFileSync(file))
    .toString()
    .trim()
    .split('\n')
    .map((line): Item => JSON.parse(line));
  const sum = { r1: 0, r2: 0, rl: 0, repeated: 0, words: 0, changed: 0, foreign: 0 };
  const tookMs: number[] = [];
  items.forEach((item, i) => {
    if (process.stderr.isTTY) process.stderr.write(`\r${set} ${i + 1}/${items.length}\r`);
    const documents = item.docs.map((text) => [text]);
    const maxWords = Math.floor(item.budget * slack);
    const started = performance.now();
    const summary = summaryOf(documents, maxWords);
    tookMs.push(performance.now() - started);
    const scores = rouge(summary, item.refs);
    sum.r1 += scores.r1;
    sum.r2 += scores.r2;
    sum.rl += scores.rl;
    sum.repeated += repeatedPairs(summary);
    sum.words += (100 * summary.split(/\s+/).length) / item.budget;
    sum.changed += summaryOf(documents, maxWords) === summary ? 0 : 1;
    sum.foreign += countForeign(summary, item.docs);
  });
  const mean = (total: number) => (total / items.length).toFixed(1);
  const [best1, best2] = baselines[set] ?? [Number.NaN, Number.NaN];
  tookMs.sort((a, b) => a - b);
  row([
    set,
    mean(sum.r1),
    `${best1}`,
    mean(sum.r2),
    `${best2}`,
    mean(sum.rl),
    mean(sum.repeated),
    mean(sum.words),
    `${sum.changed}`,
    `${sum.foreign}`,
    (tookMs[Math.floor(tookMs.length * 0.99)] ?? 0).toFixed(1),
  ]);
}

/** The share in % of pairs of neighbouring content words, within sentences, that repeat an earlier pair. */
function repeatedPairs(summary: string): number {
  const stops = stopWordsOf('en');
  const seen = new Set<string>();
  let all = 0;
  for (const sentence of sentencesOf(summary)) {
    const words = (sentence.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter((word) => !stops.has(word));
    words.slice(1).forEach((word, i) => {
      all += 1;
      seen.add(`${words[i]} ${word}`);
    });
  }
  return all === 0 ? 0 : 100 * (1 - seen.size / all);
}

function sentencesOf(summary: string): string[] {
  return summary.split(/(?<=[.!?…]["'”’)\]]*)\s+|\n/);
}

/** The number of sentences in the summary that are in no text of the item. */
function countForeign(summary: string, docs: readonly string[]): number {
  const input = docs.join('\n');
  return sentencesOf(summary).filter((sentence) => !input.includes(sentence)).length;
}

/** Times by length, on generated text with a natural distribution of words. */
function times(): void {
  for (const sentences of [100, 1_000, 10_000, 100_000]) {
    const text = generateText(sentences);
    summarize([[text.slice(0, 50_000)]]);
    const started = performance.now();
    const summary = summarize([[text]]);
    const tookMs = performance.now() - started;
    console.log(
      `${sentences} sentences, ${text.length} characters: ${tookMs.toFixed(1)} ms, ${summary.length} characters out`,
    );
  }
}

function generateText(sentences: number): string {
  let state = 7;
  const random = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const word = () => `w${Math.floor(Math.exp(random() * 9)).toString(36)}`;
  return Array.from({ length: sentences }, () => {
    const words = Array.from({ length: 8 + Math.floor(random() * 20) }, word);
    return `The ${words.join(' ')}.`;
  }).join(' ');
}
