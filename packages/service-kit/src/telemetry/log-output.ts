/**
 * Where the lines of the log go: to standard output. It may take none for a while, on a full disk or with a reader that
 * stalls. Then lines wait, in bounded memory, and the process goes on.
 */

import { write, writeSync } from 'node:fs';

export interface LogOutputOptions {
  /** Returns the line that says how many lines are missing. */
  describeLost(lines: number): string;
  waitingBytesMax?: number;
  retryMs?: number;
}

const standardOutput = 1;
const newline = 10;
/** How long the end of the process waits for an output that is busy. */
const busyAtEndMs = 1_000;
const pauseMs = 10;

export class LogOutput {
  readonly #options: Required<LogOutputOptions>;
  /** Of the first one, a part may have been written. */
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #state: 'idle' | 'writing' | 'pausing' | 'closed' = 'idle';
  #lostLines = 0;

  constructor(options: LogOutputOptions) {
    this.#options = { waitingBytesMax: 8_388_608, retryMs: 250, ...options };
  }

  /** Takes whole lines. The caller must not change the bytes later. */
  write(lines: Uint8Array): void {
    if (this.#waitingBytes + lines.length > this.#options.waitingBytesMax)
      this.#lostLines += lines.reduce((count, byte) => count + Number(byte === newline), 0);
    else this.#add(lines);
    this.#next();
  }

  /** Writes what waits, for the end of the process. What is being written stays with the system. */
  endSync(): void {
    const rest = this.#state === 'writing' ? this.#waiting.slice(1) : this.#waiting;
    this.#state = 'closed';
    writeAllSync(Buffer.concat(rest));
  }

  #add(lines: Uint8Array): void {
    if (this.#state === 'closed') return;
    // The lines may be a small part of a large buffer.
    this.#waiting.push(this.#waiting.length === 0 ? lines : Uint8Array.prototype.slice.call(lines));
    this.#waitingBytes += lines.length;
  }

  #next(): void {
    if (this.#state !== 'idle' || this.#waiting.length === 0) return;
    if (this.#waiting.length > 1) this.#waiting = [Buffer.concat(this.#waiting)];
    this.#state = 'writing';
    write(standardOutput, this.#waiting[0] as Uint8Array, (err, written) => this.#wrote(err, written));
  }

  #wrote(err: NodeJS.ErrnoException | null, written: number): void {
    if (this.#state === 'closed') return;
    this.#state = 'idle';
    if (err?.code === 'EPIPE') {
      // Nobody reads it any more.
      this.#state = 'closed';
      this.#waiting = [];
      return;
    }
    if (err !== null) {
      this.#state = 'pausing';
      setTimeout(() => this.#goOn(), this.#options.retryMs).unref();
      return;
    }
    this.#take(written);
    this.#next();
  }

  #goOn(): void {
    if (this.#state !== 'pausing') return;
    this.#state = 'idle';
    this.#next();
  }

  #take(written: number): void {
    const rest = this.#waiting[0]?.subarray(written) ?? new Uint8Array();
    if (rest.length === 0) this.#waiting.shift();
    else this.#waiting[0] = rest;
    this.#waitingBytes -= written;
    if (this.#waiting.length > 0 || this.#lostLines === 0) return;
    this.#add(Buffer.from(this.#options.describeLost(this.#lostLines)));
    this.#lostLines = 0;
  }
}

/** Writes to standard output as far as it takes it. */
export function writeAllSync(bytes: Uint8Array): void {
  const endAt = performance.now() + busyAtEndMs;
  let rest = bytes;
  while (rest.length > 0)
    try {
      rest = rest.subarray(writeSync(standardOutput, rest));
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EAGAIN' || performance.now() > endAt) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
}
