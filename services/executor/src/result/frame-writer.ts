/** Writes a response in frames. After each row follow the texts that the receiver annotates; see `row-frames.ts`. */

import { type FormatName, formats } from '@datahub/contract/formats';
import { readCharactersMax } from '@datahub/contract/limits';
import { frameHeadBytes, frameKinds, textColumns, textHeadBytes } from '@datahub/executor-session/row-frames';
import type { Annotation } from '@datahub/proto/executor/v1/executor';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { SinkColumn } from '../ports/row-sink.ts';
import { uniqueNames } from './column-names.ts';
import { createFinder, textEnd, types } from './values/bson-reader.ts';
import { jsonEncoder } from './values/json-values.ts';
import { type ByteWriter, type FieldEncoder, type Numbers, writeString } from './values/primitives.ts';

const quote = 0x22;
const backslash = 0x5c;
const escapeBytesMax = 6;
/** The JSON of what a classifier reads of a text is never longer. */
const textBytesMax = escapeBytesMax * (readCharactersMax + 2);
/** What a classifier reads of a text is never longer in UTF-8, where a UTF-16 unit takes at most three bytes. */
const readBytesMax = 3 * readCharactersMax;
const ofDocument: ColumnKind = { is: 'bson' };

/** The columns that the receiver adds: a label and its confidence for each annotation. */
export const addedColumns = (members: readonly Annotation[]) =>
  members.flatMap(({ as }) => [
    { name: as, type: 'text' },
    { name: `${as}Confidence`, type: 'double' },
  ]);

/** A text that the receiver annotates. */
interface Text {
  kind: ColumnKind;
  encode: FieldEncoder;
}

interface TextColumn extends Text {
  index: number;
}

export class FrameWriter {
  /** The names of the members that the receiver adds. */
  readonly #added: string[];
  readonly #columns: string[];
  readonly #out: ByteWriter;
  readonly #numbers: Numbers;
  readonly #endBytes: number;
  #names: string[] = [];
  /** The column of each text; undefined if there is none. */
  #texts: (TextColumn | undefined)[] = [];
  #hasNamed = false;
  readonly #member: Text;
  /** Finds the texts of a document, and members with names that the receiver would add. */
  readonly #find: ReturnType<typeof createFinder>;

  constructor(
    members: readonly Annotation[],
    out: ByteWriter,
    { format, numbers }: { format: FormatName; numbers: Numbers },
  ) {
    this.#columns = textColumns(members);
    this.#added = addedColumns(members).map(({ name }) => name);
    this.#out = out;
    this.#numbers = numbers;
    this.#endBytes = formats[format].rowEnd.length;
    this.#member = { kind: ofDocument, encode: jsonEncoder(ofDocument, numbers) };
    this.#find = createFinder([...this.#columns, ...this.#added]);
  }

  begin(columns: readonly SinkColumn[]): void {
    this.#names = uniqueNames(columns.map(({ name }) => name));
    this.#texts = this.#columns.map((column) => {
      const index = this.#names.indexOf(column);
      const { kind } = columns[index] ?? {};
      return kind && { index, kind, encode: jsonEncoder(kind, this.#numbers) };
    });
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
  nameColumns(): void {
    if (this.#hasNamed || this.#names.length === 0) return;
    this.#hasNamed = true;
    this.#writeNames(frameKinds.columns, this.#names);
  }

  closeRow(from: number, source: Buffer, offsets: Int32Array): void {
    this.#out.position -= this.#endBytes;
    this.close(from);
    for (const text of this.#texts) {
      const at = this.#openText();
      const start = text === undefined ? -1 : (offsets[2 * text.index] as number);
      if (text !== undefined && start >= 0)
        this.#writeText(text, source, [start, offsets[2 * text.index + 1] as number]);
      this.#closeText(at);
    }
  }

  /**
   * Writes only the start of a long text. The elements of arrays are counted by themselves: those of the row may already be
   * nearly as many as may be.
   */
  #writeText({ kind, encode }: Text, source: Buffer, [start, end]: [number, number]): void {
    const out = this.#out;
    const [from, to] = bytesOfText(kind, source, [start, end]);
    if (to - from > readBytesMax) {
      writeString(out, source, from, wholeCharacters(source, from, from + readBytesMax));
      return;
    }
    const ofRow = out.elements;
    out.elements = 0;
    encode(out, source, start, end);
    out.elements += ofRow;
  }

  closeDocument(from: number, source: Buffer, start: number): void {
    this.#out.position -= this.#endBytes;
    this.close(from);
    const found = this.#find(source, start);
    for (const column of this.#columns) {
      const at = this.#openText();
      const member = found.get(column);
      if (member !== undefined) this.#writeText(this.#member, source, [member.start, member.end]);
      this.#closeText(at);
    }
    this.#hasNamed = true;
    const taken = this.#added.filter((name) => found.has(name));
    if (taken.length > 0) this.#writeNames(frameKinds.members, taken);
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

/** Where the bytes of a text are; nowhere for a value that is no text. */
function bytesOfText(
  kind: ColumnKind,
  source: Buffer,
  [start, end]: [number, number],
): [from: number, to: number] {
  if (kind.is === 'text') return [start, end];
  if (kind.is !== 'bson' || source[start] !== types.string) return [0, 0];
  // The name follows the type, then come the length and the text, and a zero byte.
  return [textEnd(source, start + 1, end) + 5, end - 1];
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
