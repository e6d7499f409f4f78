/**
 * Frees a large buffer of its own at once. A GC would do so later, and with clients that do not read these would be
 * gigabytes.
 */
export function freeBuffer({ buffer }: Buffer): void {
  (buffer as ArrayBuffer).transfer(0);
}
