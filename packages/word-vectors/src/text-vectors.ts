/**
 * Converts a text to a vector that represents the meaning of its words. An English text has the sum of the vectors of its
 * WordPieces, followed by the sum of the vectors of its words. A Chinese or Japanese text has the sum of the vectors of its
 * SentencePieces. The same text gives the same vector on every machine.
 */

import { readTable, type VectorTable } from './vector-table.ts';

/**
 * Returns the vector of a text: `englishDimensions` numbers if most of its words are English, with a norm below 1 if some
 * are unknown; otherwise, `chineseDimensions` numbers with norm 1 if it has Chinese characters or kana. Vectors of the two
 * lengths cannot be compared. Other texts have an empty vector.
 */
export type TextVectors = (text: string) => Float32Array;

export const englishDimensions = 178;
export const chineseDimensions = 128;

/** The most characters that are read. The rest of a longer text is ignored. */
const textCharactersMax = 10_000;
/** Shares of English words. Up to `from` a text does not count as English, and from `to` its vector has norm 1. */
const known = { from: 0.6, to: 0.8 };
/** Longer words are not split into WordPieces. */
const wordCharactersMax = 64;
/** The length of the longest WordPiece. */
const pieceCharactersMax = 20;
/** 25 of the 20,456 Chinese SentencePieces are longer, and not used. */
const chinesePieceCharactersMax = 8;

/** Splits contractions as GloVe's corpus does: do n't, she 's. */
const wordShape = /n't(?!\p{L})|'(?:s|re|ve|ll|d|m)(?!\p{L})|\p{L}+?(?=n't(?!\p{L}))|[\p{L}\p{M}\p{N}]+|\S/gu;
const alphabetic = /^\p{L}+$/u;
const pieceWordShape = /[\p{L}\p{M}\p{N}]+|\S/gu;
const chinese = /[\u3040-\u30ff\u3400-\u9fff]+/g;

/**
 * The returned function reads the English tables, 6 MB, on its first call, and the Chinese one, 3 MB, with the first text
 * that needs it.
 */
export function createTextVectors(): TextVectors {
  let english: EnglishTables | undefined;
  let chinesePieces: VectorTable | undefined;
  return (text) => {
    english ??= { words: read('words'), pieces: read('pieces') };
    const bounded = text.length > textCharactersMax ? text.slice(0, textCharactersMax).toWellFormed() : text;
    const composed = bounded.normalize('NFKC');
    const found = toEnglish(composed, english);
    const runs = found.length > 0 ? null : composed.match(chinese);
    if (runs === null) return found;
    chinesePieces ??= read('chinese');
    return toChinese(runs, chinesePieces);
  };
}

interface EnglishTables {
  words: VectorTable;
  pieces: VectorTable;
}

const read = (name: string) => readTable(new URL(`../tables/${name}.bin`, import.meta.url));

function toEnglish(text: string, { words, pieces }: EnglishTables): Float32Array {
  const lower = text.toLowerCase().replaceAll('’', "'");
  const ofWords = new Float64Array(words.dimensions);
  const factor = Math.min(1, (addWords(lower, words, ofWords) - known.from) / (known.to - known.from));
  if (!(factor > 0)) return new Float32Array(0);
  const ofPieces = new Float64Array(pieces.dimensions);
  addPieces(lower.normalize('NFD').replace(/\p{Mn}/gu, ''), pieces, ofPieces);
  // Both halves count equally.
  const vector = new Float32Array(englishDimensions);
  vector.set(scaled(ofPieces, factor * Math.SQRT1_2));
  vector.set(scaled(ofWords, factor * Math.SQRT1_2), pieces.dimensions);
  return vector;
}

/** Splits each run of characters into the longest pieces from its start. */
function toChinese(runs: string[], table: VectorTable): Float32Array {
  const sum = new Float64Array(table.dimensions);
  let isKnown = false;
  for (const run of runs) {
    for (let from = 0; from < run.length; ) {
      let to = Math.min(run.length, from + chinesePieceCharactersMax);
      let row = table.find(run.slice(from, to));
      while (row === undefined && to > from + 1) row = table.find(run.slice(from, --to));
      if (row !== undefined) {
        table.addTo(sum, row);
        isKnown = true;
      }
      from = to;
    }
  }
  return isKnown ? Float32Array.from(scaled(sum, 1)) : new Float32Array(0);
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

/** Scales a vector to this norm. */
function scaled(vector: Float64Array, norm: number): Float64Array {
  let square = 0;
  for (const value of vector) square += value * value;
  const scale = square === 0 ? 0 : norm / Math.sqrt(square);
  return vector.map((value) => value * scale);
}
