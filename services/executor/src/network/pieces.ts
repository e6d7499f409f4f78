/** Collects bytes that arrive in pieces, small ones together: a buffer for each byte would take 100 times its memory. */

const roomBytes = 4_096;

export class Pieces {
  bytes = 0;
  readonly #buffers: Buffer[] = [];
  /** At the end of the last buffer. */
  #room = 0;

  /** Copies these bytes. */
  add(bytes: Buffer): void {
    this.bytes += bytes.length;
    const last = this.#buffers.at(-1);
    const fits = last === undefined ? 0 : bytes.copy(last, last.length - this.#room);
    this.#room -= fits;
    if (fits === bytes.length) return;
    const left = bytes.length - fits;
    const next = Buffer.allocUnsafe(Math.max(roomBytes, left));
    bytes.copy(next, 0, fits);
    this.#room = next.length - left;
    this.#buffers.push(next);
  }

  /** Removes and returns all bytes. */
  take(): Buffer[] {
    const taken = this.#buffers.splice(0);
    const last = taken.pop();
    if (last !== undefined) taken.push(last.subarray(0, last.length - this.#room));
    this.#room = 0;
    this.bytes = 0;
    return taken;
  }
}
