/**
 * Feeds Node's HTTP parser a little at a time. It would parse a whole read at once, also if the first request of it makes
 * the server close or pause the connection: 64 KiB can hold thousands of requests or chunks.
 */

import type { Socket } from 'node:net';
import { createTurnClock } from './yield-to-loop.ts';

/** A slice. A chunk of one byte takes 6 bytes of it. */
const sliceBytes = 4_096;
/** When the reads of a turn have taken this long, those of further connections wait. */
const readTurnMs = 8;
/** Of those that wait, a turn goes on with this many. */
const resumedMax = 32;

/**
 * Creates a function to call for each read. It returns false if this turn has time for the read. Otherwise it puts the read
 * back, and the connection goes on in a later turn.
 */
export function createReadTurns(): (socket: Socket, bytes: Buffer) => boolean {
  const waiting: Socket[] = [];
  const clock = createTurnClock(readTurnMs, () => {
    for (const socket of waiting.splice(0, resumedMax)) socket.resume();
    // What waits still goes on in the next turn, also if nothing else is read.
    if (waiting.length > 0) setImmediate(() => clock.begin());
  });
  return (socket, bytes) => {
    clock.begin();
    if (!clock.isSpent) return false;
    socket.pause();
    socket.unshift(bytes);
    waiting.push(socket);
    return true;
  };
}

interface Reading {
  /** True while requests of the connection wait. Node resumes the socket at the end of each answer. */
  isWaiting?(): boolean;
  mustWait: ReturnType<typeof createReadTurns>;
}

/** Parses reads in slices. Stops between two of them if the request has paused the socket. */
export function parseInSlices(socket: Socket, { isWaiting, mustWait }: Reading): void {
  // Node's HTTP parser. A second listener makes Node pass it the bytes through this event.
  const [parse] = socket.listeners('data');
  if (parse === undefined) return;
  socket.on('data', (bytes: Buffer) => {
    if (mustWait(socket, bytes)) return;
    for (let at = 0; at < bytes.length && !socket.destroyed; at += sliceBytes) {
      const waits = isWaiting?.() === true;
      if (waits || (at > 0 && socket.isPaused())) {
        if (waits) socket.pause();
        socket.unshift(bytes.subarray(at));
        return;
      }
      parse(at === 0 && bytes.length <= sliceBytes ? bytes : bytes.subarray(at, at + sliceBytes));
    }
  });
  socket.off('data', parse as (bytes: Buffer) => void);
}
