/** Writes the rows of an engine as one response in the format of the caller. */

import { type FormatName, formats } from '@datahub/contract/formats';
import { frameKinds } from '@datahub/executor-session/row-frames';
import { HeldBytes } from '@datahub/service-kit/held-bytes';
import type { ColumnKind } from '../ports/column-kind.ts';
import type { Outcome } from '../ports/engine.ts';
import type { SinkColumn } from '../ports/row-sink.ts';
import { ChunkedOutput, FlushTimer, type OutputSchedule } from './chunked-output.ts';
import { turnForResult } from './column-turns.ts';
import { FairScheduler } from './fair-scheduler.ts';
import type { DocumentEncoder, Formats, RowEncoder } from './formats/format.ts';
import { createFormats } from './formats/index.ts';
import { addedColumns, FrameWriter } from './frame-writer.ts';
import { NotNullWriter } from './not-null.ts';
import type { ResponseOptions, ResponseWriter, Timing } from './response.ts';

/** Creates a writer for a single response. */
export function createResponseWriter(options: ResponseOptions): ResponseWriter {
  return createResponseWriters()(options);
}

/** Returns a function that creates writers. They share what formats derive from columns. */
export function createResponseWriters(held = new HeldBytes()): (options: ResponseOptions) => ResponseWriter {
  const shared: Shared = {
    scheduler: new FairScheduler(),
    timer: new FlushTimer(),
    held,
    formats: createFormats(),
  };
  return (options) => {
    const writer = new RowWriter(options, shared);
    const { notNull = [] } = options;
    return notNull.length === 0 ? writer : new NotNullWriter(writer, notNull);
  };
}

interface Shared extends OutputSchedule {
  formats: Formats;
}

class RowWriter extends ChunkedOutput implements ResponseWriter {
  readonly takesDocuments: boolean;
  readonly takesBinary: boolean;
  rowCount = 0;
  truncated = false;
  readonly #rowsMax: number;
  readonly #encoder: RowEncoder & Partial<DocumentEncoder>;
  #columns: readonly SinkColumn[] | undefined;
  /** Undefined unless the receiver annotates the rows. */
  readonly #frames: FrameWriter | undefined;

  constructor(
    {
      format,
      numbers,
      csv,
      meta,
      maxRows,
      reply,
      accountId,
      annotations,
      allResults = false,
      notNull = [],
    }: ResponseOptions,
    shared: Shared,
  ) {
    super({ reply, accountId, compresses: format === 'xlsx' }, shared);
    this.takesDocuments = formats[format].rows === 'documents';
    // The receiver reads texts of any column.
    this.takesBinary = formats[format].rows === 'typed columns' && annotations === undefined;
    this.#rowsMax = maxRows ?? Number.POSITIVE_INFINITY;
    this.#frames = annotations && new FrameWriter(annotations, this.out, { format, numbers });
    const added = annotations === undefined ? [] : addedColumns(annotations);
    const open: Formats[FormatName] = shared.formats[format];
    this.#encoder = open(this.out, { numbers, csv, meta, allResults, added, notNull });
  }

  begin(columns: readonly SinkColumn[]): void {
    const isFurther = this.#columns !== undefined;
    this.#columns = columns;
    const frame = this.#frames?.open(frameKinds.bytes) ?? 0;
    this.#encoder.begin(columns);
    this.#frames?.close(frame);
    this.#frames?.begin(columns);
    // The head of the first result waits for a row: until then, a failure is answered instead.
    if (isFurther) this.rowWritten(0);
    else {
      const turn = turnForResult(columns.length);
      if (turn !== undefined) this.readOnIn(turn);
    }
  }

  row(source: Buffer, offsets: Int32Array): void {
    if (this.#counts()) this.#write(source, offsets);
  }

  #write(source: Buffer, offsets: Int32Array): void {
    this.#frames?.nameColumns();
    const frame = this.#frames?.open(frameKinds.row) ?? 0;
    this.#encoder.row(source, offsets);
    this.#frames?.closeRow(frame, source, offsets);
    this.rowWritten(offsets.length >> 1);
  }

  document(source: Buffer, start: number): void {
    if (!this.#counts()) return;
    const frame = this.#frames?.open(frameKinds.row) ?? 0;
    this.#encoder.document?.(source, start);
    this.#frames?.closeDocument(frame, source, start);
    this.rowWritten(1);
  }

  /** False for a row beyond the limit. */
  #counts(): boolean {
    if (this.rowCount >= this.#rowsMax) this.truncated = true;
    else this.rowCount++;
    return !this.truncated;
  }

  turnToFinish(): Promise<void> | undefined {
    return turnForResult(this.#columns?.length ?? 0);
  }

  finish(outcome: Outcome, { queueMs, durationMs }: Timing): Promise<void> | undefined {
    this.rowsEnded();
    if (this.#columns === undefined) this.#writeChanges(outcome);
    if (this.rowCount === 0) this.#frames?.nameColumns();
    const frame = this.#frames?.open(frameKinds.bytes) ?? 0;
    const { rowCount } = this;
    const { moreResults = false } = outcome;
    const truncated = this.truncated || moreResults;
    this.#encoder.end({ rowCount, truncated, moreResults, queueMs, durationMs });
    this.#frames?.close(frame);
    return this.sendLast();
  }

  /** The response to a statement without a row set is one object, which is no row of a limit. */
  #writeChanges({ affectedRows = 0, insertId }: Outcome): void {
    const values = [toWords(affectedRows)];
    const columns = columnsOfChanges(insertId);
    const isDocument = columns === insertOfDocument;
    if (insertId !== undefined) values.push(isDocument ? Buffer.from(insertId) : toWords(insertId));
    this.begin(columns);
    const offsets = new Int32Array(values.length * 2);
    let at = 0;
    for (const [i, value] of values.entries()) {
      offsets[2 * i] = at;
      at += value.length;
      offsets[2 * i + 1] = at;
    }
    this.#write(Buffer.concat(values), offsets);
  }
}

const integer = (isUnsigned: boolean): ColumnKind => ({
  is: 'integer',
  bits: 64,
  isUnsigned,
  bytes: 'little-endian',
});

function toWords(value: number | string): Buffer {
  const words = Buffer.alloc(8);
  words.writeBigUInt64LE(BigInt.asUintN(64, BigInt(value)));
  return words;
}

/** The columns of a response without a row set. Formats keep what they derive from an array of columns. */
const changes: readonly SinkColumn[] = [{ name: 'affectedRows', type: 'bigint', kind: integer(false) }];
const insert = [...changes, { name: 'insertId', type: 'bigint', kind: integer(true) }];
const insertOfNegative = [...changes, { name: 'insertId', type: 'bigint', kind: integer(false) }];
/** MongoDB's id has hexadecimal digits, more than an integer of 64 bits has decimal ones. */
const insertOfDocument: readonly SinkColumn[] = [
  ...changes,
  { name: 'insertId', type: 'objectId', kind: { is: 'ascii' } },
];
const decimalDigitsMax = 20;

function columnsOfChanges(insertId: string | undefined): readonly SinkColumn[] {
  if (insertId === undefined) return changes;
  if (insertId.length > decimalDigitsMax) return insertOfDocument;
  return insertId.startsWith('-') ? insertOfNegative : insert;
}
