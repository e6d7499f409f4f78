/** Ids of requests: the caller's own, or 128 random bits in hexadecimal, as those of traces are (W3C Trace Context). */

import { randomFillSync } from 'node:crypto';

const idBytes = 16;
/** The system is asked for so many at once: for each it would cost more than all else that makes one. */
const pool = Buffer.alloc(256 * idBytes);
let used = pool.length;

const sane = /^[\w.:-]{1,128}$/;

/** The given id where it is sane, else a new one. */
export function toRequestId(given: unknown): string {
  return typeof given === 'string' && sane.test(given) ? given : createRequestId();
}

export function createRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += idBytes;
  return pool.toString('hex', used - idBytes, used);
}
