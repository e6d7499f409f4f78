/**
 * Reads the rows of an execution and passes them to `use` in batches, one batch at a time. While enough rows are in
 * memory, the executor waits.
 */

import { membersOf, withoutSpaces } from '@datahub/contract/json-text';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import type { CallStop } from '@datahub/service-kit/call/call';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import { type RawRecord, RecordSplitter } from './records.ts';

export interface Row {
  /** The first row has the number 1. */
  number: number;
  /** The values as JSON by column name, or the reason why the row cannot be read, as a string. */
  values: ReadonlyMap<string, string> | string;
}

export interface RowReaderOptions {
  use(rows: Row[]): Promise<void>;
  /** Stops the execution. If `use` rejects, its error is the reason. */
  stop: CallStop;
}

/** Of the rows in memory. One row may exceed it. */
const pendingBytesMax = 1_048_576;
/** What a row takes in memory beside its text. The smallest one has 3 characters. */
const recordBytes = 100;
/** A longer row is reported as faulty. The learner and the summarizer read less of a text. */
const rowBytesMax = 1_048_576;
const rowsMax = 500;
/** Of the rows that are read at once, but for the last one. */
const batchCharactersMax = 65_536;

/** Receives an execution's rows in NDJSON. */
export class RowReader implements ExecutionReply {
  /** True if a limit cut the rows. */
  isTruncated = false;
  readonly #options: RowReaderOptions;
  readonly #splitter = new RecordSplitter({ isCsv: false, bytesMax: rowBytesMax });
  readonly #endOfTurn = createLoopYield();
  #records: RawRecord[] = [];
  #pendingBytes = 0;
  #isBehind = false;
  #isUsing = false;
  /** Resolves when `use` has returned for all batches so far. */
  #used: Promise<void> = Promise.resolve();
  #onDrain: () => void = () => {};

  constructor(options: RowReaderOptions) {
    this.#options = options;
  }

  chunk(bytes: Buffer): boolean {
    if (this.#options.stop.aborted) return true;
    for (const record of this.#splitter.push(bytes)) {
      this.#records.push(record);
      this.#pendingBytes += bytesOf(record);
    }
    if (!this.#isUsing) this.#used = this.#useAll(1);
    // A record that is kept waits for the next one. Chunks that were on their way keep the executor waiting until it drains.
    if (this.#isUsing && this.#pendingBytes >= pendingBytesMax) this.#isBehind = true;
    return !this.#isBehind;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  truncated(): void {
    this.isTruncated = true;
  }

  /** Resolves when `use` has returned for all rows. If the execution was stopped, rejects with the reason. */
  async finish(): Promise<void> {
    await this.#used;
    // The last line of truncated NDJSON says that it is truncated.
    if (this.isTruncated) this.#records.pop();
    await this.#useAll(0);
    if (this.#options.stop.aborted) throw this.#options.stop.reason;
  }

  /** Leaves the last `kept` records, because the last one may be the mark of truncation. */
  async #useAll(kept: number): Promise<void> {
    const { use, stop } = this.#options;
    this.#isUsing = true;
    try {
      while (this.#records.length > kept && !stop.aborted) {
        const records = this.#records.splice(0, this.#countOfBatch(kept));
        await use(records.map(toRow));
        await this.#endOfTurn();
        for (const record of records) this.#pendingBytes -= bytesOf(record);
        if (this.#pendingBytes <= pendingBytesMax / 2) this.#drain();
      }
    } catch (err) {
      stop.abort(err);
    }
    this.#isUsing = false;
    this.#drain();
  }

  #countOfBatch(kept: number): number {
    const max = Math.min(rowsMax, this.#records.length - kept);
    let count = 0;
    for (let characters = 0; count < max && characters < batchCharactersMax; count++)
      characters += this.#records[count]?.text?.length ?? 0;
    return count;
  }

  #drain(): void {
    if (!this.#isBehind) return;
    this.#isBehind = false;
    this.#onDrain();
  }
}

const bytesOf = ({ text }: RawRecord): number => recordBytes + (text?.length ?? 0);

/** Values stay JSON: most columns are not read, and two ids can differ in digits that a double does not have. */
function toRow({ line, text, fault }: RawRecord): Row {
  return { number: line, values: text === undefined ? (fault ?? '') : membersOf(text) };
}

/** Converts a value of a row to text: a string unchanged, another value as JSON with all digits, NULL as undefined. */
export function toText(json = 'null'): string | undefined {
  if (json.startsWith('"')) return JSON.parse(json) as string;
  return json === 'null' ? undefined : withoutSpaces(json);
}
