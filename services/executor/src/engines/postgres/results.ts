/** Reads the response to an execution: rows into the sink, the count of what was done, and what went wrong on the way. */

import { isDeepStrictEqual } from 'node:util';
import type { Outcome } from '../../engine.ts';
import type { RowSink, SinkColumn } from '../../row-sink.ts';
import { type FieldDescription, readRowDescription } from './protocol.ts';
import type { Prepared } from './statements.ts';
import { checked, encoderOf, isJson, type ServerType, typeName } from './values.ts';

export interface ResultOptions {
  prepared: Prepared;
  sink: RowSink;
  /** Filled as the response is read. */
  outcome: Outcome;
  serverTypes: ReadonlyMap<number, ServerType>;
  /** False where texts may be no UTF-8. */
  checksTexts: boolean;
  /** Commands that complete before the statement’s own. */
  commandsBefore: number;
  /** What commands must complete as, by their place counted from the statement's own, which is 0. */
  tags: Readonly<Record<number, string>>;
  rowsMax: number | undefined;
  discarding: () => boolean;
  pause: () => void;
  resume: () => void;
}

const code = (letter: string) => letter.charCodeAt(0);
const dataRow = code('D');
const commandComplete = code('C');
const portalSuspended = code('s');
const bindComplete = code('2');
const rowDescription = code('T');

/** A class, because one is made for every execution: closures and accessors of its own would cost each a third more. */
export class ResultReader {
  /** True once the sink was told its columns. */
  begun = false;
  /** True once the server took the statement and its values: from then on it may have run. */
  bound = false;
  /** True when its columns are no longer those that it was prepared with. */
  isOutdated = false;
  /** Tags that are still to be seen. */
  tagsMissing: number;
  /** Why a row could not be written; the rows after it were left. */
  failure: unknown;
  readonly #options: ResultOptions;
  #prepared: Prepared;
  #offsets: Int32Array;
  readonly #rowsMax: number;
  #completed: number;
  readonly #lastTag: number;

  constructor(options: ResultOptions) {
    this.#options = options;
    this.#prepared = options.prepared;
    const places = Object.keys(options.tags);
    this.tagsMissing = places.length;
    this.#lastTag = Number(places[0] ?? 0);
    this.#offsets = new Int32Array((options.prepared.fields?.length ?? 0) * 2);
    this.#rowsMax = options.rowsMax ?? Number.POSITIVE_INFINITY;
    this.#completed = -options.commandsBefore;
  }

  /** True once the last of the commands with a tag completed. */
  get isOver(): boolean {
    return this.#completed > this.#lastTag;
  }

  read(type: number, source: Buffer, start: number, end: number): void {
    if (type === dataRow && this.#completed === 0) {
      this.#begin();
      this.#row(source, start, end);
    } else if (type === commandComplete || type === portalSuspended) {
      if (this.#completed === 0) {
        this.#begin();
        // Rows are what is held back, and there are no more.
        this.#options.resume();
      }
      if (type === commandComplete) this.#complete(source.toString('latin1', start, end - 1));
      this.#completed++;
    } else if (type === bindComplete) {
      this.bound ||= this.#completed === 0;
    } else if (type === rowDescription && this.#completed === 0) {
      this.#describe(source.subarray(start, end));
    }
  }

  #complete(tag: string): void {
    const { outcome, tags } = this.#options;
    if (tags[this.#completed] === tag) this.tagsMissing--;
    if (this.#completed === 0) outcome.affectedRows = affectedBy(tag);
  }

  /** A table may have changed since the statement was prepared, and with it the columns. */
  #describe(body: Buffer): void {
    const fields = readRowDescription(body);
    if (isDeepStrictEqual(fields, this.#prepared.fields)) return;
    this.isOutdated = true;
    this.#prepared = { ...this.#prepared, fields, columns: {} };
    this.#offsets = new Int32Array(fields.length * 2);
  }

  #begin(): void {
    if (!this.begun) beginRows(this.#prepared, this.#options);
    this.begun = true;
  }

  #row(source: Buffer, start: number, end: number): void {
    const { sink, outcome, discarding, pause } = this.#options;
    if (outcome.rowCount >= this.#rowsMax) {
      outcome.truncated = true;
      return;
    }
    outcome.rowCount++;
    if (this.failure !== undefined || discarding()) return;
    if (findFields(source, start, this.#offsets) > end)
      throw new RangeError('A row is shorter than its fields.');
    try {
      sink.row(source, this.#offsets);
    } catch (err) {
      this.failure = err;
    }
    if (sink.full) pause();
  }
}

function beginRows(prepared: Prepared, options: ResultOptions): void {
  const { sink } = options;
  if (prepared.fields === undefined) return;
  prepared.columns[sink.numbers] ??= toColumns(prepared.fields, options);
  sink.begin(prepared.columns[sink.numbers] as SinkColumn[]);
  sink.onDrain(options.resume);
}

function toColumns(
  fields: FieldDescription[],
  { sink, serverTypes, checksTexts }: ResultOptions,
): SinkColumn[] {
  return fields.map(({ name, typeId, modifier }) => {
    const encode = encoderOf(typeId, { modifier, numbers: sink.numbers, serverTypes });
    return {
      name,
      type: typeName(typeId, serverTypes),
      encode: checksTexts ? encode : checked(encode),
      isJson: isJson(typeId),
    };
  });
}

/** The number of fields, then each with its length before it; -1 for NULL. Gives where the last one ends. */
function findFields(source: Buffer, start: number, offsets: Int32Array): number {
  let at = start + 2;
  for (let i = 0; i < offsets.length; i += 2) {
    const length = source.readInt32BE(at);
    at += 4;
    offsets[i] = length < 0 ? -1 : at;
    if (length > 0) at += length;
    offsets[i + 1] = at;
  }
  return at;
}

/** The number at the end of a command's tag; none where it counts nothing. */
function affectedBy(tag: string): number {
  return Number(/ (\d+)$/.exec(tag)?.[1] ?? 0);
}
