/**
 * The clock of the ids of events. It never goes back, even if that of the machine does, and is ahead of the newest event
 * in the store, which a process with another clock may have written: a reader that continues after an id does not see
 * events with smaller ones.
 */

import { timeOfId } from '@datahub/service-kit/id';
import type { CatalogStore } from '../store.ts';

/** Between the making of an id and the write of its event. */
const settlingMs = 2_000;

export interface EventClock {
  /** For the id of a new event. `newestId`: of the account's events in the store; undefined if there are none. */
  next(newestId: string | undefined): number;
  /** All events with ids of this time or before are in the store. */
  settled(newestId: string | undefined): number;
}

export interface EventClockOptions {
  nowMs: () => number;
  /** Never goes back. */
  elapsedMs: () => number;
}

export function createEventClock({ nowMs, elapsedMs }: EventClockOptions): EventClock {
  /** Added to `elapsedMs`. It only grows, so the clock does not go back. */
  let lead = nowMs() - elapsedMs();
  /** After a jump, ids from before it may still be written. So what is settled follows the lead of 2 to 4 s ago. */
  let settledLead = lead;
  let coming = { lead, since: elapsedMs() };

  function readElapsed(newestId: string | undefined): number {
    const elapsed = elapsedMs();
    lead = Math.max(lead, nowMs() - elapsed);
    if (newestId !== undefined) lead = Math.max(lead, timeOfId(newestId) + 1 - elapsed);
    if (elapsed - coming.since >= settlingMs) {
      settledLead = coming.lead;
      coming = { lead, since: elapsed };
    }
    return elapsed;
  }

  return {
    next: (newestId) => Math.round(readElapsed(newestId) + lead),
    settled: (newestId) => Math.round(readElapsed(newestId) + settledLead - settlingMs),
  };
}

export async function newestEventId(
  { events }: Pick<CatalogStore, 'events'>,
  accountId: string,
): Promise<string | undefined> {
  const [newest] = await events.find({ accountId, descending: true, limit: 1 });
  return newest?.id;
}
