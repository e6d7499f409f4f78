/**
 * A growing buffer from which chunks are taken. Its fields are public because encoders write to them directly: bytes to
 * `buffer`, and four bytes at a time to `view`, which shares its memory.
 */
export class ByteWriter {
  buffer: Buffer = nothing;
  view: DataView = nothingView;
  position = 0;
  #nextBytes: number;
  #source: Buffer = nothing;
  #sourceView: DataView = nothingView;

  constructor(initialBytes = 16_384) {
    this.#nextBytes = initialBytes;
  }

  /** Makes room for `bytes` more. Call it before writing to `buffer` or `view`. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2, this.#nextBytes));
    this.buffer.copy(grown, 0, 0, this.position);
    this.buffer = grown;
    this.view = viewOf(grown);
  }

  /** Takes what was written. The next write allocates a buffer of `nextBytes`. */
  take(nextBytes: number): Buffer {
    const taken = this.buffer.subarray(0, this.position);
    this.buffer = nothing;
    this.view = nothingView;
    this.#nextBytes = nextBytes;
    this.position = 0;
    return taken;
  }

  /** For reading `source` four bytes at a time. The last view is cached, since all fields of a row have one source. */
  viewFrom(source: Buffer): DataView {
    if (source !== this.#source) {
      this.#source = source;
      this.#sourceView = viewOf(source);
    }
    return this.#sourceView;
  }
}

function viewOf({ buffer, byteOffset, length }: Buffer): DataView {
  return new DataView(buffer, byteOffset, length);
}

const nothing = Buffer.alloc(0);
const nothingView = viewOf(nothing);
