/** Cuts the server's byte stream into messages; a message that is not whole yet waits for its rest. */

import { Carry } from '../../network/shared-read-buffer.ts';
import { rowTooLargeError } from '../shared/bounds.ts';

/** `body` is valid during the call only. */
export type OnFrame = (type: number, source: Buffer, start: number, end: number) => void;

const dataRow = 0x44;

export class FrameReader {
  /** Of one message. */
  bytesMax: number;
  readonly #carry = new Carry();

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax;
  }

  /** Throws for a length that cannot be, and for one beyond the bound as soon as it is announced. */
  push(bytes: Buffer, onFrame: OnFrame): void {
    const source = this.#carry.join(bytes);
    if (source === undefined) return;
    let at = 0;
    let needed = 0;
    while (source.length - at >= 5) {
      const length = source.readInt32BE(at + 1);
      if (length < 4 || length > this.bytesMax) throw this.#badLength(source[at] as number, length);
      const end = at + 1 + length;
      if (end > source.length) {
        needed = end - at;
        break;
      }
      onFrame(source[at] as number, source, at + 5, end);
      at = end;
    }
    if (at < source.length) this.#carry.keep(source, at, needed);
  }

  #badLength(type: number, length: number): Error {
    if (type === dataRow && length > 0) return rowTooLargeError(this.bytesMax);
    return new RangeError('The server sent a message of an impossible length.');
  }
}
