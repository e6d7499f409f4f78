/** Text without any punctuation: pieces stand in for its sentences, else a page of it would be one sentence. */

import { isSpace } from './characters.ts';
import type { Span } from './segment.ts';

/** Longer than any sentence that somebody meant as one. */
const sentenceMax = 1_000;
const pieceTarget = 200;

/** The span itself, or pieces of it that end between two words; a run without spaces stays whole. */
export function cutRunaway(text: string, span: Span): Span[] {
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
