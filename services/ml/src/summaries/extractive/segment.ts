/**
 * Splits text in any language into sentences, in one pass over its characters. `Intl.Segmenter` is not used: it splits
 * after "Dr.", "z. B." and "J. K.", never before a lower-case letter (some texts are all lower case), and not at all in
 * Thai.
 */

import {
  isArmenian,
  isBracket,
  isBullet,
  isClosing,
  isDigit,
  isGreek,
  isOnEitherSide,
  isOpening,
  isQuote,
  isSpace,
  isTerminator,
  isThai,
  isWideTerminator,
} from './characters.ts';
import { readFollowing, stopEndsSentence, type Writing, writingOf } from './full-stop.ts';

export interface Span {
  start: number;
  end: number;
}

/** An editor doesn't wrap a shorter line, so its end may end a sentence. */
const wrappedLineMin = 50;
/** In Thai only a space ends a sentence. A shorter piece is a phrase in a list. */
const thaiSentenceMin = 40;
/** A sentence in brackets is part of the sentence around it. A longer one is not. */
const bracketsMax = 200;

/** No author writes a longer sentence. */
const sentenceMax = 1_000;
const pieceTarget = 200;

/**
 * Trimmed spans in text order. Each contains a letter or digit, unless the whole text has none. `language` is a primary
 * language such as `de`, or `und`.
 */
export function splitSentences(text: string, language = 'und'): Span[] {
  const writing = writingOf(text, language);
  const spans: Span[] = [];
  let start = 0;
  let bracket = -1;
  let at = 0;
  const cut = (end: number) => {
    addSpan(text, { start, end }, spans);
    start = end;
    bracket = -1;
  };
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (isTerminator(code) || endsInScript(text, at)) {
      const mark = readMark(text, at);
      const isInside = bracket > start && !mark.closed && closesSoon(text, mark.end);
      if (!isInside && endsSentence(writing, start, mark)) cut(mark.end);
      else if (mark.closed) bracket = -1;
      at = mark.end;
    } else if (isSpace(code)) {
      const space = readSpace(text, at);
      if (spaceEndsSentence(text, start, space)) cut(space.end);
      at = space.end;
    } else {
      if (isBracket(code)) bracket = at - start < 4 && text.slice(start, at).trim() === '' ? -1 : at;
      else if (bracket >= 0 && isClosing(code) && !isQuote(code)) bracket = -1;
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
  while (end < text.length && (isTerminator(text.charCodeAt(end)) || endsInScript(text, end))) {
    wide ||= isWideTerminator(text.charCodeAt(end));
    end += 1;
  }
  const single = end - start === 1 && text[start] === '.';
  const marks = end;
  while (end < text.length && closesHere(text, end)) end += 1;
  // French: a space stands between the mark and the quotation mark.
  if (end === marks && /^[\s\u00a0\u202f]»(?![\p{L}\p{N}])/u.test(text.slice(end, end + 3))) end += 2;
  return { start, end, single, wide, closed: end > marks };
}

function closesHere(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (isClosing(code)) return code !== 0xbb || !isWordAt(text, at + 1);
  return isOnEitherSide(code) && !isWordAt(text, at + 1);
}

const isWordAt = (text: string, at: number) => /[\p{L}\p{N}]/u.test(text.slice(at, at + 1));

/** Armenian ends a sentence with a colon, and Greek a question with a semicolon. */
function endsInScript(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code !== 0x3a && code !== 0x3b && code !== 0x37e) return false;
  if (at + 1 < text.length && !isSpace(text.charCodeAt(at + 1)) && !isClosing(text.charCodeAt(at + 1)))
    return false;
  const isLetter = code === 0x3a ? isArmenian : isGreek;
  let before = at - 1;
  while (before > at - 6 && (isTerminator(text.charCodeAt(before)) || isSpace(text.charCodeAt(before))))
    before -= 1;
  return isLetter(text.charCodeAt(before));
}

function closesSoon(text: string, from: number): boolean {
  const after = text.slice(from, from + bracketsMax);
  return /^[^([{（《【〈\n]*[)\]}）》】〉]/u.test(after);
}

function endsSentence(writing: Writing, start: number, mark: Mark): boolean {
  const { text } = writing;
  const before = text.charCodeAt(mark.start - 1);
  if (mark.end >= text.length) return true;
  if (mark.wide) return wideEndsSentence(text, start, mark);
  // "[...]" and "(!)" are parts of a sentence.
  if (mark.closed && mark.start > start && isBracket(before)) return false;
  if (!isSpace(text.charCodeAt(mark.end))) return lacksSpace(text, mark);
  const following = readFollowing(text, mark.end);
  if (following.kind === 'end') return true;
  if (following.kind === 'mark') return false;
  if (following.kind === 'lower' && (mark.closed || following.dash)) return false;
  if (mark.closed && following.kind === 'other' && isSpeech(text, start))
    return isOpening(text.charCodeAt(mark.end + 1));
  if (mark.single) return stopEndsSentence(writing, { start, at: mark.start, following });
  if (following.kind !== 'lower') return true;
  return (writing.lowerCase || following.quoted) && text[mark.start] !== '.' && text[mark.start] !== '…';
}

/** Scripts without capitals do not show whether the words after a direct speech tell who spoke. They mostly do. */
const isSpeech = (text: string, start: number) => /^\s*["“”«「『]/u.test(text.slice(start, start + 8));

/** After 《…！》, and after a quotation that the sentence goes on with: 「…！」と言った, “…！”他说. */
function wideEndsSentence(text: string, start: number, mark: Mark): boolean {
  if (!mark.closed) return true;
  const next = text.slice(mark.end, mark.end + 1);
  if (/[）》】〉]/u.test(text.slice(mark.start, mark.end)))
    return isSpace(text.charCodeAt(mark.end)) || /^[（《“「]/u.test(next);
  if (/[，、,；：とっでのに的]/u.test(next)) return false;
  return !(isSpeech(text, start) && /\p{L}/u.test(next));
}

/** "great!The" and "done.The" lack a space. "3.5", "U.S", "node.js", "Data.NET" and "Jane.Doe@example.com" do not. */
function lacksSpace(text: string, mark: Mark): boolean {
  if (mark.closed || isOpening(text.charCodeAt(mark.end)) || mark.end - mark.start > 2) return false;
  if (text[mark.start] === '…') return false;
  return (
    /(?:\p{Ll}{2}|\p{N}{3})$/u.test(text.slice(Math.max(0, mark.start - 4), mark.start)) &&
    /^\p{Lu}[\p{Ll} ]/u.test(text.slice(mark.end, mark.end + 3)) &&
    !/^[^\s@]{1,40}@/u.test(text.slice(mark.end, mark.end + 41))
  );
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
  if (isBullet(text.charCodeAt(space.end)) && /^.[\s\p{N}]/u.test(text.slice(space.end, space.end + 2)))
    return true;
  if (space.lines === 0) return thaiSpaceEnds(text, start, space) || nextItemFollows(text, start, space);
  if (/^(?:[-*–—]\s|\p{N}{1,3}[.)]\s|[a-z]\)\s)/u.test(text.slice(space.end, space.end + 6))) return true;
  return isShortLine(text, start, space.start) && readFollowing(text, space.end).kind !== 'lower';
}

/** Looks back for so long only, because a text can be one line, or end lines with other signs. */
const isShortLine = (text: string, start: number, end: number): boolean =>
  end - start < wrappedLineMin || lineEnd.test(text.slice(end - wrappedLineMin, end));

const lineEnd = /[\n\r\u2028\u2029]/;

/** The numbers or letters of a list in one line: "1) first 2) second", "a. first b. second". */
function nextItemFollows(text: string, start: number, space: Space): boolean {
  const code = text.charCodeAt(space.end);
  if (!isDigit(code) && !(code >= 0x61 && code <= 0x7a)) return false;
  const next = listItem.exec(text.slice(space.end, space.end + 8));
  const own = next === null ? null : listItem.exec(text.slice(start, start + 12).trimStart());
  if (next === null || own === null || next[2] !== own[2]) return false;
  const [label = '', ownLabel = ''] = [next[1], own[1]];
  return isDigit(code)
    ? Number(label) === Number(ownLabel) + 1
    : ownLabel.charCodeAt(0) + 1 === code && ownLabel.length === 1;
}

const listItem = /^[•⁃]?\s?(\p{Nd}{1,3}|[a-z])([.)]{1,2})\s/u;

/** Thai writes spaces around numbers and before abbreviations such as พ.ศ. */
function thaiSpaceEnds(text: string, start: number, space: Space): boolean {
  if (!isThai(text.charCodeAt(space.start - 1)) || space.start - start < thaiSentenceMin) return false;
  const next = text.charCodeAt(space.end);
  if (isOpening(next)) return true;
  return isThai(next) && !text.slice(space.end, space.end + 4).includes('.');
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
