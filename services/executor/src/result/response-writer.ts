/** Writes the rows of an engine as one answer in the format of the caller: JSON, NDJSON or CSV. */

import { frameKinds } from '@datahub/executor-session/row-frames';
import type { Outcome } from '../engine.ts';
import type { ResponseOptions, ResponseWriter, Timing } from '../execution/execution.ts';
import type { DocumentEncoder, FieldEncoder, RowFormat, SinkColumn } from '../row-sink.ts';
import type { ByteWriter } from './byte-writer.ts';
import { ChunkedOutput, FairScheduler, FlushTimer, type OutputSchedule } from './chunked-output.ts';
import { uniqueNames } from './column-names.ts';
import { toCsvField, writeField } from './csv.ts';
import { FrameWriter } from './frame-writer.ts';
import { writeAscii, writeNull, writeText } from './json-encoder.ts';
import { withoutNulls } from './not-null.ts';

/** Creates a writer for a single answer. */
export function createResponseWriter(options: ResponseOptions): ResponseWriter {
  return createResponseWriters()(options);
}

/** Returns a function that creates writers. They share row layouts. */
export function createResponseWriters(): (options: ResponseOptions) => ResponseWriter {
  const shared: Shared = {
    scheduler: new FairScheduler(),
    timer: new FlushTimer(),
    layouts: new WeakMap(),
  };
  return (options) => withoutNulls(new RowWriter(options, shared), options.notNull);
}

interface Shared extends OutputSchedule {
  /** Layouts by column array. For a prepared statement, engines pass the same array in each run. */
  layouts: WeakMap<readonly SinkColumn[], RowLayout>;
}

class RowWriter extends ChunkedOutput implements ResponseWriter {
  readonly format: RowFormat;
  readonly numbers: 'auto' | 'string';
  readonly #meta: boolean;
  readonly #layouts: Shared['layouts'];
  #columns: SinkColumn[] | undefined;
  #layout: RowLayout = noLayout;
  #rows = 0;
  /** Undefined unless the receiver annotates the rows. */
  readonly #frames: FrameWriter | undefined;

  constructor({ format, numbers, meta, reply, annotations }: ResponseOptions, shared: Shared) {
    super(reply, shared);
    this.#frames = annotations && new FrameWriter(annotations, this.out, format);
    this.format = format;
    this.numbers = numbers;
    this.#meta = meta;
    this.#layouts = shared.layouts;
  }

  begin(columns: SinkColumn[]): void {
    this.#columns = columns;
    this.#layout = layoutOf(columns, this.#layouts);
    const frame = this.#frames?.open(frameKinds.bytes) ?? 0;
    if (this.format === 'json') writeAscii(this.out, '{"data":[');
    else if (this.format === 'csv') this.#writeHeader();
    this.#frames?.close(frame);
    this.#frames?.begin(this.#layout.names);
  }

  row(source: Buffer, offsets: Int32Array): void {
    this.#frames?.name(this.#layout.names);
    const frame = this.#frames?.open(frameKinds.row) ?? 0;
    if (this.format === 'csv') this.#writeCsvRow(source, offsets);
    else {
      this.#separate();
      this.#writeObject(source, offsets);
      if (this.format === 'ndjson') writeAscii(this.out, '\n');
    }
    this.#frames?.closeRow(frame, { encoders: this.#layout.encoders, source, offsets });
    this.#rows++;
    this.rowWritten();
  }

  document(source: Buffer, start: number, write: DocumentEncoder): void {
    const frame = this.#frames?.open(frameKinds.row) ?? 0;
    this.#separate();
    write(this.out, source, start);
    if (this.format === 'ndjson') writeAscii(this.out, '\n');
    this.#frames?.closeDocument(frame);
    this.#rows++;
    this.rowWritten();
  }

  #separate(): void {
    if (this.#rows === 0 || this.format !== 'json') return;
    const out = this.out;
    out.reserve(1);
    out.buffer[out.position++] = 0x2c;
  }

  finish(outcome: Outcome, timing: Timing): void {
    this.rowsEnded();
    if (this.#columns === undefined) this.#writeChanges(outcome);
    if (this.#rows === 0 && this.#layout.names.length > 0) this.#frames?.name(this.#layout.names);
    const frame = this.#frames?.open(frameKinds.bytes) ?? 0;
    if (this.format === 'json') this.#writeTail(outcome, timing);
    else if (this.format === 'ndjson' && outcome.truncated) writeAscii(this.out, '{"truncated":true}\n');
    this.#frames?.close(frame);
    this.sendLast();
  }

  #writeObject(source: Buffer, offsets: Int32Array): void {
    const out = this.out;
    const { encoders, prefixes } = this.#layout;
    if (encoders.length === 0) writeAscii(out, '{');
    for (let i = 0; i < encoders.length; i++) {
      writePrefix(out, prefixes[i] as Prefix);
      const start = offsets[2 * i] as number;
      if (start < 0) writeNull(out);
      else (encoders[i] as FieldEncoder)(out, source, start, offsets[2 * i + 1] as number);
    }
    out.reserve(1);
    out.buffer[out.position++] = 0x7d;
  }

  #writeHeader(): void {
    for (const [i, name] of this.#layout.names.entries()) {
      if (i > 0) writeAscii(this.out, ',');
      writeField(this.out, this.out.position, name);
    }
    for (const name of this.#frames?.added ?? []) {
      writeAscii(this.out, ',');
      writeField(this.out, this.out.position, name);
    }
    writeAscii(this.out, '\r\n');
  }

  #writeCsvRow(source: Buffer, offsets: Int32Array): void {
    const out = this.out;
    const { encoders } = this.#layout;
    for (let i = 0; i < encoders.length; i++) {
      if (i > 0) writeAscii(out, ',');
      const start = offsets[2 * i] as number;
      if (start < 0) continue;
      const from = out.position;
      (encoders[i] as FieldEncoder)(out, source, start, offsets[2 * i + 1] as number);
      toCsvField(out, from, this.#columns?.[i]?.isJson === true);
    }
    writeAscii(out, '\r\n');
  }

  /** The answer to a statement without a row set is one object. */
  #writeChanges({ affectedRows = 0, insertId }: Outcome): void {
    const encode: FieldEncoder = (out, source, start, end) => {
      writeAscii(out, source.toString('latin1', start, end));
    };
    const columns = [{ name: 'affectedRows', type: 'bigint', encode }];
    const values = [String(affectedRows)];
    if (insertId !== undefined) {
      columns.push({ name: 'insertId', type: 'bigint', encode });
      values.push(insertId.length > 15 ? JSON.stringify(insertId) : insertId);
    }
    this.begin(columns);
    const offsets = new Int32Array(values.length * 2);
    let at = 0;
    for (const [i, value] of values.entries()) {
      offsets[2 * i] = at;
      at += value.length;
      offsets[2 * i + 1] = at;
    }
    this.row(Buffer.from(values.join('')), offsets);
  }

  #writeTail(outcome: Outcome, timing: Timing): void {
    const out = this.out;
    writeAscii(out, ']');
    if (outcome.truncated) writeAscii(out, ',"truncated":true');
    if (this.#meta) this.#writeMeta(outcome, timing);
    writeAscii(out, '}');
  }

  #writeMeta(outcome: Outcome, { queueMs, durationMs }: Timing): void {
    const out = this.out;
    writeAscii(out, ',"meta":{"columns":[');
    const columns = (this.#columns ?? []).map(({ type }, i) => [this.#layout.names[i] as string, type]);
    // The receiver adds a label and a number for each annotation.
    for (const [i, name] of (this.#frames?.added ?? []).entries())
      columns.push([name, i % 2 === 0 ? 'text' : 'double']);
    for (const [i, [name = '', type = '']] of columns.entries()) {
      writeAscii(out, i === 0 ? '{"name":' : ',{"name":');
      writeText(out, name);
      writeAscii(out, ',"type":');
      writeText(out, type);
      writeAscii(out, '}');
    }
    const round = (ms: number) => Math.round(ms * 1_000) / 1_000;
    writeAscii(
      out,
      `],"rowCount":${outcome.rowCount},"durationMs":${round(durationMs)},"queueMs":${round(queueMs)}}`,
    );
  }
}

/** UTF-8 bytes in little-endian 32-bit words. The last word is padded with zeros. */
interface Prefix {
  words: Int32Array;
  bytes: number;
}

/** The data that all rows of an answer share. */
interface RowLayout {
  /** The names of the columns, made unique. */
  names: string[];
  encoders: FieldEncoder[];
  /** The bytes before each field of an object: a brace or comma, and the member's name. */
  prefixes: Prefix[];
}

const noLayout: RowLayout = { names: [], encoders: [], prefixes: [] };

/** `columns` must not change afterwards. */
function layoutOf(columns: readonly SinkColumn[], layouts: Shared['layouts']): RowLayout {
  const known = layouts.get(columns);
  if (known !== undefined) return known;
  const names = uniqueNames(columns.map(({ name }) => name));
  const layout = {
    names,
    encoders: columns.map(({ encode }) => encode),
    prefixes: names.map((name, i) => toPrefix(`${i === 0 ? '{' : ','}${JSON.stringify(name)}:`)),
  };
  layouts.set(columns, layout);
  return layout;
}

function toPrefix(text: string): Prefix {
  const bytes = Buffer.byteLength(text);
  const padded = Buffer.alloc(Math.ceil(bytes / 4) * 4);
  padded.write(text);
  return {
    words: Int32Array.from({ length: padded.length / 4 }, (_, i) => padded.readInt32LE(4 * i)),
    bytes,
  };
}

/** Writes whole words; the next bytes overwrite the padding. */
function writePrefix(out: ByteWriter, { words, bytes }: Prefix): void {
  out.reserve(bytes + 4);
  const { view } = out;
  let at = out.position;
  for (let i = 0; i < words.length; i++, at += 4) view.setInt32(at, words[i] as number, true);
  out.position += bytes;
}
