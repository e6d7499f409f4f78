/**
 * Folds what writers may leave out or write in two ways, so that both ways are the same words: vowel signs and forms of
 * letters in Arabic (as Lucene's ArabicNormalizer and PersianNormalizer), vowel points in Hebrew, ё in Russian, and
 * traditional characters in Chinese.
 */

import { readCharactersMax } from '@datahub/contract/limits';
import { simplifiedCharacters, traditionalCharacters } from './traditional-characters.ts';

const isFolded = /[\u0451\u0591-\u06ed]/;
/** Vowel signs, signs of recitation, the lengthening of a line (tatweel), and Hebrew's accents and points. */
const optionalMarks =
  /[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed]/g;
const letterForms = /[\u0622\u0623\u0625\u0671\u0649\u06cc\u0629\u06a9\u0451]/g;
const letters: Record<string, string> = {
  '\u0622': '\u0627',
  '\u0623': '\u0627',
  '\u0625': '\u0627',
  '\u0671': '\u0627',
  '\u0649': '\u064a',
  '\u06cc': '\u064a',
  '\u0629': '\u0647',
  '\u06a9': '\u0643',
  '\u0451': '\u0435',
};

/** Expects a text in lower case and in Unicode's composed form. */
export function foldMarks(text: string): string {
  if (!isFolded.test(text)) return text;
  return text.replace(optionalMarks, '').replace(letterForms, (letter) => letters[letter] ?? letter);
}

const simplified = new Map(
  Array.from(traditionalCharacters, (character, i) => [character, simplifiedCharacters[i] ?? character]),
);

/** Returns the tokens with simplified characters. A text with kana is Japanese, which has characters of its own. */
export function simplifyHan(tokens: string[]): string[] {
  if (!tokens.some((token) => token.length === 1 && isHan(token)) || tokens.some(isKana)) return tokens;
  return tokens.map((token) => simplified.get(token) ?? token);
}

/** The same for a text, up to the part that is read. */
export function simplifyText(text: string): string {
  if (!/[\u3400-\u9fff\uf900-\ufaff]/.test(text)) return text;
  return simplifyHan([...text.slice(0, readCharactersMax).normalize('NFKC')]).join('');
}

const isHan = (token: string) => token >= '\u3400' && token <= '\u9fff';
const isKana = (token: string) => token >= '\u3041' && token <= '\u30ff';
