/** Reads the log of a classifier in parts: events are up to some megabytes, so their number alone is no bound. */

import { type EventDoc, eventIdOf } from '../documents.ts';
import type { MlStore } from '../store.ts';

export interface LogPart {
  events: EventDoc[];
  /** True where nothing followed at the time. */
  isLast: boolean;
}

const eventsPerRead = 200;
/** Characters of one part; an event that is longer is a part of its own. */
const charactersPerRead = 4_000_000;
/** Sizes looked at first, for most reads find only a few new events. */
const sizesAtFirst = 8;

/** The part after the first `applied` events, and so on to the end. */
export async function* readLog(
  store: MlStore,
  { accountId, classifierId }: { accountId: string; classifierId: string },
  applied: number,
): AsyncGenerator<LogPart> {
  let limit = sizesAtFirst;
  for (let from = applied; ; ) {
    const page = { accountId, idPrefix: `${classifierId}/`, afterId: eventIdOf(classifierId, from) };
    const sizes = await store.events.findSummaries({ ...page, limit });
    const count = countFitting(sizes.map(({ characters }) => Number(characters ?? charactersPerRead)));
    const events = count === 0 ? [] : await store.events.find({ ...page, limit: count });
    const isLast = sizes.length < limit && events.length === sizes.length;
    yield { events, isLast };
    if (isLast || events.length === 0) return;
    from += events.length;
    limit = Math.min(eventsPerRead, 2 * events.length);
  }
}

/** As many from the front as one part holds, and one at least. */
function countFitting(sizes: number[]): number {
  let characters = 0;
  for (const [i, size] of sizes.entries()) {
    characters += size;
    if (i > 0 && characters > charactersPerRead) return i;
  }
  return sizes.length;
}
