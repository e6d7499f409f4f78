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
  /** Bonus for the first sentence of the text, falling with the place. */
  lead: number;
  /** Factor of what somebody said. */
  speech: number;
  /** Factor of sentences in which the authors tell what they did. */
  cue: number;
}

/** Several texts on one matter, such as reviews. */
const severalTexts: Method = {
  rarity: 0.5,
  salience: 0.5,
  brevity: 0.8,
  phrases: 2,
  wordsFull: 8,
  lead: 0,
  speech: 1,
  cue: 1,
};
/** Many opinions of a sentence or two: what is said most often matters. */
const manyOpinions: Method = { ...severalTexts, rarity: 0, brevity: 0.5, phrases: 4, wordsFull: 5 };

const opinionsMin = 20;
const opinionSentencesMax = 2;

/** Opinions may come as documents or as the passages of one: their number and shortness tell them. */
export function methodFor(sentences: readonly Sentence[], kept: number): Method {
  const passages = new Set(sentences.map(({ passage }) => passage)).size;
  if (passages >= opinionsMin && sentences.length <= passages * opinionSentencesMax) return manyOpinions;
  const documents = new Set(sentences.map(({ document }) => document)).size;
  return documents > 1 ? severalTexts : oneText(sentences.length, kept);
}

/**
 * One text begins with what matters and goes on to what people said of it: the less of it is kept (all of that below a
 * sixth, nothing above a third), the more this counts. The rarity of a word in a few sentences says little of it.
 */
function oneText(sentences: number, kept: number): Method {
  const terse = Math.min(1, Math.max(0, 2 - 6 * kept));
  return {
    rarity: (0.5 * sentences) / (sentences + 30),
    salience: 0.7,
    brevity: 0.5,
    phrases: 0,
    wordsFull: 5,
    lead: 2 * terse,
    speech: 1 - 0.3 * terse,
    cue: 1.5,
  };
}
