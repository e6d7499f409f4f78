/** The weights of the scorer. They depend on the form of the input: one text, several texts, or many short opinions. */

import type { Sentence } from './features.ts';

export interface Weights {
  /** Exponent of the rarity of a term. With 0, the most frequent terms win. */
  rarity: number;
  /** Weight of the similarity to the rest of the text. The remainder to 1 is the weight of the new content. */
  salience: number;
  /** Exponent of the length by which new content is divided: 0 favours long sentences, 1 short ones. */
  brevity: number;
  /** Weight of a phrase, where a word weighs 1. A phrase that several authors share is representative of the texts. */
  phrases: number;
  /** Sentences with fewer words than this lose salience. */
  wordsFull: number;
  /** Bonus of the first sentence of a text. The bonus decreases with the position. */
  lead: number;
  /** Factor of sentences with quoted speech. */
  speech: number;
  /** Factor of sentences in which the authors describe their work. */
  cue: number;
}

/** Several texts about one subject, such as reviews. */
const severalTexts: Weights = {
  rarity: 0.5,
  salience: 0.5,
  brevity: 0.8,
  phrases: 2,
  wordsFull: 8,
  lead: 0,
  speech: 1,
  cue: 1,
};
/** Many opinions of one or two sentences: the most frequent statements win. */
const manyOpinions: Weights = { ...severalTexts, rarity: 0, brevity: 0.5, phrases: 4, wordsFull: 5 };

const opinionsMin = 20;
const opinionSentencesMax = 2;

/** `kept` is the share of the words that the summary keeps. Opinions can be documents or passages of one document. */
export function weightsFor(sentences: readonly Sentence[], kept: number): Weights {
  const passages = new Set(sentences.map(({ passage }) => passage)).size;
  if (passages >= opinionsMin && sentences.length <= passages * opinionSentencesMax) return manyOpinions;
  const documents = new Set(sentences.map(({ document }) => document)).size;
  return documents > 1 ? severalTexts : oneText(sentences.length, kept);
}

/**
 * A text starts with the important facts, and reactions follow. Lead and speech therefore count more the shorter the
 * summary is: fully below a sixth of the text, not at all above a third. Rarity counts less in a text of few sentences.
 */
function oneText(sentences: number, kept: number): Weights {
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
