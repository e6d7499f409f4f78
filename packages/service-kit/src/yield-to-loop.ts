/** Lets other requests run while many rows or lines are read or written that need no waiting. */

import { setImmediate as nextIteration } from 'node:timers/promises';

const turnMs = 2;

/**
 * Creates a function to call after each piece of work. If the turn took too long, it returns a promise that resolves in
 * the next iteration of the event loop, with a new turn.
 */
export function createLoopYield(): () => Promise<void> | undefined {
  let startedAt = performance.now();
  return () => {
    if (performance.now() - startedAt < turnMs) return undefined;
    return nextIteration().then(() => {
      startedAt = performance.now();
    });
  };
}
