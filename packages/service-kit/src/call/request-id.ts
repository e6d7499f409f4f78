/** Request ids: the caller's own, or 128 random bits in hexadecimal like the trace ids of W3C Trace Context. */

import { randomFillSync } from 'node:crypto';

const idBytes = 16;
/** Random bytes for 256 ids at once, because a system call for each id would cost more than all the rest. */
const pool = Buffer.alloc(256 * idBytes);
let used = pool.length;

const validId = /^[\w.:-]{1,128}$/;

/** The given id if it is valid, otherwise a new one. */
export function toRequestId(given: unknown): string {
  return typeof given === 'string' && validId.test(given) ? given : createRequestId();
}

export function createRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += idBytes;
  return pool.toString('hex', used - idBytes, used);
}
