/**
 * A growing run of bytes that is handed on chunk by chunk. Fields are public because encoders write into them directly:
 * bytes into `buffer`, four at a time into `view`, which is of the same memory.
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

  /** Makes room for `bytes` more; call before writing into `buffer` or `view` directly. */
  reserve(bytes: number): void {
    const needed = this.position + bytes;
    if (needed <= this.buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2, this.#nextBytes));
    this.buffer.copy(grown, 0, 0, this.position);
    this.buffer = grown;
    this.view = viewOf(grown);
  }

  /** What was written so far; the writer starts afresh, on a buffer of `nextBytes` once there is something to write. */
  take(nextBytes: number): Buffer {
    const taken = this.buffer.subarray(0, this.position);
    this.buffer = nothing;
    this.view = nothingView;
    this.#nextBytes = nextBytes;
    this.position = 0;
    return taken;
  }

  /** For reading `source` four bytes at a time. Fields of a row come from one, so the view of the last is kept. */
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
