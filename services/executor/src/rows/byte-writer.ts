/** A growing run of bytes that is handed on chunk by chunk. Fields are public because encoders write into them directly. */
export class ByteWriter {
  buffer: Buffer = nothing;
  position = 0;
  #nextBytes: number;

  constructor(initialBytes = 16_384) {
    this.#nextBytes = initialBytes;
  }

  /** Makes room for `bytes` more; call before writing into `buffer` directly. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2, this.#nextBytes));
    this.buffer.copy(grown, 0, 0, this.position);
    this.buffer = grown;
  }

  /** What was written so far; the writer starts afresh, on a buffer of `nextBytes` once there is something to write. */
  take(nextBytes: number): Buffer {
    const taken = this.buffer.subarray(0, this.position);
    this.buffer = nothing;
    this.#nextBytes = nextBytes;
    this.position = 0;
    return taken;
  }
}

const nothing = Buffer.alloc(0);
