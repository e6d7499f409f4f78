/** The last event that the person has seen in this browser. The ids of events sort by time. */

import { signal } from '@preact/signals';

const storedAs = 'datahub.seen-event';

export const seenEvent = signal(localStorage.getItem(storedAs) ?? '');

export function markSeen(eventId: string): void {
  if (eventId <= seenEvent.value) return;
  seenEvent.value = eventId;
  localStorage.setItem(storedAs, eventId);
}
