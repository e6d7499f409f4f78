/** Garbage collected on demand, and what is held once it is gone. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
export const collectGarbage: () => void = runInNewContext('gc');

/** What is held, arrays outside the heap too, in bytes. One collection leaves arrays that nothing holds any more. */
export function heldBytes(): number {
  for (let i = 0; i < 3; i++) collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
