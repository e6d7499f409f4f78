/**
 * Reads, counts and stems the words of a text: runs of letters and digits, single Han and kana characters, and
 * dictionary words in Thai, Lao, Khmer and Burmese.
 */

import { normalized } from '@datahub/service-kit/normalized';

const southeast = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/;
const han = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/u;
/** Splits runs longer than 64 characters. No word is that long, but hostile input can be. */
const pattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]|[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]{1,256}|[\p{L}\p{M}\p{N}]{1,64}(?:['’][\p{L}\p{M}\p{N}]{1,20})?/gu;
const asciiPattern = /[a-z0-9]{1,64}(?:'[a-z0-9]{1,20})?/g;
const beyondAscii = /[^\p{ASCII}]/u;

export const isHan = (word: string) => han.test(word);

export interface WordReader {
  /** Lower-case words in text order. */
  read(sentence: string): string[];
}

export function createWordReader(): WordReader {
  let dictionary: Intl.Segmenter | undefined;
  const split = (run: string): string[] => {
    dictionary ??= new Intl.Segmenter('th', { granularity: 'word' });
    return Array.from(dictionary.segment(run), ({ segment }) => segment);
  };
  return {
    read: (sentence) => {
      if (!beyondAscii.test(sentence)) return sentence.toLowerCase().match(asciiPattern) ?? [];
      const words = normalized(sentence, 'NFKC').toLowerCase().replaceAll('’', "'").match(pattern) ?? [];
      return words.some((word) => southeast.test(word))
        ? words.flatMap((word) => (southeast.test(word) ? split(word) : [word]))
        : words;
    },
  };
}

/**
 * Counts words as a reader does: runs between spaces, Han and kana characters, and every four letters of Thai, Lao,
 * Khmer or Burmese.
 */
export function countWords(text: string): number {
  if (!beyondAscii.test(text)) return text.match(/\S+/g)?.length ?? 0;
  const runs = text.match(/\S+/g) ?? [];
  let count = 0;
  for (const run of runs) {
    const characters = run.match(/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
    const letters = run.match(/[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]/g)?.length ?? 0;
    count += characters + letters === 0 ? 1 : Math.max(1, characters + Math.ceil(letters / 4));
  }
  return count;
}

/**
 * Light stemming, so "price" and "prices" count as one word. English words lose their most common endings. In other
 * languages a long word is cut to its first letters, which works nearly as well as a stemmer for inflected languages
 * (McNamee and Mayfield, Character N-Gram Tokenization, 2004).
 */
export function createStemmer(language: string): (word: string) => string {
  if (language === 'en') return stemEnglish;
  if (language === 'ar') return (word) => (word.length > 4 && word.startsWith('ال') ? word.slice(2) : word);
  return (word) => (word.length > prefixLength ? word.slice(0, prefixLength) : word);
}

const prefixLength = 6;

function stemEnglish(word: string): string {
  let stem = word.endsWith("'s") ? word.slice(0, -2) : word;
  if (stem.length < 4) return stem;
  stem = singular(stem);
  for (const [ending, keep] of englishEndings) {
    if (stem.length - ending.length >= keep && stem.endsWith(ending)) {
      stem = undouble(stem.slice(0, -ending.length));
      break;
    }
  }
  return stem.length > 3 && (stem.endsWith('e') || stem.endsWith('y') || stem.endsWith('i'))
    ? stem.slice(0, -1)
    : stem;
}

/** Endings with the number of letters that must remain. Longer endings come first. */
const englishEndings: readonly (readonly [string, number])[] = [
  ['ations', 3],
  ['ation', 3],
  ['ingly', 3],
  ['ment', 4],
  ['ness', 4],
  ['ably', 4],
  ['edly', 3],
  ['ive', 4],
  ['ion', 4],
  ['ing', 3],
  ['ed', 3],
  ['er', 4],
  ['ly', 3],
];

function singular(word: string): string {
  if (!word.endsWith('s') || word.endsWith('ss') || word.endsWith('us') || word.endsWith('is')) return word;
  if (word.endsWith('ies') && word.length > 4) return word.slice(0, -2);
  if (/(?:ss|x|ch|sh|z)es$/.test(word)) return word.slice(0, -2);
  return word.slice(0, -1);
}

const undouble = (word: string) => (/([bdfgmnprt])\1$/.test(word) ? word.slice(0, -1) : word);
