/** Splits documents into distinct sentences in text order, and joins selected sentences to a summary. */

import { splitSentences } from './segment.ts';

export interface Piece {
  /** Verbatim. */
  text: string;
  document: number;
  /** Index among the sentences of its document. */
  position: number;
  /** Index of the passage among those of all documents, and the span in it. */
  passage: number;
  start: number;
  end: number;
}

/** Splits the documents. Leaves out a sentence that differs from an earlier one only in case and punctuation. */
export function readPieces(documents: readonly (readonly string[])[], language: string): Piece[] {
  const seen = new Set<string>();
  const pieces: Piece[] = [];
  let passageCount = 0;
  documents.forEach((passages, document) => {
    let position = 0;
    for (const passage of passages) {
      for (const { start, end } of splitSentences(passage, language)) {
        const text = passage.slice(start, end);
        const key =
          text
            .toLowerCase()
            .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
            .trim() || text;
        position += 1;
        if (seen.has(key)) continue;
        seen.add(key);
        pieces.push({ text, document, position: position - 1, passage: passageCount, start, end });
      }
      passageCount += 1;
    }
  });
  return pieces;
}

/**
 * Joins with a space, or without one where the text has none. A sentence without a final mark, such as a headline or a
 * list item, is followed by a newline.
 */
export function joinPieces(pieces: readonly Piece[]): string {
  let joined = '';
  let last: Piece | undefined;
  for (const piece of pieces) {
    joined += last === undefined ? piece.text : `${gapBetween(last, piece)}${piece.text}`;
    last = piece;
  }
  return joined;
}

const markAtEnd = /[\p{Sentence_Terminal}…][\p{Pe}\p{Pf}"')\]]*$/u;
const wideMarkAtEnd = /[。！？｡][」』”’）》】]*$/u;

function gapBetween(before: Piece, after: Piece): string {
  if (before.passage === after.passage && before.end === after.start) return '';
  const ending = before.text.slice(-8);
  if (wideMarkAtEnd.test(ending) && !/^[\p{Script=Latin}\p{N}]/u.test(after.text)) return '';
  return markAtEnd.test(ending) ? ' ' : '\n';
}
