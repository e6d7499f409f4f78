/** How V8 decides when to collect, where most of what is left behind are buffers. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes of buffers after which the young are collected. */
const notedMax = 12_582_912;

let collectYoung: (() => void) | undefined;
let noted = 0;

/**
 * V8 starts no young collection for what buffers hold, only a full one, and that for every 32 MiB of them: it took half
 * of the processor's time for a large answer. Here they are counted with the heap, as an option of Node 24 has it that
 * later ones may not know, and `noteBuffers` has the young collected.
 */
export function tuneHeap(): void {
  if (process.versions.node.startsWith('24.'))
    setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  setFlagsFromString('--no-expose-gc');
  collectYoung = () => collect({ type: 'minor' });
}

/**
 * Says how many bytes of short-lived buffers a large answer has made. A young collection now and then takes a
 * millisecond; without it buffers come from fresh memory, which cost a million rows some 90 MiB and up to a third more
 * processor time. Collecting after 12 MiB takes no more of it than after 32, and half of the memory.
 */
export function noteBuffers(bytes: number): void {
  noted += bytes;
  if (noted < notedMax) return;
  noted = 0;
  collectYoung?.();
}
