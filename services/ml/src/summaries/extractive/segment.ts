/**
 * Sentences of a text in any language, in one pass over its characters. Rules and not `Intl.Segmenter`: its sentence
 * rules break after "Dr.", "z. B." and "J. K.", never before a lower-case letter (whole texts come lower-cased), and
 * know no sentence in Thai.
 */

import { abbreviations, endingAbbreviations, shortWords } from './abbreviations.ts';
import {
  isClosing,
  isDigit,
  isOpening,
  isSpace,
  isTerminator,
  isThai,
  isWideTerminator,
} from './characters.ts';
import { cutRunaway } from './split-long.ts';

export interface Span {
  start: number;
  end: number;
}

export interface SegmentOptions {
  /** True where "3." before a word is an ordinal, as in German. */
  ordinals?: boolean;
}

/** A line shorter than this was not wrapped by an editor: its end means something. */
const wrappedLineMin = 50;
/** Thai marks the end of a sentence with a space only; shorter pieces are phrases of a list. */
const thaiSentenceMin = 40;

/** Trimmed spans in text order; each holds a letter or digit, unless the whole text has none. */
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
      if (endsSentence(text, start, mark, options)) cut(mark.end);
      at = mark.end;
    } else if (isSpace(code)) {
      const gap = readGap(text, at);
      if (gapEndsSentence(text, start, gap)) cut(gap.end);
      at = gap.end;
    } else {
      at += 1;
    }
  }
  cut(text.length);
  return spans.flatMap((span) => cutRunaway(text, span));
}

/** A lone mark without a word stays with the sentence before it; a longer row of marks (a rule, stars) says nothing. */
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
  /** After the closing quotes and brackets that belong to it. */
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

function endsSentence(text: string, start: number, mark: Mark, options: SegmentOptions): boolean {
  if (mark.wide || mark.end >= text.length) return true;
  const next = nextLetter(text, mark.end);
  const lower = /\p{Ll}/u.test(next);
  if (!isSpace(text.charCodeAt(mark.end))) return gluedSentence(text, mark, next);
  if (!mark.single) return !(lower && (mark.closed || text[mark.start] === '.' || text[mark.start] === '…'));
  return stopEndsSentence(text, start, { mark, lower, options });
}

/** "great!The", "done.The": the space was forgotten. Not "3.5", "U.S", "node.js" or "Data.NET". */
function gluedSentence(text: string, mark: Mark, next: string): boolean {
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

/** The run before the mark without opening marks, at most 24 characters of it, and whether it begins the sentence. */
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

interface Gap extends Span {
  lines: number;
}

function readGap(text: string, start: number): Gap {
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

function gapEndsSentence(text: string, start: number, gap: Gap): boolean {
  if (gap.lines > 1) return true;
  if (gap.lines === 0) return thaiGapEnds(text, start, gap);
  if (/^(?:[-*•–—·◦▪]\s|\p{N}{1,3}[.)]\s|[a-z]\)\s)/u.test(text.slice(gap.end, gap.end + 6))) return true;
  const line =
    gap.start - Math.max(start, text.lastIndexOf('\n', gap.start - 1) + 1, gap.start - wrappedLineMin);
  return line < wrappedLineMin && !/\p{Ll}/u.test(nextLetter(text, gap.end));
}

function thaiGapEnds(text: string, start: number, gap: Gap): boolean {
  if (!isThai(text.charCodeAt(gap.start - 1)) || gap.start - start < thaiSentenceMin) return false;
  const next = text.charCodeAt(gap.end);
  return isThai(next) || isDigit(next) || isOpening(next);
}
