/** Splits a streamed body into the lines of NDJSON or the records of CSV (RFC 4180), in bounded memory. */

import { type CsvPlace, endsRecord, placeAfter } from '@datahub/contract/formats';

export interface RawRecord {
  /** The number of the record's first line. The first line of the body is 1. */
  line: number;
  /** Undefined if it is longer than the limit or not valid UTF-8; `fault` says which. */
  text?: string;
  fault?: string;
}

export interface RecordOptions {
  /** A quoted field can contain line breaks. */
  isCsv: boolean;
  bytesMax: number;
}

const lineFeed = 0x0a;
const byteOrderMark = Buffer.from('\ufeff');

const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

export class RecordSplitter {
  readonly #options: RecordOptions;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The start of a record whose end has not arrived. */
  #parts: Buffer[] = [];
  #bytes = 0;
  #line = 1;
  #lineBreaks = 0;
  #place: CsvPlace = 'field start';
  /** How many bytes of a byte order mark begin the body so far. A quote behind it begins a field. */
  #markBytes = 0;

  constructor(options: RecordOptions) {
    this.#options = options;
  }

  /** Yields the records that end in this chunk. Skips blank lines. */
  *push(chunk: Buffer): Generator<RawRecord> {
    let from = 0;
    for (;;) {
      if (this.#bytes === 0) from = this.#skipEmptyLines(chunk, from);
      const end = this.#options.isCsv ? this.#endOfCsv(chunk, from) : chunk.indexOf(lineFeed, from);
      if (end < 0) break;
      this.#lineBreaks += 1;
      this.#keep(chunk.subarray(from, end));
      from = end + 1;
      const record = this.#close();
      if (record !== undefined) yield record;
    }
    this.#keep(chunk.subarray(from));
  }

  /** Yields the last record if no line break follows it. */
  *end(): Generator<RawRecord> {
    const record = this.#close();
    if (record !== undefined) yield record;
  }

  #skipEmptyLines(chunk: Buffer, from: number): number {
    let at = from;
    while (chunk[at] === lineFeed) at++;
    this.#line += at - from;
    return at;
  }

  #endOfCsv(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i] as number;
      if (byte === byteOrderMark[this.#markBytes]) {
        this.#markBytes++;
        continue;
      }
      this.#markBytes = byteOrderMark.length;
      const isEnd = endsRecord(this.#place, byte);
      this.#place = placeAfter(this.#place, byte);
      if (isEnd) return i;
      if (byte === lineFeed) this.#lineBreaks += 1;
    }
    return -1;
  }

  #keep(part: Buffer): void {
    this.#bytes += part.length;
    if (this.#bytes > this.#options.bytesMax) this.#parts = [];
    else if (part.length > 0) this.#parts.push(part);
  }

  #close(): RawRecord | undefined {
    const line = this.#line;
    const bytes = this.#bytes;
    const parts = this.#parts;
    this.#parts = [];
    this.#bytes = 0;
    this.#line += this.#lineBreaks;
    this.#lineBreaks = 0;
    if (bytes === 0) return undefined;
    if (bytes > this.#options.bytesMax)
      return { line, fault: `is longer than ${this.#options.bytesMax} bytes` };
    const whole = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    if (whole.every(isSpace)) return undefined;
    const record = this.#decode(whole);
    return record.text?.trim() === '' ? undefined : { line, ...record };
  }

  #decode(bytes: Buffer): { text?: string; fault?: string } {
    try {
      // A carriage return before the line feed belongs to the line break.
      return { text: this.#decoder.decode(bytes).replace(/\r$/, '') };
    } catch {
      return { fault: 'is not valid UTF-8' };
    }
  }
}

/** A record is read in one piece. */
const fieldsMax = 10_000;

/** Returns the fields of a CSV record, or its fault as a text. */
export function parseCsvRecord(text: string): string[] | string {
  const fields: string[] = [];
  for (let at = 0; ; at++) {
    if (fields.length >= fieldsMax) return `has more than ${fieldsMax} fields`;
    let value = '';
    if (text[at] === '"') {
      for (at++; ; at++) {
        const end = text.indexOf('"', at);
        if (end < 0) return 'has a quoted field without a closing quote';
        value += text.slice(at, end);
        at = end + 1;
        if (text[at] !== '"') break;
        value += '"';
      }
      if (at < text.length && text[at] !== ',') return 'has text after the closing quote of a field';
    } else {
      const end = text.indexOf(',', at);
      value = text.slice(at, end < 0 ? undefined : end);
      if (value.includes('"')) return 'has a quote inside a field without quotes';
      at += value.length;
    }
    fields.push(value);
    if (at >= text.length) return fields;
  }
}
