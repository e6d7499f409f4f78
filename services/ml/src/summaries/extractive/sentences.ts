/** The sentences of all documents in text order, each once; and how chosen ones are put together again. */

import { splitSentences } from './segment.ts';

export interface Piece {
  /** As it stands in the passage. */
  text: string;
  document: number;
  /** Place among the sentences of its document, from 0. */
  position: number;
  /** Number of the passage over all documents, and the span in it. */
  passage: number;
  start: number;
  end: number;
}

const ordinalLanguages: ReadonlySet<string> = new Set('de da nb nn no fi cs sk pl hu'.split(' '));

/** A sentence that says again, letter for letter but for case and marks, what an earlier one says is left out. */
export function readPieces(documents: readonly (readonly string[])[], language: string): Piece[] {
  const ordinals = ordinalLanguages.has(language);
  const seen = new Set<string>();
  const pieces: Piece[] = [];
  let passageCount = 0;
  documents.forEach((passages, document) => {
    let position = 0;
    for (const passage of passages) {
      for (const { start, end } of splitSentences(passage, { ordinals })) {
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
 * One space between sentences, none where the text itself has none; a new line after one that ends without a mark, such
 * as a headline or an item of a list, or it would run into the next.
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
