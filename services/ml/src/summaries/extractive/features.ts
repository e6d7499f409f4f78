/** The features by which sentences are selected, as numbers in flat arrays. */

import type { Piece } from './sentences.ts';
import { stopWordsOf } from './stop-words.ts';
import { countWords, createStemmer, createWordReader, isHan } from './words.ts';

export interface Sentence extends Piece, SentenceCues {
  words: number;
  /** Ids of the distinct content words, ascending, and their counts in the sentence. */
  terms: Int32Array;
  counts: Float64Array;
  /** Ids of the distinct pairs of neighbouring content words. */
  pairs: Int32Array;
  /** Pairs that repeat one in the same sentence. */
  repeatedPairs: number;
}

export interface Features {
  sentences: Sentence[];
  /** Number of sentences with the term or pair, by id. */
  termFrequency: Int32Array;
  pairFrequency: Int32Array;
  /** Computed on demand, because a single text is summarized without phrases. */
  readPhrases(): Phrases;
}

/** Pairs of neighbouring words including stop words ("is very", "very clear"): common ways to say something. */
export interface Phrases {
  /** Ids of the distinct phrases of each sentence. */
  ids: Int32Array[];
  /** Number of sentences with the phrase, by id. */
  frequency: Int32Array;
}

const none: ReadonlySet<string> = new Set();

export function readFeatures(pieces: readonly Piece[], language: string): Features {
  const reader = createWordReader();
  const words = pieces.map(({ text }) => reader.read(text));
  const terms = createStemIndex(language);
  const pairs = createIndex<number>();
  const stops = stopWordsOf(language);
  const sentences = pieces.map((piece, i): Sentence => {
    const content = contentOf(words[i] ?? [], stops, language).map(terms.idOf);
    const distinct = Int32Array.from(new Set(content)).sort();
    const counts = new Map<number, number>();
    for (const term of content) counts.set(term, (counts.get(term) ?? 0) + 1);
    const neighbours = pairsOf(content, pairs);
    return {
      ...piece,
      words: Math.max(1, countWords(piece.text)),
      ...cuesOf(piece.text),
      terms: distinct,
      counts: Float64Array.from(distinct, (term) => counts.get(term) ?? 0),
      pairs: neighbours,
      repeatedPairs: Math.max(0, content.length - 1) - neighbours.length,
    };
  });
  return {
    sentences,
    termFrequency: frequencies(
      sentences.map(({ terms: ids }) => ids),
      terms.size(),
    ),
    pairFrequency: frequencies(
      sentences.map(({ pairs: ids }) => ids),
      pairs.size(),
    ),
    readPhrases: () => phrasesOf(words.map((all) => contentOf(all, none, language).map(terms.idOf))),
  };
}

/** Word pairs as the concepts that a summary covers: Gillick and Favre, A Scalable Global Model for Summarization, 2009. */
function phrasesOf(sentences: readonly (readonly number[])[]): Phrases {
  const phrases = createIndex<number>();
  const ids = sentences.map((words) => pairsOf(words, phrases));
  return { ids, frequency: frequencies(ids, phrases.size()) };
}

function pairsOf(words: readonly number[], index: Index<number>): Int32Array {
  const pairs = new Set<number>();
  for (let at = 1; at < words.length; at += 1) {
    pairs.add(index.idOf((words[at - 1] ?? 0) * 2 ** 26 + (words[at] ?? 0)));
  }
  return Int32Array.from(pairs);
}

/** The content words. A single Han or kana character carries little meaning, so neighbours are joined in pairs. */
function contentOf(words: readonly string[], stops: ReadonlySet<string>, language: string): string[] {
  const content: string[] = [];
  const shortMax = language === 'und' ? 2 : 1;
  for (let i = 0; i < words.length; i += 1) {
    const word = words[i] ?? '';
    const next = words[i + 1];
    if (isHan(word)) {
      if (next !== undefined && isHan(next) && !stops.has(word) && !stops.has(next))
        content.push(word + next);
    } else if (!stops.has(word) && (word.length > shortMax || /\p{N}/u.test(word))) content.push(word);
  }
  return content;
}

/** Words with the same stem share an id. Each distinct word is stemmed once. */
function createStemIndex(language: string): Index<string> {
  const stem = createStemmer(language);
  const stems = createIndex<string>();
  const ids = new Map<string, number>();
  return {
    idOf: (word) => {
      const known = ids.get(word);
      if (known !== undefined) return known;
      const id = stems.idOf(stem(word));
      ids.set(word, id);
      return id;
    },
    size: stems.size,
  };
}

interface Index<K> {
  idOf(key: K): number;
  size(): number;
}

function createIndex<K>(): Index<K> {
  const ids = new Map<K, number>();
  return {
    idOf: (key: K): number => {
      const known = ids.get(key);
      if (known !== undefined) return known;
      ids.set(key, ids.size);
      return ids.size - 1;
    },
    size: () => ids.size,
  };
}

function frequencies(lists: readonly Int32Array[], size: number): Int32Array {
  const counts = new Int32Array(size);
  for (const list of lists) for (const id of list) counts[id] = (counts[id] ?? 0) + 1;
  return counts;
}

const question = /[?？؟]["'”’»)\]」』]*$/;
/** Quotation marks and the text after them. A single mark counts at the start of a word only, else it is an apostrophe. */
const quoted = /["“„«][^"”“»]*|(?:^|\s)['‘].*/s;
const speechShare = 1 / 3;
/** Authors describe their work. After the cue phrases of Edmundson, New Methods in Automatic Extracting, 1969. */
const cue =
  /\bwe (?:\w{1,20}ly )?(?:propos|present|introduc|show|find|found|demonstrat|develop|describ|report|stud|investigat|argu|prov|conclud|suggest|observ)|\b(?:this|our|these) (?:paper|study|work|article|report|approach|method|result|finding|data)/i;

interface SentenceCues {
  question: boolean;
  /** More than a third is quoted speech. */
  speech: boolean;
  /** States the purpose or the result of the text. English only. */
  cue: boolean;
}

export function cuesOf(text: string): SentenceCues {
  const quotedLength = quoted.exec(text)?.[0].length ?? 0;
  return {
    question: question.test(text),
    speech: quotedLength > speechShare * text.length,
    cue: cue.test(text),
  };
}
