/** Decides when the bytes of an answer are sent: in chunks that grow, by a timer if the source is slow, and in turns. */

import type { ExecutionReply } from '@datahub/executor-session/executor';
import { noteBuffers, noteOldBuffers, requireHeap } from '@datahub/service-kit/heap';
import type { HeldBytes } from '@datahub/service-kit/held-bytes';
import { freeBuffer } from '../network/large-buffers.ts';
import type { FairScheduler, Flow } from './fair-scheduler.ts';
import { ByteWriter } from './values/primitives.ts';

/**
 * A chunk is sent once it has its target size. The target grows from `first`, so that the first bytes are sent soon, to
 * nearly `max`, which a message holds at most, so that each byte costs little, or to `shared` in small-first mode.
 */
const chunkBytes = { first: 16_384, shared: 32_768, max: 262_144 };

/** How far the last write may exceed the target without a larger buffer: a row, or rows that are compressed at once. */
const slackBytes = { row: 16_384, block: 65_536 };

/** A turn ends after so many values, too: a NULL has hardly any bytes, but takes as much CPU as another value. */
const turnCells = 32_768;

/** Larger answers take turns with each other. A larger row is passed on only as its reader takes it. */
const largeBytes = 1_048_576;

/** Takes the place of the reply after the end: the flush timer may still refer to the output, and not to its request. */
const endedReply: ExecutionReply = { chunk: () => true, onDrain: () => {} };

/** What the answers of a process share. */
export interface OutputSchedule {
  scheduler: FairScheduler;
  timer: FlushTimer;
  held: HeldBytes;
}

/** Collects the bytes of one answer and sends them in chunks. */
export class ChunkedOutput implements Flow {
  readonly accountId: string;
  protected readonly out = new ByteWriter(1_024);
  readonly #scheduler: FairScheduler;
  readonly #timer: FlushTimer;
  readonly #heldBytes: HeldBytes;
  /** After so many bytes it takes turns. */
  readonly #freeBytes: number;
  readonly #slackBytes: number;
  #reply: ExecutionReply;
  #target = chunkBytes.first;
  #sentBytes = 0;
  /** Since the last turn. */
  #cells = 0;
  #isScheduledToFlush = false;
  /** True once it has ended a turn. */
  #takesTurns = false;
  #isReaderBehind = false;
  #isPaused = false;
  #hasEnded = false;
  /** True if what is left is sent with the end. */
  #waitsForEnd = false;
  #listener: () => void = () => {};
  /** What the timer met, where nobody would catch it. The next row throws it. */
  #failure: unknown;
  /** Large rows that wait for their reader, and what is sent after them. */
  #held: Buffer[] = [];
  #onSent: () => void = () => {};

  /** `compresses`: a few bytes of it have many of the source. */
  constructor(
    {
      reply,
      accountId = '',
      compresses,
    }: { reply: ExecutionReply; accountId?: string | undefined; compresses: boolean },
    { scheduler, timer, held }: OutputSchedule,
  ) {
    this.#scheduler = scheduler;
    this.#timer = timer;
    this.#heldBytes = held;
    this.accountId = accountId;
    this.#freeBytes = compresses ? 0 : largeBytes;
    this.#slackBytes = compresses ? slackBytes.block : slackBytes.row;
    this.#reply = reply;
    reply.onDrain(() => {
      this.#isReaderBehind = false;
      const [waited] = this.#held;
      if (waited !== undefined) {
        this.#passHeld();
        if (this.#held[0]?.buffer !== waited.buffer) noteOldBuffers(waited.buffer.byteLength);
      }
      if (this.#held.length > 0 || this.#hasEnded) return;
      if (waited !== undefined) this.#flushSoon();
      this.#isPaused = this.#isLarge() && !this.#scheduler.enter(this);
      if (!this.#isPaused) this.#listener();
    });
  }

  get full(): boolean {
    return this.#isReaderBehind || this.#isPaused;
  }

  onDrain(listener: () => void): void {
    this.#listener = listener;
  }

  resume(): void {
    this.#isPaused = false;
    this.#listener();
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** Reads on in that turn. */
  protected readOnIn(turn: Promise<void>): void {
    this.#isPaused = true;
    void turn.then(() => this.#readOn());
  }

  flushOnTime(): void {
    this.#isScheduledToFlush = false;
    if (this.#hasEnded || this.#waitsForEnd || this.#held.length > 0) return;
    try {
      this.#flush();
    } catch (err) {
      this.#failure = err;
    }
  }

  #flushSoon(): void {
    if (this.#isScheduledToFlush) return;
    this.#isScheduledToFlush = true;
    this.#timer.add(this);
  }

  /** To be called after each row, which has so many values. */
  protected rowWritten(cells: number): void {
    if (this.#failure !== undefined) throw this.#failure;
    this.#cells += cells + this.out.elements;
    this.out.elements = 0;
    if (this.out.position >= this.#target) this.#flush();
    else this.#flushSoon();
    if (this.#cells >= turnCells && !this.#hasEnded) this.#endTurn();
  }

  rowsRead(): void {
    this.#waitsForEnd = true;
  }

  /** No rows follow; `sendLast` or `abandon` must. */
  protected rowsEnded(): void {
    this.#hasEnded = true;
    this.#scheduler.leave(this);
    if (this.#sentBytes === 0) this.#scheduler.noteSmall();
  }

  /** The promise, if there is one, resolves when the reader has taken the last large row, or with `abandon`. */
  protected sendLast(): Promise<void> | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    this.#flush();
    if (this.#held.length > 0)
      return new Promise((resolve) => {
        this.#onSent = resolve;
      });
    this.#reply = endedReply;
    return undefined;
  }

  abandon(): void {
    this.#hasEnded = true;
    this.#scheduler.leave(this);
    freeBuffer(this.out.take(0));
    this.#reply = endedReply;
    for (const bytes of this.#held.splice(0)) {
      this.#heldBytes.release(this.accountId, bytes.length);
      // What was sent of it may not have left yet.
      if (bytes.byteOffset > 0) noteOldBuffers(bytes.buffer.byteLength);
      else freeBuffer(bytes);
    }
    this.#onSent();
  }

  #flush(): void {
    if (this.out.position === 0) return;
    const isLarge = this.out.position >= this.#target;
    if (isLarge) {
      requireHeap('grow');
      const full = this.#scheduler.smallFirst ? chunkBytes.shared : chunkBytes.max - this.#slackBytes;
      this.#target = Math.min(this.#target * 2, full);
    }
    const bytes = this.out.take(isLarge ? this.#target + this.#slackBytes : 1_024);
    if (bytes.length > largeBytes || this.#held.length > 0) this.#hold(bytes);
    else {
      for (let at = 0; at < bytes.length; at += chunkBytes.max) {
        const last = this.#hasEnded && at + chunkBytes.max >= bytes.length;
        if (!this.#reply.chunk(bytes.subarray(at, at + chunkBytes.max), last)) this.#isReaderBehind = true;
      }
    }
    const isFirst = this.#sentBytes === 0;
    this.#sentBytes += bytes.length;
    // Counting these bytes once instead of twice takes a third more CPU.
    noteBuffers(2 * bytes.length);
    if (this.#hasEnded) return;
    if (isFirst && !this.#takesTurns) this.#pauseAfterFirst();
    else if (this.#isLarge()) this.#endTurn();
  }

  #hold(bytes: Buffer): void {
    try {
      this.#heldBytes.hold(this.accountId, bytes.length);
    } catch (err) {
      freeBuffer(bytes);
      throw err;
    }
    this.#held.push(bytes);
    this.#passHeld();
  }

  #passHeld(): void {
    for (let [bytes] = this.#held; bytes !== undefined && !this.#isReaderBehind; [bytes] = this.#held) {
      const piece = bytes.subarray(0, chunkBytes.max);
      if (piece.length === bytes.length) this.#held.shift();
      else this.#held[0] = bytes.subarray(piece.length);
      this.#heldBytes.release(this.accountId, piece.length);
      const last = this.#hasEnded && this.#held.length === 0;
      if (!this.#reply.chunk(piece, last)) this.#isReaderBehind = true;
    }
    if (this.#held.length === 0) this.#onSent();
  }

  /** Lets the first bytes leave the process before more are read, of which a fast source has many. */
  #pauseAfterFirst(): void {
    this.#isPaused = true;
    this.#cells = 0;
    setImmediate(() => setImmediate(() => this.#readOn()));
  }

  #readOn(): void {
    if (this.#hasEnded) return;
    this.#isPaused = false;
    if (!this.#isReaderBehind) this.#listener();
  }

  #isLarge(): boolean {
    return this.#takesTurns || this.#sentBytes > this.#freeBytes;
  }

  #endTurn(): void {
    this.#takesTurns = true;
    this.#cells = 0;
    this.#isPaused ||= !this.#isReaderBehind;
    if (this.#isReaderBehind) this.#scheduler.leave(this);
    else if (this.#scheduler.enter(this)) this.#scheduler.yieldTurn(this);
  }
}

const flushMs = 20;

/**
 * Sends rows that do not fill a chunk after `flushMs` at most and half of that at least, by when a small answer is
 * complete. One timer for all answers: a timer for each would cost more than sending its bytes.
 */
export class FlushTimer {
  #added: ChunkedOutput[] = [];
  #due: ChunkedOutput[] = [];
  #isRunning = false;

  add(output: ChunkedOutput): void {
    this.#added.push(output);
    if (this.#isRunning) return;
    this.#isRunning = true;
    setTimeout(() => this.#tick(), flushMs / 2);
  }

  #tick(): void {
    for (const output of this.#due) output.flushOnTime();
    this.#due = this.#added;
    this.#added = [];
    this.#isRunning = this.#due.length > 0;
    if (this.#isRunning) setTimeout(() => this.#tick(), flushMs / 2);
  }
}
