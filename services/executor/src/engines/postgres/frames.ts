/** Cuts the server's byte stream into messages; a message that is not whole yet waits for its rest. */

/** `body` is valid during the call only. */
export type OnFrame = (type: number, source: Buffer, start: number, end: number) => void;

/** Longer than any row the server can send. */
const frameBytesMax = 0x40000000;

export class FrameReader {
  #rest: Buffer | undefined;
  /** Bytes that the message at the start of `#rest` needs in all; 0 when its header is not whole. */
  #needed = 0;
  #parts: Buffer[] = [];
  #partBytes = 0;

  /** Throws RangeError for a length that cannot be. */
  push(chunk: Buffer, onFrame: OnFrame): void {
    const source = this.#join(chunk);
    if (source === undefined) return;
    let at = 0;
    while (source.length - at >= 5) {
      const length = source.readInt32BE(at + 1);
      if (length < 4 || length > frameBytesMax)
        throw new RangeError('The server sent a message of an impossible length.');
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
