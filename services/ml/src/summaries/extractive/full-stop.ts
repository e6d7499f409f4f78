/**
 * Decides whether a full stop ends a sentence, by what stands before and after it: what follows an abbreviation, and
 * common words with a capital letter (Kiss and Strunk, Unsupervised Multilingual Sentence Boundary Detection, 2006;
 * Mikheev, Periods, Capitalized Words, etc., 2002), and words without a vowel, which are abbreviations (Grefenstette and
 * Tapanainen, What is a word, what is a sentence?, 1994).
 */

import {
  type Abbreviations,
  abbreviationLanguages,
  abbreviationsOf,
  nameParticles,
  shortWords,
} from './abbreviations.ts';
import { isBullet, isDash, isDigit, isOpening, isQuote, isSpace } from './characters.ts';
import { allStopWords, stopWordLanguages, stopWordsOf } from './stop-words.ts';

/** What a text has in common with others of its language, and how it is written. */
export interface Writing {
  text: string;
  language: string;
  abbreviations: Abbreviations;
  /** Common words. With a capital letter they begin a sentence. */
  starters: ReadonlySet<string>;
  /** "3." before a word is an ordinal, as in German. */
  ordinals: boolean;
  /** Most sentences begin with a lower-case letter. */
  lowerCase: boolean;
}

/** The languages in which a number with a full stop is an ordinal, as in "3. Mai". */
const ordinalLanguages: ReadonlySet<string> = new Set(
  'de da nb nn no fi et lv cs sk pl hu hr sr sl bs is tr'.split(' '),
);
export const sentenceLanguages: readonly string[] = [...abbreviationLanguages, ...ordinalLanguages];

/** The languages in which "r" and "l" can be a syllable, as in "smrt". */
const syllabicLanguages: ReadonlySet<string> = new Set('cs sk hr sr sl bs mk'.split(' '));

const lowerCaseBeginning = /(?:^|\p{L}{3}\s?[.!?]["'”’)]?\s)\s{0,9}\p{Ll}/gu;
const capitalBeginning = /(?:^|\p{L}{3}\s?[.!?]["'”’)]?\s)\s{0,9}\p{Lu}/gu;

/** Enough to tell how a text is written. */
const sampleMax = 20_000;

export function writingOf(text: string, language: string): Writing {
  const sample = text.slice(0, sampleMax);
  const beginnings = (letter: RegExp) => sample.match(letter)?.length ?? 0;
  return {
    text,
    language,
    abbreviations: abbreviationsOf(language),
    starters: stopWordLanguages.includes(language) ? stopWordsOf(language) : allStopWords,
    ordinals: ordinalLanguages.has(language),
    lowerCase: beginnings(lowerCaseBeginning) > beginnings(capitalBeginning),
  };
}

/** What stands after a mark, without spaces, opening marks and dashes. */
export interface Following {
  kind: 'end' | 'lower' | 'upper' | 'digit' | 'mark' | 'other';
  /** Up to 24 letters. */
  word: string;
  /** A full stop follows the word. */
  stop: boolean;
  /** A dash stands before it, as before the end of a direct speech. */
  dash: boolean;
  /** A quotation begins with it. */
  quoted: boolean;
}

const followingMax = 12;

export function readFollowing(text: string, from: number): Following {
  let at = from;
  let dash = false;
  let quoted = false;
  const limit = Math.min(text.length, from + followingMax);
  while (at < limit) {
    const code = text.charCodeAt(at);
    if (isDash(code)) dash = true;
    else if (isQuote(code)) quoted = true;
    else if (!isSpace(code) && !isOpening(code) && !isBullet(code)) break;
    at += 1;
  }
  const word = /^[\p{L}\p{M}]{1,24}/u.exec(text.slice(at, at + 24))?.[0] ?? '';
  return { kind: kindOf(text, at), word, stop: text[at + word.length] === '.', dash, quoted };
}

function kindOf(text: string, at: number): Following['kind'] {
  if (at >= text.length) return 'end';
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (/\p{Ll}/u.test(character)) return 'lower';
  if (/\p{Lu}/u.test(character)) return 'upper';
  if (isDigit(character.charCodeAt(0))) return 'digit';
  if (character === '.') return /^\.(?:\s|$)/.test(text.slice(at, at + 2)) ? 'mark' : 'other';
  return ',;:)]}/%&+=№，、；：）'.includes(character) ? 'mark' : 'other';
}

interface Stop {
  /** Where the sentence begins. */
  start: number;
  at: number;
  following: Following;
}

/** Whether one full stop that a space follows ends a sentence. */
export function stopEndsSentence(writing: Writing, { start, at, following }: Stop): boolean {
  const { word, first } = wordBefore(writing.text, start, at);
  // ". . ." is an ellipsis.
  if (word === '') return following.kind !== 'lower' || !/\.\s$/.test(writing.text.slice(at - 2, at));
  const isListNumber = first && /^(?:\p{N}{1,3}(?:\.\p{N}{1,3})*|\p{L})$/u.test(word);
  if (isListNumber) return false;
  if (following.kind === 'lower') {
    return (writing.lowerCase || following.quoted) && lowerCaseWordEnds(writing, word);
  }
  if (/^\p{N}+$/u.test(word) || /^[IVXLC]{2,}$/.test(word)) return numberEnds(writing, word, following);
  if (/\p{N}$/u.test(word)) return true;
  return wordEnds(writing, word, { start, at, following });
}

/** "am 3. Mai", "Ludwig XIV. regierte" in some languages, and "He was 3. May came." in the others. */
function numberEnds({ ordinals, starters }: Writing, word: string, following: Following): boolean {
  if (!ordinals || (/\p{N}/u.test(word) && word.length > 2)) return true;
  return following.kind === 'upper' && starters.has(following.word.toLowerCase());
}

function wordEnds(writing: Writing, word: string, { start, at, following }: Stop): boolean {
  const { inside, beforeNumber, ending, either } = writing.abbreviations;
  // Without an article, as in "l'av. Foch".
  const alone = word.toLowerCase().replace(/^\p{L}{1,5}['’]/u, '');
  const names = [alone, spacedAbbreviation(writing.text, start, at)];
  const isIn = (list: ReadonlySet<string>) => names.some((name) => list.has(name));
  const isNumber = following.kind === 'digit' || /^[IVXLC]{2,}$/.test(following.word);
  if (isIn(ending)) return endsBefore(following, word);
  if (isIn(beforeNumber) && isNumber) return false;
  if (isIn(inside) || alone.endsWith('str')) return false;
  const isInitial = /^\p{L}\p{M}*$/u.test(word) && !caseless.test(word);
  const isDotted = word.includes('.') && /^[\p{L}.-]{1,8}$/u.test(word);
  if (isInitial || isDotted || isIn(either) || lacksVowel(word, writing.language)) {
    if (following.kind !== 'upper') return following.kind === 'other' && !isInitial;
    return startsSentence(writing, following, isInitial);
  }
  return true;
}

/** Not "5 a.m. Mr. Roe", "5 p.m. Monday" and "9 A.M. ON MONDAY". */
function endsBefore({ word, stop }: Following, abbreviation: string): boolean {
  if ((stop && word.length < 4) || weekdays.test(word)) return false;
  return !(/\p{Lu}/u.test(abbreviation) && word.length > 1 && !/\p{Ll}/u.test(word));
}

const weekdays = /^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day$/;

/** Scripts in which one character can be a word. */
const caseless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;

/** A common word with a capital letter, but not "De" in "R. De Niro", "A." in "J. A. Roe", or a text in capitals. */
function startsSentence({ starters }: Writing, following: Following, afterInitial: boolean): boolean {
  const { word, stop } = following;
  if (stop && word.length < 4) return false;
  if (word.length > 1 && !/\p{Ll}/u.test(word)) return false;
  const folded = word.toLowerCase();
  return starters.has(folded) && !(afterInitial && nameParticles.has(folded));
}

const vowels = /[aeiouyàáâãäåæèéêëìíîïòóôõöøœùúûüýÿāăąēĕėęěīĭįıōŏőůűūųаеёиоуыэюяіїєўαεηιουωάέήίόύώϊϋαาเ]/u;
const withoutCapitals = /^\p{L}?\p{Ll}+$/u;

function lacksVowel(word: string, language: string): boolean {
  if (word.length < 2 || word.length > 6 || !withoutCapitals.test(word)) return false;
  if (!/^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}]+$/u.test(word)) return false;
  const folded = word.toLowerCase().normalize('NFC');
  if (shortWords.has(folded)) return false;
  const plain = folded.normalize('NFD').replace(/\p{M}/gu, '');
  return (
    !vowels.test(plain) && !vowels.test(folded) && !(syllabicLanguages.has(language) && /[rl]/.test(folded))
  );
}

/** In a text without capitals, a long word ends a sentence, and a short one may be an abbreviation. */
function lowerCaseWordEnds({ abbreviations }: Writing, word: string): boolean {
  const { inside, beforeNumber, ending, either } = abbreviations;
  const folded = word.toLowerCase();
  if ([inside, beforeNumber, ending, either].some((list) => list.has(folded))) return shortWords.has(folded);
  if (/^\p{N}{1,3}$/u.test(word)) return true;
  if (/^\p{L}$/u.test(word)) return false;
  if (folded.includes('.') && !/\p{N}$/u.test(folded)) return false;
  return /\p{L}{3}$/u.test(word) || !/\p{L}$/u.test(word) || shortWords.has(folded);
}

const wordMax = 24;

/** The last 24 characters at most of the word before the mark, without opening marks, and whether it starts the sentence. */
function wordBefore(text: string, start: number, end: number): { word: string; first: boolean } {
  let from = end;
  while (from > start && end - from < wordMax && !isSpace(text.charCodeAt(from - 1))) from -= 1;
  while (from < end && isBeforeWord(text.charCodeAt(from))) from += 1;
  const first = from - start < 40 && !/[\p{L}\p{N}]/u.test(text.slice(start, from));
  return { word: text.slice(from, end), first };
}

const isBeforeWord = (code: number) => isOpening(code) || isBullet(code) || isDash(code);

/** "z. B." as "z.b", "т. д." as "т.д" and "EE. UU." as "ee.uu". */
function spacedAbbreviation(text: string, start: number, end: number): string {
  const before = text.slice(Math.max(start, end - 12), end);
  const found = /(?:^|[\s(])((?:\p{L}{1,2}\.\s?){1,3}\p{L}{1,3})$/u.exec(before)?.[1] ?? '';
  return found.replace(/\s/g, '').toLowerCase();
}
