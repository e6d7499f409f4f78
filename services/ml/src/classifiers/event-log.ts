/** Reads the events of a classifier in pages of a bounded size in characters, because one event can have megabytes. */

import { type EventDoc, eventIdOf } from '../documents.ts';
import type { MlStore } from '../store.ts';

export interface EventPage {
  events: EventDoc[];
  /** True if no event followed at the time of the read. */
  isLast: boolean;
}

const eventsPerPage = 200;
/** A longer event is a page of its own. A page is parsed without a pause, in some milliseconds. */
const charactersPerPage = 400_000;
/** The first page is small, because most reads find only a few new events. */
const eventsInFirstPage = 8;

/** Yields the events after number `applied`. */
export async function* readEvents(
  store: MlStore,
  { accountId, classifierId }: { accountId: string; classifierId: string },
  applied: number,
): AsyncGenerator<EventPage> {
  let limit = eventsInFirstPage;
  for (let from = applied; ; ) {
    const page = { accountId, idPrefix: `${classifierId}/`, afterId: eventIdOf(classifierId, from) };
    const sizes = await store.events.findSummaries({ ...page, limit });
    const count = countFitting(sizes.map(({ characters }) => Number(characters ?? charactersPerPage)));
    const events = count === 0 ? [] : await store.events.find({ ...page, limit: count });
    const isLast = sizes.length < limit && events.length === sizes.length;
    yield { events, isLast };
    if (isLast || events.length === 0) return;
    from += events.length;
    limit = Math.min(eventsPerPage, 2 * events.length);
  }
}

/** Yields the events that `state` has not applied. If `ahead` is given, stops at the last event that it has applied. */
export async function* newEvents(
  store: MlStore,
  classifier: { accountId: string; classifierId: string },
  { state, ahead }: { state: { applied: number }; ahead?: { applied: number } | undefined },
): AsyncGenerator<EventDoc> {
  for await (const { events } of readEvents(store, classifier, state.applied)) {
    for (const event of events) {
      if (ahead !== undefined && state.applied >= ahead.applied) return;
      yield event;
    }
  }
}

/** Returns how many of the first events fit into a page; at least one. */
function countFitting(sizes: number[]): number {
  let characters = 0;
  for (const [i, size] of sizes.entries()) {
    characters += size;
    if (i > 0 && characters > charactersPerPage) return i;
  }
  return sizes.length;
}
