/** Extractive summaries: whole sentences of the texts. */

import { fieldError } from '@datahub/service-kit/call/error';
import { shortestByDocument } from './coverage.ts';
import type { Features } from './features.ts';
import { readFeatures } from './features.ts';
import { type Budget, selectSentences } from './select.ts';
import { joinPieces, type Piece, readPieces } from './sentences.ts';
import { languageOf } from './stop-words.ts';
import { checkRequest, checkSentences, type SummaryOptions } from './validate.ts';

const defaultShare = 0.25;
const defaultSentencesMax = 8;
/**
 * The budget in words, relative to sentences of mean length. Without it the longest sentences would make up the
 * summary.
 */
const defaultLengthFactor = 1.25;

/**
 * Selects distinct sentences of the documents, in text order. Deterministic. Each inner array is one document, its
 * strings are the passages. Without options the summary has about a quarter of the sentences, 1 to 8; one or two
 * sentences are returned unchanged. A summary is never empty and never longer than the texts. Throws VALIDATION (no
 * text, or an option out of range) and TOO_LARGE. Time and memory are linear in the length of the texts.
 */
export function summarize(documents: readonly (readonly string[])[], options: SummaryOptions = {}): string {
  checkRequest(documents, options);
  const language = languageOf(documents, options.language);
  const pieces = readPieces(documents, language);
  checkSentences(pieces.length);
  const isUnbounded = options.sentences === undefined && options.maxWords === undefined;
  if (isUnbounded && pieces.length <= 2) return joinPieces(pieces);
  const features = readFeatures(pieces, language);
  const selected = selectSentences(features, budgetOf(features, options));
  if (selected.length === 0) selected.push(shortestWithin(features, options.maxWords ?? Infinity));
  return joinPieces(selected.map((i) => pieces[i]).filter((piece): piece is Piece => piece !== undefined));
}

function budgetOf({ sentences }: Features, options: SummaryOptions): Budget {
  if (options.sentences !== undefined || options.maxWords !== undefined) {
    return { sentencesMax: options.sentences ?? sentences.length, wordsMax: options.maxWords ?? Infinity };
  }
  const count = Math.round(sentences.length * defaultShare);
  // Each of a few texts gets a sentence in the summary, even if it is short.
  const shortest = [...shortestByDocument(sentences).values()];
  const sentencesMax = Math.min(defaultSentencesMax, Math.max(1, count, shortest.length));
  const words = sentences.reduce((sum, sentence) => sum + sentence.words, 0);
  const wordsMax = Math.ceil((defaultLengthFactor * sentencesMax * words) / sentences.length);
  return {
    sentencesMax,
    wordsMax: Math.max(
      wordsMax,
      shortest.reduce((sum, own) => sum + own, 0),
    ),
  };
}

/** Returns the shortest sentence, for a selection that is empty. Throws VALIDATION if it is longer than `wordsMax`. */
function shortestWithin({ sentences }: Features, wordsMax: number): number {
  let shortest = 0;
  sentences.forEach(({ words }, i) => {
    if (words < (sentences[shortest]?.words ?? 0)) shortest = i;
  });
  const words = sentences[shortest]?.words ?? 0;
  if (words <= wordsMax) return shortest;
  const detail = `must be at least ${words}: the shortest sentence has ${words} words, and sentences are not cut`;
  throw fieldError([{ path: ['maxWords'], detail }]);
}
