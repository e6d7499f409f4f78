/** Collects the first rows of an execution, up to a number of bytes. */

import type { CallStop } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { RecordSplitter } from '../rows/records.ts';
import type { WorkingReply } from '../rows/stoppable.ts';

/** Receives an execution's rows in NDJSON, and keeps their texts, which have all digits of numbers. */
export class BoundedRows implements WorkingReply {
  readonly rows: string[] = [];
  /** True if there are more rows. */
  isTruncated = false;
  /** The reason of the stop if the rows are full. */
  readonly full = new HubError('CANCELLED', 'The result of the tool is full.');
  readonly #stop: CallStop | undefined;
  readonly #bytesMax: number;
  readonly #splitter: RecordSplitter;
  #bytes = 0;
  /** The last row, which may be the mark of truncation. */
  #last: string | undefined;

  /** Without `stop` the execution continues and further rows are dropped, so that a write is not interrupted. */
  constructor({ bytesMax, stop }: { bytesMax: number; stop: CallStop | undefined }) {
    this.#bytesMax = bytesMax;
    this.#stop = stop;
    this.#splitter = new RecordSplitter({ isCsv: false, bytesMax });
  }

  chunk(bytes: Buffer): boolean {
    if (this.#isFull) return true;
    for (const { text } of this.#splitter.push(bytes)) {
      this.#addLast();
      this.#last = text;
      if (text === undefined) this.#close();
      if (this.#isFull) break;
    }
    return true;
  }

  /** Rows are never refused, so there is nothing to wait for. */
  onDrain(): void {}

  truncated(): void {
    this.isTruncated = true;
  }

  async finish(): Promise<void> {
    if (!this.isTruncated) this.#addLast();
  }

  get #isFull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  #addLast(): void {
    if (this.#last === undefined) return;
    // The result is a string in a JSON message, where quotes take two bytes.
    this.#bytes += Buffer.byteLength(JSON.stringify(this.#last)) + 1;
    if (this.#isFull) this.#close();
    else this.rows.push(this.#last);
    this.#last = undefined;
  }

  #close(): void {
    this.#bytes = Number.POSITIVE_INFINITY;
    this.isTruncated = true;
    this.#stop?.abort(this.full);
  }
}
