/**
 * A file of examples in pieces that the hub takes as CSV or NDJSON, so that a file of any size is read once, in little
 * memory, with progress. A piece ends where a record ends.
 */

import { type CsvPlace, endsRecord, placeAfter } from '@datahub/contract/formats';
import { labelNames, placeOf, rowsOf, textNames } from './examples.ts';

export interface ImportFormat {
  mediaType: 'text/csv' | 'application/x-ndjson';
  /** Goes in front of each piece of CSV, in place of the file's own header. */
  header: string | undefined;
}

export interface Piece {
  body: string;
  /** The line of the file that a line of the body stands in. */
  lineOf(bodyLine: number): number;
  /** How many bytes of the file were read. */
  bytesRead: number;
}

/** Some seconds of training. */
const pieceCharacters = 262_144;
/** The hub rejects longer records. */
const recordCharactersMax = 4 * 1_048_576;
const startBytes = 65_536;

/** Undefined for a file that names no columns, or separates them in another way. */
export async function formatOf(file: Blob): Promise<ImportFormat | undefined> {
  const start = (await file.slice(0, startBytes).text()).replace(/^\uFEFF/, '');
  if (start.startsWith('{')) {
    const [first = ''] = start.split('\n', 1);
    return hasExample(first) ? { mediaType: 'application/x-ndjson', header: undefined } : undefined;
  }
  const [first] = rowsOf(start, ',');
  const names = (first?.cells ?? []).map((name) =>
    name
      .trim()
      .replace(/^"(.*)"$/, '$1')
      .toLowerCase(),
  );
  const [label, context] = [placeOf(names, labelNames), placeOf(names, textNames)];
  if (label < 0 || context < 0) return undefined;
  const header = names.map((_, i) => (i === label ? 'label' : i === context ? 'context' : `column_${i}`));
  return { mediaType: 'text/csv', header: header.join(',') };
}

function hasExample(line: string): boolean {
  try {
    const { label, context } = JSON.parse(line) as Record<string, unknown>;
    return typeof label === 'string' && typeof context === 'string';
  } catch {
    return false;
  }
}

export async function* piecesOf(file: Blob, { mediaType, header }: ImportFormat): AsyncGenerator<Piece> {
  const isCsv = mediaType === 'text/csv';
  const reader = file.stream().getReader();
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  let line = 1;
  let bytesRead = 0;
  let atHeader = header !== undefined;
  const pieceOf = (records: string): Piece => {
    const firstLine = line;
    line += records.split('\n').length - 1;
    if (header === undefined) return { body: records, lineOf: (at) => firstLine + at - 1, bytesRead };
    return { body: `${header}\n${records}`, lineOf: (at) => firstLine + at - 2, bytesRead };
  };
  for (;;) {
    const { done, value } = await reader.read();
    bytesRead += value?.length ?? 0;
    text += done ? decoder.decode() : decoder.decode(value, { stream: true });
    if (atHeader) {
      const end = endOfRecord(text, { isCsv, from: 1 });
      if (end === 0 && !done) continue;
      line = (end === 0 ? text : text.slice(0, end)).split('\n').length;
      text = end === 0 ? '' : text.slice(end);
      atHeader = false;
    }
    const endOfPiece = () => endOfRecord(text, { isCsv, from: pieceCharacters });
    for (let end = endOfPiece(); end > 0; end = endOfPiece()) {
      yield pieceOf(text.slice(0, end));
      text = text.slice(end);
    }
    if (!done) continue;
    if (text.trim() !== '') yield pieceOf(text);
    return;
  }
}

/** The index after the first record that ends at `from` or later; 0 if more of the file is needed. */
function endOfRecord(text: string, { isCsv, from }: { isCsv: boolean; from: number }): number {
  if (text.length < from) return 0;
  const end = isCsv ? endOfCsv(text, from) : text.indexOf('\n', from - 1) + 1;
  return end === 0 && text.length > recordCharactersMax ? text.length : end;
}

function endOfCsv(text: string, from: number): number {
  let place: CsvPlace = 'field start';
  for (let at = text.startsWith('\uFEFF') ? 1 : 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (at + 1 >= from && endsRecord(place, code)) return at + 1;
    place = placeAfter(place, code);
  }
  return 0;
}
