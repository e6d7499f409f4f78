/**
 * Reads the rows of an execution in batches. One batch is used at a time, and the executor waits while there are enough
 * rows in memory.
 */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { CallStop } from '@datahub/service-kit/call/abort-signal';
import { type RawRecord, RecordSplitter } from './records.ts';

export interface Row {
  /** From 1. */
  number: number;
  /** By the names of the columns; a string if the row cannot be read, which says why. */
  values: Record<string, unknown> | string;
}

export interface RowReaderOptions {
  use(rows: Row[]): Promise<void>;
  /** Stops the execution, with the error if `use` rejects. */
  stop: CallStop;
}

const pendingBytesMax = 1_048_576;
/** The learner and the summarizer read less of a text. */
const rowBytesMax = 1_048_576;
const rowsMax = 500;

/** The reply to an execution in NDJSON. */
export class RowReader implements ExecutionReply {
  /** A limit cut the rows. */
  isTruncated = false;
  readonly #options: RowReaderOptions;
  readonly #splitter = new RecordSplitter({ isCsv: false, bytesMax: rowBytesMax });
  #records: RawRecord[] = [];
  #pendingBytes = 0;
  #isBehind = false;
  #isUsing = false;
  /** Settles when `use` has returned. */
  #used: Promise<void> = Promise.resolve();
  #onDrain: () => void = () => {};

  constructor(options: RowReaderOptions) {
    this.#options = options;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#options.stop.aborted) return true;
    this.#pendingBytes += bytes.length;
    for (const record of this.#splitter.push(bytes)) this.#records.push(record);
    if (!this.#isUsing) this.#used = this.#useAll(1);
    this.#isBehind = this.#pendingBytes >= pendingBytesMax;
    return !this.#isBehind;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  truncated(): void {
    this.isTruncated = true;
  }

  /** Resolves when all rows are used. Rejects with the reason if the execution was stopped. */
  async finish(): Promise<void> {
    await this.#used;
    // The last line of truncated NDJSON is no row.
    if (this.isTruncated) this.#records.pop();
    await this.#useAll(0);
    if (this.#options.stop.aborted) throw this.#options.stop.reason;
  }

  /** Leaves `kept` records, because the last one may be no row. */
  async #useAll(kept: number): Promise<void> {
    const { use, stop } = this.#options;
    this.#isUsing = true;
    try {
      while (this.#records.length > kept && !stop.aborted) {
        const rows = this.#records.splice(0, Math.min(rowsMax, this.#records.length - kept)).map(toRow);
        await use(rows);
        if (this.#records.length <= rowsMax) this.#drain();
      }
    } catch (err) {
      stop.abort(err);
    }
    this.#isUsing = false;
  }

  #drain(): void {
    this.#pendingBytes = 0;
    if (!this.#isBehind) return;
    this.#isBehind = false;
    this.#onDrain();
  }
}

function toRow({ line, text, fault }: RawRecord): Row {
  return { number: line, values: text === undefined ? (fault ?? '') : JSON.parse(text) };
}

/** A value as a text; undefined for NULL. */
export function toText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return value === undefined || value === null ? undefined : JSON.stringify(value);
}
