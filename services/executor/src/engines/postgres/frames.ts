/** Cuts the server's byte stream into messages; a message that is not whole yet waits for its rest. */

import { rowTooLargeError } from '../bounds.ts';

/** `body` is valid during the call only. */
export type OnFrame = (type: number, source: Buffer, start: number, end: number) => void;

const dataRow = 0x44;

export class FrameReader {
  /** Of one message. */
  bytesMax: number;
  #rest: Buffer | undefined;
  /** Bytes that the message at the start of `#rest` needs in all; 0 when its header is not whole. */
  #needed = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Throws for a length that cannot be, and for one beyond the bound as soon as it is announced. */
  push(chunk: Buffer, onFrame: OnFrame): void {
    const source = this.#join(chunk);
    if (source === undefined) return;
    let at = 0;
    while (source.length - at >= 5) {
      const length = source.readInt32BE(at + 1);
      if (length < 4 || length > this.bytesMax) throw this.#badLength(source[at] as number, length);
      const end = at + 1 + length;
      if (end > source.length) {
        this.#needed = end - at;
        break;
      }
      onFrame(source[at] as number, source, at + 5, end);
      at = end;
    }
    if (at < source.length) this.#rest = source.subarray(at);
  }

  #badLength(type: number, length: number): Error {
    if (type === dataRow && length > 0) return rowTooLargeError(this.bytesMax);
    return new RangeError('The server sent a message of an impossible length.');
  }

  /** A long message is put together once, when its last bytes have come. */
  #join(chunk: Buffer): Buffer | undefined {
    if (this.#rest === undefined) return chunk;
    this.#parts.push(chunk);
    this.#partBytes += chunk.length;
    if (this.#needed > this.#rest.length + this.#partBytes) return undefined;
    const whole = Buffer.concat([this.#rest, ...this.#parts]);
    this.#rest = undefined;
    this.#needed = 0;
    this.#parts = [];
    this.#partBytes = 0;
    return whole;
  }
}
