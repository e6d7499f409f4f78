/**
 * Converts English text to a vector that represents the meaning of its words: the sum of the vectors of its WordPieces,
 * followed by the sum of the vectors of its words. The same text gives the same vector on every machine.
 */

import { readTable, type VectorTable } from './vector-table.ts';

/**
 * Returns the vector of a text, with norm 1 if its words are known. If some are unknown, the norm is lower. If many are
 * unknown, the vector is empty, because the tables have only English words.
 */
export type TextVectors = (text: string) => Float32Array;

/** The most characters that are read. The rest of a longer text is ignored. */
const textCharactersMax = 10_000;
/** Shares of known words. Up to `from` a text has an empty vector, and from `to` a vector with norm 1. */
const known = { from: 0.6, to: 0.8 };
/** Longer words are not split into WordPieces. */
const wordCharactersMax = 64;
/** The length of the longest WordPiece. */
const pieceCharactersMax = 20;

/** Splits contractions as GloVe's corpus does: do n't, she 's. */
const wordShape = /n't(?!\p{L})|'(?:s|re|ve|ll|d|m)(?!\p{L})|\p{L}+?(?=n't(?!\p{L}))|[\p{L}\p{M}\p{N}]+|\S/gu;
const alphabetic = /^\p{L}+$/u;
const pieceWordShape = /[\p{L}\p{M}\p{N}]+|\S/gu;

/** The returned function reads the tables, about 6 MB, on its first call. */
export function createTextVectors(): TextVectors {
  let tables: { words: VectorTable; pieces: VectorTable } | undefined;
  return (text) => {
    tables ??= {
      words: readTable(new URL('../tables/words.bin', import.meta.url)),
      pieces: readTable(new URL('../tables/pieces.bin', import.meta.url)),
    };
    const { words, pieces } = tables;
    const bounded = text.length > textCharactersMax ? text.slice(0, textCharactersMax).toWellFormed() : text;
    const lower = bounded.normalize('NFKC').toLowerCase().replaceAll('’', "'");
    const ofWords = new Float64Array(words.dimensions);
    const factor = Math.min(1, (addWords(lower, words, ofWords) - known.from) / (known.to - known.from));
    if (!(factor > 0)) return new Float32Array(0);
    const ofPieces = new Float64Array(pieces.dimensions);
    addPieces(lower.normalize('NFD').replace(/\p{Mn}/gu, ''), pieces, ofPieces);
    const vector = new Float32Array(pieces.dimensions + words.dimensions);
    vector.set(scaled(ofPieces, factor));
    vector.set(scaled(ofWords, factor), pieces.dimensions);
    return vector;
  };
}

/** Returns the share of the alphabetic words that the table has. */
function addWords(text: string, table: VectorTable, sum: Float64Array): number {
  const counts = { all: 0, found: 0 };
  for (const word of text.match(wordShape) ?? []) {
    const row = table.find(word);
    if (row !== undefined) table.addTo(sum, row);
    if (!alphabetic.test(word)) continue;
    counts.all++;
    if (row !== undefined) counts.found++;
  }
  return counts.found / counts.all;
}

/** Splits each word into the longest pieces from its start. A word with an unknown rest adds nothing. */
function addPieces(text: string, table: VectorTable, sum: Float64Array): void {
  for (const word of text.match(pieceWordShape) ?? []) {
    if (word.length > wordCharactersMax) continue;
    const rows = splitWord(word, table);
    for (const row of rows) table.addTo(sum, row);
  }
}

function splitWord(word: string, table: VectorTable): number[] {
  const rows: number[] = [];
  for (let from = 0; from < word.length; ) {
    let to = Math.min(word.length, from + pieceCharactersMax);
    let row: number | undefined;
    for (; to > from; to--) {
      row = table.find(from === 0 ? word.slice(0, to) : `##${word.slice(from, to)}`);
      if (row !== undefined) break;
    }
    if (row === undefined) return [];
    rows.push(row);
    from = to;
  }
  return rows;
}

/** Scales one half of the vector to the norm `factor`·√½, so that both halves count equally. */
function scaled(vector: Float64Array, factor: number): Float64Array {
  let square = 0;
  for (const value of vector) square += value * value;
  const scale = square === 0 ? 0 : factor * Math.sqrt(0.5 / square);
  return vector.map((value) => value * scale);
}
