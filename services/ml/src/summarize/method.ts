/** How sentences are weighed, by the shape of the input. */

import type { Sentence } from './features.ts';

export interface Method {
  /** Exponent of a term's rarity. 0: what most sentences say wins, whatever it is. */
  rarity: number;
  /** Weight of being like the rest of the text; the weight of the new words that a sentence brings is the rest to 1. */
  salience: number;
  /** Exponent of the length that new words are divided by: 0 favours long sentences, 1 short ones. */
  brevity: number;
  /** Weight of a phrase beside a word's: words that several authors choose alike sum them up, one author's are habit. */
  phrases: number;
  /** Sentences shorter than this many words count for less. */
  wordsFull: number;
  /** Bonus for the first sentence of the text, falling with the root of the place. */
  lead: number;
  /** Factor of sentences in which the authors tell what they did. */
  cue: number;
}

/** One text, which begins with what matters: the less of it is kept, the more that counts. */
const oneText: Method = {
  rarity: 0.5,
  salience: 0.7,
  brevity: 0.3,
  phrases: 0,
  wordsFull: 5,
  lead: 2,
  cue: 1.5,
};
/** Several texts on one matter, such as reviews. */
const severalTexts: Method = {
  rarity: 0.5,
  salience: 0.5,
  brevity: 0.8,
  phrases: 2,
  wordsFull: 8,
  lead: 0,
  cue: 1,
};
/** Many opinions of a sentence or two: what is said most often matters. */
const manyOpinions: Method = {
  rarity: 0,
  salience: 0.5,
  brevity: 0.5,
  phrases: 4,
  wordsFull: 5,
  lead: 0,
  cue: 1,
};

const opinionsMin = 20;
const opinionSentencesMax = 2;

/** Opinions may come as documents or as the passages of one: their number and shortness tell them. */
export function methodFor(sentences: readonly Sentence[], kept: number): Method {
  const passages = new Set(sentences.map(({ passage }) => passage)).size;
  if (passages >= opinionsMin && sentences.length <= passages * opinionSentencesMax) return manyOpinions;
  const documents = new Set(sentences.map(({ document }) => document)).size;
  if (documents > 1) return severalTexts;
  return { ...oneText, lead: oneText.lead * Math.min(1, Math.max(0, 1.25 - 2.5 * kept)) };
}
