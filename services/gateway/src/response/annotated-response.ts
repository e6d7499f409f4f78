/**
 * Adds labels to the rows of an execution on their way to the client. The classifiers read rows in batches, and memory
 * holds a few batches. If the client or a classifier is slow, the executor waits. If a prediction fails, the executor
 * cancels the statement.
 */

import type { CsvOptions } from '@datahub/contract/formats';
import type { Cut, ExecutionReply } from '@datahub/executor-session/executor';
import { fromProtoFormat } from '@datahub/executor-session/formats';
import { FrameReader, textColumns } from '@datahub/executor-session/row-frames';
import type { Annotation, Format } from '@datahub/proto/executor/v1/executor';
import { onAbort } from '@datahub/service-kit/call/abort';
import type { CallStop } from '@datahub/service-kit/call/call';
import { noteBuffers } from '@datahub/service-kit/heap';
import { validationError } from '../http/request-error.ts';
import { AnnotationBatch } from './annotation-batch.ts';
import { ArrowLabels, type Label } from './arrow-labels.ts';

export interface AnnotatedReplyOptions {
  format: Format;
  csv: CsvOptions | undefined;
  members: readonly Annotation[];
  /** Resolves to one label for each text, from the classifier of the annotation with this index. */
  predict(index: number, texts: string[]): Promise<Label[]>;
  /** Stops the execution and the predictions. */
  stop: CallStop;
}

/** Bytes of rows in memory before the executor has to wait. */
const pendingBytesMax = 1_048_576;
/** One batch can be on its way to the classifier while it predicts the other. */
const batchesInFlightMax = 2;
/** A smaller answer is sent in one piece. */
const firstBytes = 16_384;

export class AnnotatedResponse implements ExecutionReply {
  readonly #reply: ExecutionReply;
  readonly #options: AnnotatedReplyOptions;
  readonly #reader: FrameReader;
  readonly #arrow: ArrowLabels;
  #batch = new AnnotationBatch();
  /** Complete batches whose prediction has not started. */
  readonly #waiting: AnnotationBatch[] = [];
  #inFlight = 0;
  #pendingBytes = 0;
  #isBehind = false;
  #hasEnded = false;
  /** Settles when all batches so far are written. */
  #written: Promise<void> = Promise.resolve();
  #held: Buffer[] = [];
  #heldBytes = 0;
  #onDrain: () => void = () => {};
  #wake: () => void = () => {};

  constructor(reply: ExecutionReply, options: AnnotatedReplyOptions) {
    this.#reply = reply;
    this.#options = options;
    this.#arrow = new ArrowLabels(options.members.length);
    const columns = textColumns(options.members);
    const places = options.members.map(({ text }) => columns.indexOf(text));
    this.#reader = new FrameReader(columns.length, {
      bytes: (content) => this.#add(content),
      row: (content, texts) =>
        this.#add(
          content,
          places.map((place) => texts[place] ?? null),
        ),
      columns: (names) => this.#requireFitting(names, true),
      members: (names) => this.#requireFitting(names, false),
    });
    reply.onDrain(() => this.#wake());
    onAbort(options.stop, () => this.#wake());
  }

  chunk(bytes: Buffer, last = false): boolean {
    const { stop } = this.#options;
    this.#hasEnded ||= last;
    if (stop.aborted) return true;
    try {
      this.#reader.push(bytes);
    } catch (err) {
      stop.abort(err);
      return true;
    }
    if (this.#isIdle && this.#batch.hasRows) this.#close();
    this.#start();
    this.#isBehind = this.#pendingBytes >= pendingBytesMax;
    return !this.#isBehind;
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  truncated(cut: Cut): void {
    this.#reply.truncated?.(cut);
  }

  unknownContext(names: string): void {
    this.#reply.unknownContext?.(names);
  }

  timings(metrics: string): void {
    this.#reply.timings?.(metrics);
  }

  /** Resolves when all rows are written. If the execution was stopped, rejects with the reason. */
  async finish(): Promise<void> {
    this.#hasEnded = true;
    this.#close();
    this.#start();
    let seen: Promise<void> | undefined;
    // Writing a batch can start the next one.
    while (seen !== this.#written) {
      seen = this.#written;
      await seen;
    }
    if (this.#options.stop.aborted) throw this.#options.stop.reason;
    this.#reply.chunk(this.#takeHeld(), true);
  }

  get #isIdle(): boolean {
    return this.#inFlight === 0 && this.#waiting.length === 0;
  }

  #add(content: Buffer, texts?: (string | null)[]): void {
    const before = this.#batch.bytes;
    this.#batch.add(content, texts);
    this.#pendingBytes += this.#batch.bytes - before;
    if (this.#batch.isFull) this.#close();
  }

  #close(): void {
    this.#waiting.push(this.#batch);
    this.#batch = new AnnotationBatch();
  }

  #start(): void {
    while (this.#inFlight < batchesInFlightMax && !this.#options.stop.aborted) {
      const batch = this.#waiting.shift();
      if (batch === undefined) return;
      this.#inFlight++;
      const labels = this.#predict(batch);
      // The rejection is handled after earlier batches are written. Without this, Node would report it as unhandled.
      labels.catch(() => {});
      this.#written = this.#written.then(() => this.#write(batch, labels));
    }
  }

  #predict(batch: AnnotationBatch): Promise<Label[][]> {
    return Promise.all(
      this.#options.members.map((_, i) => {
        const texts = batch.textsOf(i);
        return texts.length === 0 ? [] : this.#options.predict(i, texts);
      }),
    );
  }

  async #write(batch: AnnotationBatch, labels: Promise<Label[][]>): Promise<void> {
    const { format, members, stop, csv } = this.#options;
    if (stop.aborted) return;
    try {
      const bytes = batch.toBytes(fromProtoFormat(format), {
        members,
        labels: await labels,
        csv,
        arrow: this.#arrow,
      });
      this.#held.push(bytes);
      this.#heldBytes += bytes.length;
      this.#inFlight--;
      if (this.#isIdle && this.#batch.hasRows) this.#close();
      this.#start();
      await this.#send();
      this.#pendingBytes -= batch.bytes;
      if (!this.#isBehind || this.#pendingBytes >= pendingBytesMax) return;
      this.#isBehind = false;
      this.#onDrain();
    } catch (err) {
      stop.abort(err);
    }
  }

  /** Sends the written bytes, unless the answer may still be small or more bytes are about to be written. */
  async #send(): Promise<void> {
    const isSmall = this.#heldBytes < firstBytes;
    if (isSmall && (this.#hasEnded || !this.#isIdle)) return;
    if (this.#reply.chunk(this.#takeHeld()) || this.#options.stop.aborted) return;
    await new Promise<void>((wake) => {
      this.#wake = wake;
    });
  }

  #takeHeld(): Buffer {
    const bytes = Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    noteBuffers(bytes.length);
    return bytes;
  }

  /** Throws VALIDATION if a name is taken by a column, or if a table has no such text column. Documents can lack it. */
  #requireFitting(names: string[], hasColumns: boolean): void {
    const known = new Set(names);
    const faults = this.#options.members.flatMap(({ text, as }, i) => {
      const pointer = `/options/annotate/${i}`;
      const taken = [as, `${as}Confidence`].filter((name) => known.has(name));
      return [
        ...taken.map((name) => ({
          pointer: `${pointer}/as`,
          detail: `would add a second column named ${name}`,
        })),
        ...(hasColumns && !known.has(text)
          ? [{ pointer: `${pointer}/text`, detail: 'is not a column of the result' }]
          : []),
      ];
    });
    if (faults.length > 0) throw validationError(faults);
  }
}
