/**
 * The worth of a sentence beside those already chosen: likeness to the whole text (centroid of the other sentences,
 * after Radev et al. 2004), new words, word pairs and phrases weighed by how many sentences hold them, with falling
 * returns (submodular coverage, after Lin and Bilmes 2011), less its likeness to the closest chosen one (maximal
 * marginal relevance, Carbonell and Goldstein 1998). Linear in the words of the text; the worth never rises while
 * sentences are chosen, which the choice relies on.
 */

import type { Features, Sentence } from './features.ts';
import type { Method } from './weights.ts';

export interface Scorer {
  /** The worth now; -Infinity, for good, when it would say again what is chosen. */
  score(sentence: number): number;
  choose(sentence: number): void;
}

const pairWeight = 0.5;
/** What each further time of a word is worth beside the time before. */
const againFactor = 0.3;
const questionFactor = 0.6;
/** The bonus of the first sentence is halved after this many. */
const leadPlaces = 3;
const likenessWeight = 0.3;
const likenessMax = 0.6;
/** A sentence is held against this many chosen ones, so that a summary of thousands is not quadratic. */
const comparedMax = 256;
/** Word pairs of a summary that may stand in it already: a share, and more of it where much of the text is kept. */
const repeatedShare = 0.05;
const repeatedShareOfKept = 0.2;
const none = new Int32Array();

export function createScorer(features: Features, method: Method, wordsMax: number): Scorer {
  const { sentences } = features;
  const vectors = unitVectors(features, method.rarity);
  const salience = saliences(features, vectors, method);
  const salienceMax = highest(salience);
  const termsCovered = new Int32Array(features.termFrequency.length);
  const pairsCovered = new Int32Array(features.pairFrequency.length);
  const phrases = method.phrases > 0 ? features.readPhrases() : undefined;
  const phrasesCovered = new Int32Array(phrases?.frequency.length ?? 0);
  const likeness = new Float64Array(sentences.length);
  const compared = new Int32Array(sentences.length);
  const chosen: number[] = [];
  const repeatedMax = repeatedPairsMax(sentences, wordsMax);
  let repeated = 0;

  const gainOf = (sentence: Sentence, i: number): number => {
    let gain = coverageGain(sentence.terms, features.termFrequency, termsCovered);
    gain += pairWeight * coverageGain(sentence.pairs, features.pairFrequency, pairsCovered);
    if (phrases !== undefined) {
      gain += method.phrases * coverageGain(phrases.ids[i] ?? none, phrases.frequency, phrasesCovered);
    }
    return (gain / sentence.words ** method.brevity) * partFactor(sentence, method);
  };
  const gainMax = highest(Float64Array.from(sentences, gainOf));

  const likenessOf = (i: number): number => {
    let most = likeness[i] ?? 0;
    const until = Math.min(chosen.length, comparedMax);
    for (let at = compared[i] ?? 0; at < until; at += 1) {
      most = Math.max(most, dot(sentences, vectors, [i, chosen[at] ?? 0]));
    }
    likeness[i] = most;
    compared[i] = until;
    return most;
  };

  return {
    score: (i) => {
      const sentence = sentences[i];
      if (sentence === undefined || likenessOf(i) > likenessMax) return -Infinity;
      if (repeated + repeatedPairs(sentence, pairsCovered) > repeatedMax) return -Infinity;
      const lead = 1 + method.lead / (1 + sentence.position / leadPlaces);
      const likeAll = (method.salience * (salience[i] ?? 0)) / salienceMax;
      const brings = ((1 - method.salience) * gainOf(sentence, i)) / gainMax;
      return lead * (likeAll + brings) - likenessWeight * (likeness[i] ?? 0);
    },
    choose: (i) => {
      const sentence = sentences[i];
      if (sentence === undefined) return;
      repeated += repeatedPairs(sentence, pairsCovered);
      for (const term of sentence.terms) termsCovered[term] = (termsCovered[term] ?? 0) + 1;
      for (const pair of sentence.pairs) pairsCovered[pair] = (pairsCovered[pair] ?? 0) + 1;
      for (const phrase of phrases?.ids[i] ?? none) {
        phrasesCovered[phrase] = (phrasesCovered[phrase] ?? 0) + 1;
      }
      chosen.push(i);
    },
  };
}

/** Terms weighed by their count in the sentence and their rarity in the text, to unit length. */
function unitVectors({ sentences, termFrequency }: Features, rarity: number): Float64Array[] {
  const weights = Float64Array.from(termFrequency, (held) =>
    Math.max(0.05, Math.log((sentences.length + 1) / (held + 0.5)) ** rarity || 0),
  );
  return sentences.map(({ terms, counts }) => {
    const vector = new Float64Array(terms.length);
    let squares = 0;
    for (let at = 0; at < terms.length; at += 1) {
      const weight = (1 + Math.log(counts[at] ?? 1)) * (weights[terms[at] ?? 0] ?? 0);
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
  method: Method,
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
    return sum * Math.min(1, words / method.wordsFull) * partFactor(sentence, method);
  });
}

function partFactor({ question, speech, cue }: Sentence, method: Method): number {
  return (question ? questionFactor : 1) * (speech ? method.speech : 1) * (cue ? method.cue : 1);
}

/** What only one sentence says brings nothing. */
function coverageGain(ids: Int32Array, frequency: Int32Array, covered: Int32Array): number {
  let gain = 0;
  for (const id of ids) {
    const held = frequency[id] ?? 0;
    if (held > 1) gain += held * againFactor ** (covered[id] ?? 0);
  }
  return gain;
}

function repeatedPairs({ pairs, pairsAgain }: Sentence, covered: Int32Array): number {
  let count = pairsAgain;
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

/** Terms ascend, so that two sentences are compared in one walk. */
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
