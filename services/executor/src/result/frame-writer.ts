/** Writes an answer in frames. After each row follow the texts that the receiver annotates; see `row-frames.ts`. */

import { readCharactersMax } from '@datahub/contract/limits';
import {
  frameHeadBytes,
  frameKinds,
  rowEnds,
  textColumns,
  textHeadBytes,
} from '@datahub/executor-session/row-frames';
import { type Annotation, Format } from '@datahub/proto/executor/v1/executor';
import type { FieldEncoder, RowFormat } from '../row-sink.ts';
import type { ByteWriter } from './byte-writer.ts';

const formats: Record<RowFormat, Format> = {
  json: Format.FORMAT_JSON,
  ndjson: Format.FORMAT_NDJSON,
  csv: Format.FORMAT_CSV,
};

const quote = 0x22;
const backslash = 0x5c;
const escapeBytesMax = 6;
/** The JSON of what a classifier reads of a text is never longer. */
const textBytesMax = escapeBytesMax * (readCharactersMax + 2);

export interface Fields {
  encoders: readonly FieldEncoder[];
  source: Buffer;
  offsets: Int32Array;
}

export class FrameWriter {
  /** The names of the members that the receiver adds. */
  readonly added: string[];
  readonly #columns: string[];
  readonly #out: ByteWriter;
  readonly #endBytes: number;
  /** The index of each text's column; -1 if there is none. */
  #places: number[] = [];
  #hasNamed = false;

  constructor(members: readonly Annotation[], out: ByteWriter, format: RowFormat) {
    this.#columns = textColumns(members);
    this.added = members.flatMap(({ as }) => [as, `${as}Confidence`]);
    this.#out = out;
    this.#endBytes = rowEnds[formats[format]]?.length ?? 0;
  }

  begin(names: readonly string[]): void {
    this.#places = this.#columns.map((column) => names.indexOf(column));
  }

  /** Opens a frame. Returns the start of its content, for `close`. */
  open(kind: number): number {
    const out = this.#out;
    out.reserve(frameHeadBytes);
    out.buffer[out.position] = kind;
    out.position += frameHeadBytes;
    return out.position;
  }

  close(from: number): void {
    const { buffer, position } = this.#out;
    buffer.writeUInt32LE(position - from, from - textHeadBytes);
  }

  /** Call this once. Only rows with columns have names, because documents can have any members. */
  name(names: readonly string[]): void {
    if (this.#hasNamed) return;
    this.#hasNamed = true;
    this.#writeNames(frameKinds.columns, names);
  }

  closeRow(from: number, { encoders, source, offsets }: Fields): void {
    this.#out.position -= this.#endBytes;
    this.close(from);
    for (const place of this.#places) {
      const start = place < 0 ? -1 : (offsets[2 * place] as number);
      const at = this.#openText();
      if (start >= 0)
        (encoders[place] as FieldEncoder)(this.#out, source, start, offsets[2 * place + 1] as number);
      this.#closeText(at);
    }
  }

  closeDocument(from: number): void {
    const out = this.#out;
    const text = out.buffer.toString('utf8', from, out.position);
    const document = JSON.parse(text.slice(text.indexOf('{'))) as Record<string, unknown>;
    out.position -= this.#endBytes;
    this.close(from);
    for (const column of this.#columns) {
      const at = this.#openText();
      if (Object.hasOwn(document, column)) this.#write(JSON.stringify(document[column]));
      this.#closeText(at);
    }
    this.#hasNamed = true;
    if (this.added.some((name) => Object.hasOwn(document, name)))
      this.#writeNames(frameKinds.members, Object.keys(document));
  }

  #openText(): number {
    this.#out.reserve(textHeadBytes);
    this.#out.position += textHeadBytes;
    return this.#out.position;
  }

  /** Cuts what no classifier reads. A string stays valid JSON. */
  #closeText(from: number): void {
    const out = this.#out;
    const { buffer } = out;
    if (out.position - from > textBytesMax) {
      out.position = wholeCharacters(buffer, from, from + textBytesMax);
      if (buffer[from] === quote) {
        out.position = wholeEscapes(buffer, from, out.position);
        buffer[out.position++] = quote;
      }
    }
    this.close(from);
  }

  #writeNames(kind: number, names: readonly string[]): void {
    const from = this.open(kind);
    this.#write(JSON.stringify(names));
    this.close(from);
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    this.#out.reserve(bytes.length);
    bytes.copy(this.#out.buffer, this.#out.position);
    this.#out.position += bytes.length;
  }
}

/** The end of the last character of UTF-8 that ends at `end` or before. */
function wholeCharacters(buffer: Buffer, start: number, end: number): number {
  let at = end;
  while (at > start && ((buffer[at] as number) & 0xc0) === 0x80) at--;
  return at;
}

/** `end`, or the start of an escape of a JSON string that could end behind it. */
function wholeEscapes(buffer: Buffer, start: number, end: number): number {
  const last = buffer.subarray(start, end).lastIndexOf(backslash);
  if (last === -1 || start + last + escapeBytesMax <= end) return end;
  let first = start + last;
  while (buffer[first - 1] === backslash) first--;
  // Of an even number, each second one is escaped by the one before it.
  const count = start + last - first + 1;
  return count % 2 === 0 ? end : start + last;
}
