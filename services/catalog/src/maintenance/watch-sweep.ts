/** Repairs what a crash between two writes, or a clock that was set back, left of watches. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Catalog } from '../catalog.ts';
import type { WatchDoc } from '../watches/documents.ts';
import { settleState } from '../watches/watch-state.ts';
import { scanAll } from './deletion-sweep.ts';

/** Makes each watch due that should be, at its next tick. */
export async function sweepWatches(catalog: Catalog, closed: AbortSignal): Promise<void> {
  for await (const watch of scanAll<WatchDoc>(catalog.store.watches)) {
    if (closed.aborted) return;
    await settleState(catalog, watch, { reschedules: false });
    await turnEnd();
  }
}
