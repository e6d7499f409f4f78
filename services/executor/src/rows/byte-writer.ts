/** A growing run of bytes that is handed on chunk by chunk. Fields are public because encoders write into them directly. */
export class ByteWriter {
  buffer: Buffer;
  position = 0;

  constructor(initialBytes = 16_384) {
    this.buffer = Buffer.allocUnsafeSlow(initialBytes);
  }

  /** Makes room for `bytes` more; call before writing into `buffer` directly. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.position);
    this.buffer = grown;
  }

  /** What was written so far; the writer starts afresh on a new buffer of `nextBytes`. */
  take(nextBytes = this.buffer.length): Buffer {
    const taken = this.buffer.subarray(0, this.position);
    this.buffer = Buffer.allocUnsafeSlow(nextBytes);
    this.position = 0;
    return taken;
  }
}
