/** When V8 collects garbage that is mostly buffers, and what a process refuses whose heap is nearly full. */

import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HubError } from './call/error.ts';

/** Bytes of buffers after which a minor GC runs. */
const notedMax = 12_582_912;
/** Bytes of buffers that a minor GC no longer frees, after which a full one runs. */
const notedOldMax = 67_108_864;

let collect: ((options: { type: 'minor' | 'major' }) => void) | undefined;
const noted = { young: 0, old: 0 };
/** The share of the heap that is taken, when that was read, and since when it has been nearly full. */
let taken = { share: 0, readAt: Number.NEGATIVE_INFINITY, fullSince: Number.POSITIVE_INFINITY };

/**
 * V8 never starts a minor GC because of buffers. It starts a full GC for every 32 MiB of them, which took half of the CPU
 * time of a large answer. A flag, which is only known in Node 24, counts buffers as part of the heap instead, and
 * `noteBuffers` triggers minor GCs.
 */
export function tuneHeap(): void {
  if (process.versions.node.startsWith('24.'))
    setFlagsFromString('--external-memory-accounted-in-global-limit');
  setFlagsFromString('--expose-gc');
  collect = runInNewContext('gc') as typeof collect;
  setFlagsFromString('--no-expose-gc');
}

/**
 * Counts bytes of short-lived buffers and runs a minor GC after every 12 MiB. Each takes about a millisecond. Without them
 * a million rows take some 90 MiB more memory, and up to a third more CPU time for fresh pages. A GC after every 32 MiB
 * takes the same CPU time and twice the memory.
 */
export function noteBuffers(bytes: number): void {
  noted.young += bytes;
  if (noted.young < notedMax) return;
  noted.young = 0;
  collect?.({ type: 'minor' });
}

/**
 * Counts bytes of buffers that waited for a slow reader and are garbage now. V8 would leave some 300 MiB of them, also in
 * a process that rests. A full GC takes 20 to 100 ms.
 */
export function noteOldBuffers(bytes: number): void {
  noted.old += bytes;
  if (noted.old < notedOldMax) return;
  noted.old = 0;
  collect?.({ type: 'major' });
}

/**
 * From these shares of the heap on, no call begins, or no call takes more. V8 lets garbage fill the heap at most halfway
 * between what was in use after a full GC and the whole: then at least 70 or 84 % was in use.
 */
const fullShares = { begin: 0.85, grow: 0.92 };
type HeapStep = keyof typeof fullShares;
const readEveryMs = 10;
/** After this time a full GC is due: a process that refuses all calls leaves no garbage to start one. */
const fullMsMax = 1_000;

/**
 * Throws UNAVAILABLE if the heap is nearly full, since a process whose heap is full ends with every call in it. The other
 * bounds should make this rare: each counts one kind of memory, and this one what they do not know.
 */
export function requireHeap(step: HeapStep): void {
  const problem = heapProblem(step);
  if (problem !== undefined) throw problem;
}

/** The error that `requireHeap` throws. */
export function heapProblem(step: HeapStep): HubError | undefined {
  const now = performance.now();
  if (now - taken.readAt > readEveryMs) readHeap(now);
  if (taken.share < fullShares[step]) return undefined;
  return new HubError('UNAVAILABLE', 'The hub has hardly any memory left. Try again later.', {
    retryable: true,
    retryAfterMs: 1_000,
  });
}

function readHeap(now: number): void {
  let share = heapShare();
  let { fullSince } = taken;
  if (share < fullShares.begin) fullSince = Number.POSITIVE_INFINITY;
  else if (now - fullSince > fullMsMax) {
    collect?.({ type: 'major' });
    share = heapShare();
    fullSince = performance.now();
  } else fullSince = Math.min(fullSince, now);
  taken = { share, readAt: performance.now(), fullSince };
}

/** Of the space for objects that have survived minor GCs. */
function heapShare(): number {
  let used = 0;
  for (const { space_name: name, space_used_size: size } of getHeapSpaceStatistics())
    if (!name.startsWith('new_')) used += size;
  return used / oldBytesMax;
}

/** V8 adds three semi-spaces to the limit of that space. It does not tell their size, which is 64 MiB by default. */
const semiSpace = /--max-semi-space-size=(\d+)/.exec(process.execArgv.join(' '));
const oldBytesMax = getHeapStatistics().heap_size_limit - 3 * Number(semiSpace?.[1] ?? 64) * 1_048_576;
