/**
 * Greedy choice of sentences under a budget. A worth never rises while others are chosen, so only the best of the
 * remembered worths is looked at again (lazy greedy, Minoux 1978): near-linear where a plain one is quadratic.
 */

import type { Features } from './features.ts';
import { createHeap } from './heap.ts';
import { createScorer } from './score.ts';
import { methodFor } from './weights.ts';

export interface Budget {
  sentencesMax: number;
  wordsMax: number;
}

/** Indexes of the chosen sentences, ascending; none when not one fits the budget. */
export function selectSentences(features: Features, { sentencesMax, wordsMax }: Budget): number[] {
  const { sentences } = features;
  const words = sentences.reduce((sum, sentence) => sum + sentence.words, 0);
  const bound = Math.min(words, wordsMax, sentencesMax * (words / sentences.length));
  const scorer = createScorer(features, methodFor(sentences, bound / words), bound);
  const heap = createHeap(sentences.length);
  sentences.forEach((sentence, i) => {
    if (sentence.words <= wordsMax) heap.push(i, scorer.score(i));
  });
  const chosen: number[] = [];
  let left = wordsMax;
  while (chosen.length < sentencesMax) {
    const best = heap.pop();
    if (best === undefined) break;
    if ((sentences[best.id]?.words ?? 0) > left) continue;
    const worth = scorer.score(best.id);
    if (worth === -Infinity) continue;
    if (worth < best.worth) {
      heap.push(best.id, worth);
      continue;
    }
    scorer.choose(best.id);
    chosen.push(best.id);
    left -= sentences[best.id]?.words ?? 0;
  }
  return chosen.sort((a, b) => a - b);
}
