/** Summaries in the words of the texts themselves. */

import type { Features } from './features.ts';
import { readFeatures } from './features.ts';
import { type Budget, selectSentences } from './select.ts';
import { joinPieces, type Piece, readPieces } from './sentences.ts';
import { languageOf } from './stop-words.ts';
import { checkRequest, checkSentences, type SummaryOptions } from './validate.ts';
import { cutWords } from './word-reader.ts';

const defaultShare = 0.25;
const defaultSentencesMax = 8;
/** Leeway over the mean length of a sentence, or the longest ones would make up the summary. */
const defaultLengthFactor = 1.25;

/**
 * Whole sentences of the documents in text order, none of them twice; the same answer at each run. One inner array is
 * one document, its strings the passages. Without options about a quarter of the sentences, at least 1 and at most 8;
 * one or two sentences come back as they are. Never empty, never longer than the texts. Throws VALIDATION (no text, or
 * an option out of range) and TOO_LARGE. Time and memory grow with the length of the texts.
 */
export function summarize(documents: readonly (readonly string[])[], options: SummaryOptions = {}): string {
  checkRequest(documents, options);
  const language = languageOf(documents, options.language);
  const pieces = readPieces(documents, language);
  checkSentences(pieces.length);
  const free = options.sentences === undefined && options.maxWords === undefined;
  if (free && pieces.length <= 2) return joinPieces(pieces);
  const features = readFeatures(pieces, language);
  const chosen = selectSentences(features, budgetOf(features, options));
  if (chosen.length === 0) return shortened(features, options.maxWords ?? 1);
  return joinPieces(chosen.map((i) => pieces[i]).filter((piece): piece is Piece => piece !== undefined));
}

function budgetOf({ sentences }: Features, options: SummaryOptions): Budget {
  if (options.sentences !== undefined || options.maxWords !== undefined) {
    return { sentencesMax: options.sentences ?? sentences.length, wordsMax: options.maxWords ?? Infinity };
  }
  const count = Math.round(sentences.length * defaultShare);
  const sentencesMax = Math.min(defaultSentencesMax, Math.max(1, count));
  const words = sentences.reduce((sum, sentence) => sum + sentence.words, 0);
  const wordsMax = Math.ceil((defaultLengthFactor * sentencesMax * words) / sentences.length);
  return { sentencesMax, wordsMax };
}

/** Not one sentence is short enough: the beginning of the best one. */
function shortened(features: Features, wordsMax: number): string {
  const [best = 0] = selectSentences(features, { sentencesMax: 1, wordsMax: Infinity });
  return cutWords(features.sentences[best]?.text ?? '', wordsMax);
}
