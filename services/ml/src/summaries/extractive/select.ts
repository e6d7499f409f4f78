/**
 * Selects sentences greedily within a budget. The score of a sentence never rises while others are selected, so only
 * the sentence with the best known score is scored again (lazy greedy, Minoux 1978). This takes nearly linear time;
 * scoring all sentences in each round would take quadratic time.
 */

import { createCoverage } from './coverage.ts';
import type { Features } from './features.ts';
import { createScorer } from './score.ts';
import { weightsFor } from './weights.ts';

export interface Budget {
  sentencesMax: number;
  wordsMax: number;
}

/** Returns the indexes of the selected sentences, ascending. Empty if no sentence fits the budget. */
export function selectSentences(features: Features, { sentencesMax, wordsMax }: Budget): number[] {
  const { sentences } = features;
  const words = sentences.reduce((sum, sentence) => sum + sentence.words, 0);
  const bound = Math.min(words, wordsMax, sentencesMax * (words / sentences.length));
  const scorer = createScorer(features, weightsFor(sentences, bound / words), bound);
  const heap = createHeap(sentences.length);
  sentences.forEach((sentence, i) => {
    if (sentence.words <= wordsMax) heap.push(i, scorer.score(i));
  });
  const coverage = createCoverage(sentences, { sentencesMax, wordsMax });
  /** Sentences that wait until each document has a sentence. */
  const waiting: number[] = [];
  const release = () => {
    for (const id of waiting.splice(0)) heap.push(id, scorer.score(id));
  };
  const selected: number[] = [];
  let left = wordsMax;
  while (selected.length < sentencesMax) {
    const best = heap.pop();
    if (best === undefined) {
      if (waiting.length === 0) break;
      coverage.end();
      release();
      continue;
    }
    const sentence = sentences[best.id] as Features['sentences'][number];
    if (sentence.words > left) continue;
    const score = scorer.score(best.id);
    if (score === -Infinity) continue;
    if (score < best.score) heap.push(best.id, score);
    else if (!coverage.accepts(sentence, left)) waiting.push(best.id);
    else {
      scorer.select(best.id);
      selected.push(best.id);
      left -= sentence.words;
      if (coverage.add(sentence)) release();
    }
  }
  return selected.sort((a, b) => a - b);
}

interface Entry {
  id: number;
  score: number;
}

interface Heap {
  push(id: number, score: number): void;
  pop(): Entry | undefined;
}

/** A binary heap: the highest score first, then the lowest id, so every run gives the same order. */
function createHeap(sizeMax: number): Heap {
  const ids = new Int32Array(sizeMax);
  const scores = new Float64Array(sizeMax);
  let size = 0;
  const before = (a: number, b: number) => {
    const difference = (scores[a] ?? 0) - (scores[b] ?? 0);
    return difference > 0 || (difference === 0 && (ids[a] ?? 0) < (ids[b] ?? 0));
  };
  const put = (at: number, id: number, score: number) => {
    ids[at] = id;
    scores[at] = score;
  };
  const swap = (a: number, b: number) => {
    const id = ids[a] ?? 0;
    const score = scores[a] ?? 0;
    put(a, ids[b] ?? 0, scores[b] ?? 0);
    put(b, id, score);
  };
  const sink = () => {
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      if (child + 1 < size && before(child + 1, child)) child += 1;
      if (!before(child, at)) return;
      swap(at, child);
      at = child;
    }
  };
  return {
    push: (id, score) => {
      let at = size;
      put(size, id, score);
      size += 1;
      while (at > 0 && before(at, (at - 1) >> 1)) {
        swap(at, (at - 1) >> 1);
        at = (at - 1) >> 1;
      }
    },
    pop: () => {
      if (size === 0) return undefined;
      const top = { id: ids[0] ?? 0, score: scores[0] ?? 0 };
      size -= 1;
      put(0, ids[size] ?? 0, scores[size] ?? 0);
      sink();
      return top;
    },
  };
}
