/** Writes an answer in frames. After each row follow the texts that the receiver annotates; see `row-frames.ts`. */

import { frameHeadBytes, frameKinds, rowEnds, textHeadBytes } from '@datahub/executor-session/row-frames';
import { type Annotation, Format } from '@datahub/proto/executor/v1/executor';
import type { FieldEncoder, RowFormat } from '../row-sink.ts';
import type { ByteWriter } from './byte-writer.ts';

const formats: Record<RowFormat, Format> = {
  json: Format.FORMAT_JSON,
  ndjson: Format.FORMAT_NDJSON,
  csv: Format.FORMAT_CSV,
};

export interface Fields {
  encoders: readonly FieldEncoder[];
  source: Buffer;
  offsets: Int32Array;
}

export class FrameWriter {
  /** The names of the members that the receiver adds. */
  readonly added: string[];
  readonly #members: readonly Annotation[];
  readonly #out: ByteWriter;
  readonly #endBytes: number;
  /** The index of each text's column; -1 if there is none. */
  #places: number[] = [];
  #hasNamed = false;

  constructor(members: readonly Annotation[], out: ByteWriter, format: RowFormat) {
    this.#members = members;
    this.added = members.flatMap(({ as }) => [as, `${as}Confidence`]);
    this.#out = out;
    this.#endBytes = rowEnds[formats[format]]?.length ?? 0;
  }

  begin(names: readonly string[]): void {
    this.#places = this.#members.map(({ text }) => names.indexOf(text));
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
      this.close(at);
    }
  }

  closeDocument(from: number): void {
    const out = this.#out;
    const text = out.buffer.toString('utf8', from, out.position);
    const document = JSON.parse(text.slice(text.indexOf('{'))) as Record<string, unknown>;
    out.position -= this.#endBytes;
    this.close(from);
    for (const { text } of this.#members) {
      const at = this.#openText();
      if (Object.hasOwn(document, text)) this.#write(JSON.stringify(document[text]));
      this.close(at);
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
