/** What the choice of sentences needs to know of them, as numbers in flat arrays. */

import type { Piece } from './pieces.ts';
import { createStemmer } from './stem.ts';
import { stopWordsOf } from './stop-words.ts';
import { countWords, createWordReader, isHan } from './words.ts';

export interface Sentence extends Piece {
  words: number;
  question: boolean;
  /** Content words, each once, ascending; and how often each stands in the sentence. */
  terms: Int32Array;
  counts: Float64Array;
  /** Pairs of neighbouring content words, each once. */
  pairs: Int32Array;
  /** Pairs that the sentence itself holds again. */
  pairsAgain: number;
}

export interface Features {
  sentences: Sentence[];
  /** Number of sentences that hold a term or pair. */
  termFrequency: Int32Array;
  pairFrequency: Int32Array;
}

export function readFeatures(pieces: readonly Piece[], language: string): Features {
  const reader = createWordReader();
  const words = pieces.map(({ text }) => reader.read(text));
  const terms = createIndex<string>();
  const pairs = createIndex<number>();
  const stops = stopWordsOf(language);
  const stem = createStemmer(language);
  const sentences = pieces.map((piece, i): Sentence => {
    const content = contentOf(words[i] ?? [], stops, language).map((word) => terms.idOf(stem(word)));
    const distinct = Int32Array.from(new Set(content)).sort();
    const counts = new Map<number, number>();
    for (const term of content) counts.set(term, (counts.get(term) ?? 0) + 1);
    const neighbours = new Set<number>();
    for (let at = 1; at < content.length; at += 1) {
      neighbours.add(pairs.idOf((content[at - 1] ?? 0) * 2 ** 26 + (content[at] ?? 0)));
    }
    return {
      ...piece,
      words: Math.max(1, countWords(piece.text)),
      question: /[?？؟]["'”’»)\]」』]*$/.test(piece.text),
      terms: distinct,
      counts: Float64Array.from(distinct, (term) => counts.get(term) ?? 0),
      pairs: Int32Array.from(neighbours),
      pairsAgain: Math.max(0, content.length - 1) - neighbours.size,
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
  };
}

/** Characters of a script without spaces say little alone: neighbours are joined in twos. */
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

function createIndex<K>() {
  const ids = new Map<K, number>();
  return {
    idOf: (key: K): number => {
      const held = ids.get(key);
      if (held !== undefined) return held;
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
