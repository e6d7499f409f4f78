/**
 * Extracts hashed features from a text in any language, in linear time: words, pairs of neighbouring words, and the
 * character 3-grams and 4-grams of words.
 */

import { readCharactersMax } from '@datahub/contract/limits';
import { normalized } from '@datahub/service-kit/normalized';
import { foldMarks, simplifyHan } from './fold.ts';

export interface Features {
  /** 32-bit hashes: the first `words` of words and pairs, the others of character n-grams. */
  hashes: Uint32Array;
  /** The weight of each feature, 1 + ln(count). */
  weights: Float32Array;
  words: number;
}

const characterWordsMax = 100;
const startMark = 0x9e3779b9;
const endMark = 0x85ebca6b;
const characterSeed = 0xc2b2ae35;

export function extractFeatures(text: string): Features {
  const tokens = tokenize(text);
  const words = new Map<number, number>();
  let previous = startMark;
  for (const token of tokens) {
    const hash = hashText(token, 0x811c9dc5);
    count(words, hash);
    count(words, combine(previous, hash));
    previous = hash;
  }
  if (tokens.length > 0) count(words, combine(previous, endMark));
  const characters = new Map<number, number>();
  const distinct = new Set(tokens.filter(hasNGrams));
  let left = characterWordsMax;
  for (const word of distinct) {
    if (left-- === 0) break;
    countGrams(characters, ` ${word} `);
  }
  return toFeatures(words, characters);
}

function toFeatures(words: Map<number, number>, characters: Map<number, number>): Features {
  const size = words.size + characters.size;
  const hashes = new Uint32Array(size);
  const weights = new Float32Array(size);
  let at = 0;
  for (const group of [words, characters]) {
    for (const [hash, times] of group) {
      hashes[at] = hash;
      weights[at++] = times === 1 ? 1 : 1 + Math.log(times);
    }
  }
  return { hashes, weights, words: words.size };
}

function count(counts: Map<number, number>, hash: number): void {
  counts.set(hash, (counts.get(hash) ?? 0) + 1);
}

function countGrams(counts: Map<number, number>, word: string): void {
  for (let i = 0; i + 3 <= word.length; i++) {
    let hash = characterSeed;
    for (let j = 0; j < 4 && i + j < word.length; j++) {
      hash = Math.imul(hash ^ word.charCodeAt(i + j), 0x01000193);
      if (j >= 2) count(counts, spread(hash + j));
    }
  }
}

/** FNV-1a over UTF-16 code units. */
function hashText(text: string, seed: number): number {
  let hash = seed;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return spread(hash);
}

function combine(a: number, b: number): number {
  return spread(Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca77));
}

/** Spreads the bits (the finalizer of MurmurHash3). */
export function spread(value: number): number {
  let hash = value ^ (value >>> 16);
  hash = Math.imul(hash, 0x85ebca6b);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Scripts without spaces between words: each character is a token. */
const scriptWithoutSpaces =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/**
 * A token: one character of these scripts with its marks; a run of letters, marks and digits, with apostrophes inside;
 * or any other single character.
 */
const tokenShape =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]\p{M}*|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{M}\p{N}])+(?:['’](?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{M}\p{N}])+)*|\S/gu;

/** A longer run is cut to this length. */
const tokenCharactersMax = 64;

function tokenize(text: string): string[] {
  const bounded = text.length > readCharactersMax ? text.slice(0, readCharactersMax).toWellFormed() : text;
  const tokens = foldMarks(normalized(bounded, 'NFKC').toLowerCase()).match(tokenShape) ?? [];
  return simplifyHan(tokens).map((token) =>
    token.length > tokenCharactersMax ? token.slice(0, tokenCharactersMax) : token,
  );
}

/** True if character n-grams of the token add information: it is longer than one character, in a script with spaces. */
function hasNGrams(token: string): boolean {
  return token.length > 1 && !scriptWithoutSpaces.test(token) && /[\p{L}\p{N}]/u.test(token);
}
