/** How V8 decides when to collect. */

import { setFlagsFromString } from 'node:v8';

/**
 * Has V8 count the bytes of buffers with the heap they are outside of. On its own it starts a full collection for every
 * 32 MiB of them, which took half of the processor's time for a large answer; counted together they wait for as much as
 * the young generation is. Node 24 has it as an option, which later ones may not know.
 */
export function countBuffersWithHeap(): void {
  if (process.versions.node.startsWith('24.'))
    setFlagsFromString('--external-memory-accounted-in-global-limit');
}
