/** The last event of a hub that the person has seen in this browser. The ids of events sort by time. */

import { signal } from '@preact/signals';
import { ofBrowser } from '../../api/storage.ts';

const storedAs = 'datahub.seen-event';
const nameOf = (hubId: string): string => `${storedAs} ${hubId}`;

/** Counts what was seen, for views that show it. */
const turn = signal(0);

export function seenEvent(hubId: string): string {
  void turn.value;
  return ofBrowser.get(nameOf(hubId)) ?? '';
}

export function markSeen(hubId: string, eventId: string): void {
  if (eventId <= seenEvent(hubId)) return;
  ofBrowser.set(nameOf(hubId), eventId);
  turn.value++;
}
