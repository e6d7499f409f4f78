/** Decides when a classifier's snapshot is written. */

import type { EventDoc } from '../../documents.ts';

/**
 * The number of examples between two snapshots: a share of all, within bounds. A process that starts learns at most this
 * many again. The snapshot of a large classifier has 20 MB, so it is written less often.
 */
const interval = { least: 600, share: 0.02, most: 3_000 };

export class SnapshotSchedule {
  #learnt = 0;

  /** Counts the examples of an event. True if a snapshot is due; the count then starts again. */
  isDueAfter({ calls = [] }: EventDoc, examplesInAll: number): boolean {
    this.#learnt += calls.reduce((sum, { examples }) => sum + examples.length, 0);
    const { least, share, most } = interval;
    if (this.#learnt < Math.min(most, Math.max(least, share * examplesInAll))) return false;
    this.#learnt = 0;
    return true;
  }
}
