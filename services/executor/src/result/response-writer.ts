/** One answer: rows from an engine as bytes in the caller's format, handed on in chunks. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { noteBuffers } from '@datahub/service-kit/process/heap';
import type { Outcome } from '../engine.ts';
import type { AnswerOptions, AnswerSink } from '../execution/execute.ts';
import type { DocumentEncoder, FieldEncoder, RowFormat, SinkColumn } from '../row-sink.ts';
import { ByteWriter } from './byte-writer.ts';
import { toCsvField, writeField } from './csv.ts';
import { createTurns, type Flow, type Turns } from './fair-scheduler.ts';
import { Drips } from './flush-timer.ts';
import { writeAscii, writeNull, writeText } from './json-encoder.ts';
import { layoutOf, type Prefix, type RowLayout, writePrefix } from './row-layout.ts';

/**
 * Small at first, so that the first bytes come soon, then large, so that many cost little; less beside small answers. A
 * chunk goes out once it is as full as that, with the row that filled it, and stays below the most a message may hold.
 */
const chunkBytes = { first: 16_384, considerate: 32_768, full: 245_760, max: 262_144 };

/** Answers larger than this take turns with each other. */
const largeBytes = 1_048_576;

/** Of an answer that has ended: until the next drip it is still known, and should not keep its whole request alive. */
const ended: ExecutionReply = { chunk: () => true, onDrain: () => {} };

const noLayout: RowLayout = { names: [], encoders: [], prefixes: [] };

export function createAnswer(options: AnswerOptions): AnswerSink {
  return new Answer(options, { turns: createTurns(), drips: new Drips() });
}

/** The answers of one process. */
export function createAnswers(): (options: AnswerOptions) => AnswerSink {
  const shared = { turns: createTurns(), drips: new Drips() };
  return (options) => new Answer(options, shared);
}

interface Shared {
  turns: Turns;
  drips: Drips;
}

class Answer implements AnswerSink, Flow {
  readonly format: RowFormat;
  readonly numbers: 'auto' | 'string';
  readonly #turns: Turns;
  readonly #drips: Drips;
  /** Waits for the next drip. */
  #holds = false;
  /** The reader is behind. */
  #behind = false;
  /** Others have their turn. */
  #waiting = false;
  #flushedBytes = 0;
  #ended = false;
  #reply: ExecutionReply;
  readonly #meta: boolean;
  readonly #out = new ByteWriter(1_024);
  #target = chunkBytes.first;
  #columns: SinkColumn[] | undefined;
  #layout: RowLayout = noLayout;
  #rows = 0;
  #listener: () => void = () => {};

  constructor({ format, numbers, meta, reply }: AnswerOptions, { turns, drips }: Shared) {
    this.#turns = turns;
    this.#drips = drips;
    this.format = format;
    this.numbers = numbers;
    this.#meta = meta;
    this.#reply = reply;
    reply.onDrain(() => {
      this.#behind = false;
      if (this.#ended) return;
      this.#waiting = this.#flushedBytes > largeBytes && !turns.take(this);
      if (!this.#waiting) this.#listener();
    });
  }

  get full(): boolean {
    return this.#behind || this.#waiting;
  }

  resume(): void {
    this.#waiting = false;
    this.#listener();
  }

  pause(): void {
    this.#waiting = true;
  }

  begin(columns: SinkColumn[]): void {
    this.#columns = columns;
    this.#layout = layoutOf(columns);
    if (this.format === 'json') writeAscii(this.#out, '{"data":[');
    else if (this.format === 'csv') this.#writeHeader();
  }

  row(source: Buffer, offsets: Int32Array): void {
    if (this.format === 'csv') this.#writeCsvRow(source, offsets);
    else {
      this.#part();
      this.#writeObject(source, offsets);
      if (this.format === 'ndjson') writeAscii(this.#out, '\n');
    }
    this.#count();
  }

  document(source: Buffer, start: number, write: DocumentEncoder): void {
    this.#part();
    write(this.#out, source, start);
    if (this.format === 'ndjson') writeAscii(this.#out, '\n');
    this.#count();
  }

  #part(): void {
    if (this.#rows === 0 || this.format !== 'json') return;
    const out = this.#out;
    out.reserve(1);
    out.buffer[out.position++] = 0x2c;
  }

  #count(): void {
    this.#rows++;
    if (this.#out.position >= this.#target) this.#flush();
    else if (!this.#holds) {
      this.#holds = true;
      this.#drips.add(this);
    }
  }

  onDrain(listener: () => void): void {
    this.#listener = listener;
  }

  finish(outcome: Outcome, timing: { queueMs: number; durationMs: number }): void {
    this.#end();
    if (this.#flushedBytes === 0) this.#turns.noteSmall();
    if (this.#columns === undefined) this.#writeWritten(outcome);
    if (this.format === 'json') this.#writeTail(outcome, timing);
    else if (this.format === 'ndjson' && outcome.truncated) writeAscii(this.#out, '{"truncated":true}\n');
    this.#flush();
    this.#reply = ended;
  }

  abandon(): void {
    this.#end();
    this.#out.position = 0;
    this.#reply = ended;
  }

  #end(): void {
    this.#ended = true;
    this.#turns.leave(this);
  }

  #writeObject(source: Buffer, offsets: Int32Array): void {
    const out = this.#out;
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
      if (i > 0) writeAscii(this.#out, ',');
      writeField(this.#out, this.#out.position, name);
    }
    writeAscii(this.#out, '\r\n');
  }

  #writeCsvRow(source: Buffer, offsets: Int32Array): void {
    const out = this.#out;
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

  /** A statement without a row set answers one object. */
  #writeWritten({ affectedRows = 0, insertId }: Outcome): void {
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

  #writeTail(outcome: Outcome, timing: { queueMs: number; durationMs: number }): void {
    const out = this.#out;
    writeAscii(out, ']');
    if (outcome.truncated) writeAscii(out, ',"truncated":true');
    if (this.#meta) this.#writeMeta(outcome, timing);
    writeAscii(out, '}');
  }

  #writeMeta(outcome: Outcome, { queueMs, durationMs }: { queueMs: number; durationMs: number }): void {
    const out = this.#out;
    writeAscii(out, ',"meta":{"columns":[');
    for (const [i, { type }] of (this.#columns ?? []).entries()) {
      writeAscii(out, i === 0 ? '{"name":' : ',{"name":');
      writeText(out, this.#layout.names[i] as string);
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

  drip(): void {
    this.#holds = false;
    if (!this.#ended) this.#flush();
  }

  #flush(): void {
    if (this.#out.position === 0) return;
    const large = this.#out.position >= this.#target;
    if (large) {
      const full = this.#turns.considerate ? chunkBytes.considerate : chunkBytes.full;
      this.#target = Math.min(this.#target * 2, full);
    }
    const bytes = this.#out.take(large ? this.#target + 4_096 : 1_024);
    for (let at = 0; at < bytes.length; at += chunkBytes.max) {
      const last = this.#ended && at + chunkBytes.max >= bytes.length;
      if (!this.#reply.chunk(bytes.subarray(at, at + chunkBytes.max), last)) this.#behind = true;
    }
    const isFirst = this.#flushedBytes === 0;
    this.#flushedBytes += bytes.length;
    // Counted once, they took a third more of the processor.
    noteBuffers(2 * bytes.length);
    if (this.#ended) return;
    if (isFirst) this.#letGo();
    else if (this.#flushedBytes > largeBytes) this.#takeTurns();
  }

  /** The first bytes leave before more are read, of which a fast source has milliseconds' worth. */
  #letGo(): void {
    this.#waiting = true;
    const readOn = () => {
      if (this.#ended) return;
      this.#waiting = false;
      if (!this.#behind) this.#listener();
    };
    setImmediate(() => setImmediate(readOn));
  }

  #takeTurns(): void {
    if (this.#behind) this.#turns.leave(this);
    else {
      this.#waiting = true;
      if (this.#turns.take(this)) this.#turns.pass(this);
    }
  }
}
