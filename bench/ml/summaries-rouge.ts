/** ROUGE-1, -2 and -L (F1) after Lin 2004, on lower-case runs of a-z and 0-9, with Porter stems for words of four letters or more. */

import { createRequire } from 'node:module';

interface Stemmer {
  stem(word: string): string;
}

const porter: Stemmer = createRequire(import.meta.url)('natural/lib/natural/stemmers/porter_stemmer');

export interface Rouge {
  r1: number;
  r2: number;
  rl: number;
}

/** The mean over the references, in percent. */
export function rouge(summary: string, references: readonly string[]): Rouge {
  const ours = tokens(summary);
  const sum = { r1: 0, r2: 0, rl: 0 };
  for (const reference of references) {
    const theirs = tokens(reference);
    sum.r1 += overlap(ours, theirs);
    sum.r2 += overlap(pairs(ours), pairs(theirs));
    sum.rl += f1(commonLength(ours, theirs), ours.length, theirs.length);
  }
  const scale = 100 / references.length;
  return { r1: sum.r1 * scale, r2: sum.r2 * scale, rl: sum.rl * scale };
}

function tokens(text: string): string[] {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.map((word) => (word.length > 3 && word.length <= 64 ? porter.stem(word) : word));
}

const pairs = (words: readonly string[]) => words.slice(1).map((word, i) => `${words[i]} ${word}`);

function overlap(ours: readonly string[], theirs: readonly string[]): number {
  const left = new Map<string, number>();
  for (const word of theirs) left.set(word, (left.get(word) ?? 0) + 1);
  let hits = 0;
  for (const word of ours) {
    const count = left.get(word) ?? 0;
    if (count > 0) hits += 1;
    left.set(word, count - 1);
  }
  return f1(hits, ours.length, theirs.length);
}

const f1 = (hits: number, ours: number, theirs: number) => (hits === 0 ? 0 : (2 * hits) / (ours + theirs));

/** Longest common subsequence, one row at a time. */
function commonLength(ours: readonly string[], theirs: readonly string[]): number {
  let above = new Int32Array(theirs.length + 1);
  for (const word of ours) {
    const row = new Int32Array(theirs.length + 1);
    for (let j = 0; j < theirs.length; j += 1) {
      row[j + 1] = word === theirs[j] ? (above[j] ?? 0) + 1 : Math.max(above[j + 1] ?? 0, row[j] ?? 0);
    }
    above = row;
  }
  return above[theirs.length] ?? 0;
}
