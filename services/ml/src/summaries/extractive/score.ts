/**
 * Scores a sentence, given those already selected: its similarity to the whole text (centroid of the other sentences, after
 * Radev et al. 2004), plus its new words, word pairs and phrases, weighted by the number of sentences that have them, with
 * diminishing returns (submodular coverage, after Lin and Bilmes 2011), minus its similarity to the most similar selected
 * sentence (maximal marginal relevance, Carbonell and Goldstein 1998). Takes time linear in the words of the text. The
 * selection relies on this: a score never rises while sentences are selected.
 */

import type { Features, Sentence } from './features.ts';
import type { Weights } from './weights.ts';

export interface Scorer {
  /** The current score. -Infinity, now and later, if the sentence repeats selected ones. */
  score(sentence: number): number;
  select(sentence: number): void;
}

const pairWeight = 0.5;
/** The gain of each repetition of a word, relative to the one before. */
const repetitionFactor = 0.3;
const questionFactor = 0.6;
/** The lead bonus is halved after this many sentences. */
const leadPlaces = 3;
const similarityWeight = 0.3;
const similarityMax = 0.6;
/** A sentence is compared with at most this many selected ones, so a summary of thousands doesn't take quadratic time. */
const comparedMax = 256;
/** The share of repeated word pairs that a summary may have. It grows with the share of the text that is kept. */
const repeatedShare = 0.05;
const repeatedShareOfKept = 0.2;
const none = new Int32Array();

export function createScorer(features: Features, weights: Weights, wordsMax: number): Scorer {
  const { sentences } = features;
  const vectors = unitVectors(features, weights.rarity);
  const salience = saliences(features, vectors, weights);
  const salienceMax = highest(salience);
  const termsCovered = new Int32Array(features.termFrequency.length);
  const pairsCovered = new Int32Array(features.pairFrequency.length);
  const phrases = weights.phrases > 0 ? features.readPhrases() : undefined;
  const phrasesCovered = new Int32Array(phrases?.frequency.length ?? 0);
  const similarity = new Float64Array(sentences.length);
  const compared = new Int32Array(sentences.length);
  const selected: number[] = [];
  const repeatedMax = repeatedPairsMax(sentences, wordsMax);
  let repeated = 0;

  const gainOf = (sentence: Sentence, i: number): number => {
    let gain = coverageGain(sentence.terms, features.termFrequency, termsCovered);
    gain += pairWeight * coverageGain(sentence.pairs, features.pairFrequency, pairsCovered);
    if (phrases !== undefined) {
      gain += weights.phrases * coverageGain(phrases.ids[i] ?? none, phrases.frequency, phrasesCovered);
    }
    return (gain / sentence.words ** weights.brevity) * cueFactor(sentence, weights);
  };
  const gainMax = highest(Float64Array.from(sentences, gainOf));

  const similarityOf = (i: number): number => {
    let most = similarity[i] ?? 0;
    const until = Math.min(selected.length, comparedMax);
    for (let at = compared[i] ?? 0; at < until; at += 1) {
      most = Math.max(most, dot(sentences, vectors, [i, selected[at] ?? 0]));
    }
    similarity[i] = most;
    compared[i] = until;
    return most;
  };

  return {
    score: (i) => {
      const sentence = sentences[i];
      if (sentence === undefined || similarityOf(i) > similarityMax) return -Infinity;
      if (repeated + countRepeated(sentence, pairsCovered) > repeatedMax) return -Infinity;
      const lead = 1 + weights.lead / (1 + sentence.position / leadPlaces);
      const relevance = (weights.salience * (salience[i] ?? 0)) / salienceMax;
      const novelty = ((1 - weights.salience) * gainOf(sentence, i)) / gainMax;
      return lead * (relevance + novelty) - similarityWeight * (similarity[i] ?? 0);
    },
    select: (i) => {
      const sentence = sentences[i];
      if (sentence === undefined) return;
      repeated += countRepeated(sentence, pairsCovered);
      for (const term of sentence.terms) termsCovered[term] = (termsCovered[term] ?? 0) + 1;
      for (const pair of sentence.pairs) pairsCovered[pair] = (pairsCovered[pair] ?? 0) + 1;
      for (const phrase of phrases?.ids[i] ?? none) {
        phrasesCovered[phrase] = (phrasesCovered[phrase] ?? 0) + 1;
      }
      selected.push(i);
    },
  };
}

/** Unit vectors of the terms of each sentence, weighted by their count in the sentence and their rarity in the text. */
function unitVectors({ sentences, termFrequency }: Features, rarity: number): Float64Array[] {
  const termWeights = Float64Array.from(termFrequency, (frequency) =>
    Math.max(0.05, Math.log((sentences.length + 1) / (frequency + 0.5)) ** rarity || 0),
  );
  return sentences.map(({ terms, counts }) => {
    const vector = new Float64Array(terms.length);
    let squares = 0;
    for (let at = 0; at < terms.length; at += 1) {
      const weight = (1 + Math.log(counts[at] ?? 1)) * (termWeights[terms[at] ?? 0] ?? 0);
      vector[at] = weight;
      squares += weight * weight;
    }
    const length = Math.sqrt(squares) || 1;
    return vector.map((weight) => weight / length);
  });
}

function saliences(
  { sentences, termFrequency }: Features,
  vectors: Float64Array[],
  weights: Weights,
): Float64Array {
  const centroid = new Float64Array(termFrequency.length);
  sentences.forEach(({ terms }, i) => {
    terms.forEach((term, at) => {
      centroid[term] = (centroid[term] ?? 0) + (vectors[i]?.[at] ?? 0);
    });
  });
  return Float64Array.from(sentences, (sentence, i) => {
    const { terms, words } = sentence;
    let sum = 0;
    terms.forEach((term, at) => {
      const weight = vectors[i]?.[at] ?? 0;
      sum += weight * ((centroid[term] ?? 0) - weight);
    });
    return sum * Math.min(1, words / weights.wordsFull) * cueFactor(sentence, weights);
  });
}

function cueFactor({ question, speech, cue }: Sentence, weights: Weights): number {
  return (question ? questionFactor : 1) * (speech ? weights.speech : 1) * (cue ? weights.cue : 1);
}

/** Content of a single sentence gains nothing. */
function coverageGain(ids: Int32Array, frequency: Int32Array, covered: Int32Array): number {
  let gain = 0;
  for (const id of ids) {
    const sentences = frequency[id] ?? 0;
    if (sentences > 1) gain += sentences * repetitionFactor ** (covered[id] ?? 0);
  }
  return gain;
}

function countRepeated({ pairs, repeatedPairs }: Sentence, covered: Int32Array): number {
  let count = repeatedPairs;
  for (const pair of pairs) if ((covered[pair] ?? 0) > 0) count += 1;
  return count;
}

function repeatedPairsMax(sentences: readonly Sentence[], wordsMax: number): number {
  let words = 0;
  let pairs = 0;
  for (const sentence of sentences) {
    words += sentence.words;
    pairs += sentence.pairs.length;
  }
  const kept = Math.min(1, wordsMax / words);
  return Math.max(1, (repeatedShare + repeatedShareOfKept * kept) * pairs * kept);
}

/** The cosine similarity of two sentences. Their terms ascend, so one pass over both is enough. */
function dot(
  sentences: readonly Sentence[],
  vectors: readonly Float64Array[],
  [a, b]: [number, number],
): number {
  const left = sentences[a]?.terms ?? none;
  const right = sentences[b]?.terms ?? none;
  let sum = 0;
  let j = 0;
  for (let i = 0; i < left.length; i += 1) {
    const term = left[i] ?? 0;
    while (j < right.length && (right[j] ?? 0) < term) j += 1;
    if (right[j] === term) sum += (vectors[a]?.[i] ?? 0) * (vectors[b]?.[j] ?? 0);
  }
  return sum;
}

function highest(values: Float64Array): number {
  let most = 1e-9;
  for (const value of values) most = Math.max(most, value);
  return most;
}
