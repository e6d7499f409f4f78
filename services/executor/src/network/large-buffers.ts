/**
 * Frees the memory of large buffers at once. Until a GC did so, the buffers of clients that do not read would take
 * gigabytes.
 */

/** The contents of a larger buffer are moved: the new one is cleared, which costs more than the rest for a small one. */
const movedBytes = 1_048_576;

export function freeBuffer({ buffer }: Buffer): void {
  // Small buffers share their memory, which cannot be freed.
  if (buffer.byteLength > Buffer.poolSize) (buffer as ArrayBuffer).transfer(0);
}

/** Returns a buffer of `to` bytes that begins with the `used` bytes of this one, which must not be used any more. */
export function enlarged(buffer: Buffer, { to, used }: { to: number; used: number }): Buffer {
  if (buffer.length >= movedBytes) return Buffer.from((buffer.buffer as ArrayBuffer).transfer(to));
  const grown = Buffer.allocUnsafe(to);
  buffer.copy(grown, 0, 0, used);
  return grown;
}
