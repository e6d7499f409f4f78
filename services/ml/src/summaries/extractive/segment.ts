/**
 * Splits text in any language into sentences, in one pass over its characters. `Intl.Segmenter` is not used: it splits
 * after "Dr.", "z. B." and "J. K.", never before a lower-case letter (some texts are all lower case), and not at all in
 * Thai.
 */

import { abbreviations, endingAbbreviations, shortWords } from './abbreviations.ts';

export interface Span {
  start: number;
  end: number;
}

export interface SegmentOptions {
  /** "3." before a word is an ordinal, as in German. */
  ordinals?: boolean;
}

/** An editor doesn't wrap a shorter line, so its end may end a sentence. */
const wrappedLineMin = 50;
/** In Thai only a space ends a sentence. A shorter piece is a phrase in a list. */
const thaiSentenceMin = 40;

/** No author writes a longer sentence. */
const sentenceMax = 1_000;
const pieceTarget = 200;

/** Trimmed spans in text order. Each contains a letter or digit, unless the whole text has none. */
export function splitSentences(text: string, options: SegmentOptions = {}): Span[] {
  const spans: Span[] = [];
  let start = 0;
  let at = 0;
  const cut = (end: number) => {
    addSpan(text, { start, end }, spans);
    start = end;
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (isTerminator(code)) {
      const mark = readMark(text, at);
      if (endsSentence(text, start, { mark, options })) cut(mark.end);
      at = mark.end;
    } else if (isSpace(code)) {
      const space = readSpace(text, at);
      if (spaceEndsSentence(text, start, space)) cut(space.end);
      at = space.end;
    } else {
      at += 1;
    }
  }
  cut(text.length);
  return spans.flatMap((span) => splitLong(text, span));
}

/** Up to three marks without a word belong to the sentence before them. More of them (a rule, asterisks) are dropped. */
function addSpan(text: string, { start, end }: Span, spans: Span[]): void {
  let from = start;
  let to = end;
  while (from < to && isSpace(text.charCodeAt(from))) from += 1;
  while (to > from && isSpace(text.charCodeAt(to - 1))) to -= 1;
  if (from === to) return;
  const last = spans.at(-1);
  const wordless = !/[\p{L}\p{N}]/u.test(text.slice(from, to));
  if (wordless && last !== undefined && to - from <= 3) last.end = to;
  else if (wordless && last !== undefined) return;
  else if (
    last !== undefined &&
    !/[\p{L}\p{N}]/u.test(text.slice(last.start, Math.min(last.end, last.start + 200)))
  ) {
    spans[spans.length - 1] = { start: from, end: to };
  } else spans.push({ start: from, end: to });
}

interface Mark {
  start: number;
  /** After the closing quotation marks and brackets. */
  end: number;
  /** One full stop, which may belong to an abbreviation. */
  single: boolean;
  wide: boolean;
  closed: boolean;
}

function readMark(text: string, start: number): Mark {
  let end = start;
  let wide = false;
  while (end < text.length && isTerminator(text.charCodeAt(end))) {
    wide ||= isWideTerminator(text.charCodeAt(end));
    end += 1;
  }
  const single = end - start === 1 && text[start] === '.';
  const marks = end;
  while (end < text.length && isClosing(text.charCodeAt(end))) end += 1;
  return { start, end, single, wide, closed: end > marks };
}

function endsSentence(
  text: string,
  start: number,
  { mark, options }: { mark: Mark; options: SegmentOptions },
): boolean {
  if (mark.wide || mark.end >= text.length) return true;
  const next = nextLetter(text, mark.end);
  const lower = /\p{Ll}/u.test(next);
  if (!isSpace(text.charCodeAt(mark.end))) return lacksSpace(text, mark, next);
  if (!mark.single) return !(lower && (mark.closed || text[mark.start] === '.' || text[mark.start] === '…'));
  return stopEndsSentence(text, start, { mark, lower, options });
}

/** "great!The" and "done.The" lack a space. "3.5", "U.S", "node.js" and "Data.NET" do not. */
function lacksSpace(text: string, mark: Mark, next: string): boolean {
  if (mark.closed || !/\p{Lu}/u.test(next) || isOpening(text.charCodeAt(mark.end))) return false;
  return (
    /\p{Ll}{2}$/u.test(text.slice(Math.max(0, mark.start - 4), mark.start)) &&
    /^\p{Lu}[\p{Ll} ]/u.test(text.slice(mark.end, mark.end + 3))
  );
}

interface Stop {
  mark: Mark;
  lower: boolean;
  options: SegmentOptions;
}

function stopEndsSentence(text: string, start: number, { mark, lower, options }: Stop): boolean {
  const { word, first } = wordBefore(text, start, mark.start);
  if (word === '') return true;
  if (mark.closed && lower) return false;
  const folded = word.toLowerCase();
  if (/^\p{N}{1,3}$/u.test(word)) return !first && !(options.ordinals === true && word.length < 3);
  if (/^[\p{Lu}\p{Ll}]$/u.test(word)) return false;
  if (abbreviations.has(folded)) return false;
  if (endingAbbreviations.has(folded)) return !lower;
  if (folded.includes('.')) return /^[\p{L}.]{1,8}$/u.test(folded) ? false : !lower || /\p{N}$/u.test(folded);
  if (!lower) return true;
  return /\p{L}{3}$/u.test(word) || !/\p{L}$/u.test(word) || shortWords.has(folded);
}

/** The last 24 characters at most of the word before the mark, without opening marks, and whether it starts the sentence. */
function wordBefore(text: string, start: number, end: number): { word: string; first: boolean } {
  let from = end;
  while (from > start && end - from < 24 && !isSpace(text.charCodeAt(from - 1))) from -= 1;
  const first = text.slice(start, Math.min(from, start + 40)).trim() === '' && from - start < 40;
  while (from < end && isOpening(text.charCodeAt(from))) from += 1;
  return { word: text.slice(from, end), first };
}

function nextLetter(text: string, at: number): string {
  let next = at;
  const limit = Math.min(text.length, at + 12);
  while (next < limit && (isSpace(text.charCodeAt(next)) || isOpening(text.charCodeAt(next)))) next += 1;
  return next < text.length ? String.fromCodePoint(text.codePointAt(next) ?? 0) : '';
}

interface Space extends Span {
  lines: number;
}

function readSpace(text: string, start: number): Space {
  let end = start;
  let lines = 0;
  while (end < text.length && isSpace(text.charCodeAt(end))) {
    const code = text.charCodeAt(end);
    if (code === 0x0a || (code === 0x0d && text.charCodeAt(end + 1) !== 0x0a) || code === 0x2028) lines += 1;
    if (code === 0x2029) lines += 2;
    end += 1;
  }
  return { start, end, lines };
}

function spaceEndsSentence(text: string, start: number, space: Space): boolean {
  if (space.lines > 1) return true;
  if (space.lines === 0) return thaiSpaceEnds(text, start, space);
  if (/^(?:[-*•–—·◦▪]\s|\p{N}{1,3}[.)]\s|[a-z]\)\s)/u.test(text.slice(space.end, space.end + 6))) return true;
  const line =
    space.start - Math.max(start, text.lastIndexOf('\n', space.start - 1) + 1, space.start - wrappedLineMin);
  return line < wrappedLineMin && !/\p{Ll}/u.test(nextLetter(text, space.end));
}

function thaiSpaceEnds(text: string, start: number, space: Space): boolean {
  if (!isThai(text.charCodeAt(space.start - 1)) || space.start - start < thaiSentenceMin) return false;
  const next = text.charCodeAt(space.end);
  return isThai(next) || isDigit(next) || isOpening(next);
}

/**
 * Splits a long span between words, because a page without punctuation would otherwise be one sentence. A run without
 * spaces stays whole.
 */
function splitLong(text: string, span: Span): Span[] {
  if (span.end - span.start <= sentenceMax) return [span];
  const pieces: Span[] = [];
  let start = span.start;
  for (let at = start + pieceTarget; at < span.end - pieceTarget / 2; at += 1) {
    if (!isSpace(text.charCodeAt(at))) continue;
    pieces.push({ start, end: at });
    while (isSpace(text.charCodeAt(at))) at += 1;
    start = at;
    at += pieceTarget;
  }
  pieces.push({ start, end: span.end });
  return pieces;
}

const set = (characters: string) => new Set(Array.from(characters, (character) => character.charCodeAt(0)));

const terminators = set('.!?…。！？｡؟۔।॥։።៕។။⁇⁈⁉‼');
/** These end a sentence even if no space follows. */
const wideTerminators = set('。！？｡؟۔।॥።។៕။');
const closing = set('"\'”’»)]}」』）》】〉›');
const opening = set('"\'“‘„«([{「『（《【〈‹‚¿¡');

const isTerminator = (code: number) =>
  code === 0x2e || code === 0x21 || code === 0x3f ? true : code > 0x7f && terminators.has(code);
const isWideTerminator = (code: number) => code > 0x7f && wideTerminators.has(code);
const isClosing = (code: number) => closing.has(code);
const isOpening = (code: number) => opening.has(code);

const isSpace = (code: number) =>
  code === 0x20 ||
  (code >= 0x09 && code <= 0x0d) ||
  code === 0xa0 ||
  code === 0x1680 ||
  (code >= 0x2000 && code <= 0x200a) ||
  code === 0x2028 ||
  code === 0x2029 ||
  code === 0x202f ||
  code === 0x205f ||
  code === 0x3000 ||
  code === 0xfeff;

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** Thai and Lao. */
const isThai = (code: number) => code >= 0x0e00 && code <= 0x0eff;
