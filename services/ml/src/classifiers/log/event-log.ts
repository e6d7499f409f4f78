/** Reads the events of a classifier: the first ones by their numbers, and then pages of a bounded size in characters. */

import { type EventDoc, eventIdOf } from '../../documents.ts';
import type { MlStore } from '../../store.ts';

/**
 * Most reads find only a few new events. Reading these by id is cheap even on FerretDB, which reads the whole collection
 * for any other filter.
 */
const eventsById = 8;
const eventsPerPage = 200;
/**
 * The most characters of a page. A longer event is a page of its own. A page is parsed without a pause, in some
 * milliseconds.
 */
const charactersPerPage = 400_000;

/** Yields the events after number `applied`, in pages. Event numbers have no gaps. */
export async function* readEvents(
  store: MlStore,
  { accountId, classifierId }: { accountId: string; classifierId: string },
  applied: number,
): AsyncGenerator<EventDoc[]> {
  let from = applied;
  for (; from < applied + eventsById; from++) {
    const id = eventIdOf(classifierId, from + 1);
    const event = await readSmall(store, { accountId, id });
    if (event === null) return;
    if (event === 'large') yield* readLarge(store, { accountId, id });
    else yield [event];
  }
  for (let limit = 2 * eventsById; ; ) {
    const page = { accountId, idPrefix: `${classifierId}/`, afterId: eventIdOf(classifierId, from) };
    const sizes = await store.events.findSummaries({ ...page, limit });
    const [first] = sizes;
    if (first === undefined) return;
    const count = countFitting(sizes.map(({ characters }) => Number(characters ?? charactersPerPage)));
    if (Number(first.characters ?? 0) > charactersPerPage)
      yield* readLarge(store, { accountId, id: first.id });
    else yield await store.events.find({ ...page, limit: count });
    if (sizes.length < limit && count === sizes.length) return;
    from += count;
    limit = Math.min(eventsPerPage, 2 * count);
  }
}

interface Named {
  accountId: string;
  id: string;
}

/** A large event is not kept, because it needs a place first. */
async function readSmall(
  { events }: Pick<MlStore, 'events'>,
  { accountId, id }: Named,
): Promise<EventDoc | 'large' | null> {
  const event = await events.get(accountId, id);
  return (event?.characters ?? 0) > charactersPerPage ? 'large' : event;
}

async function* readLarge(
  { events, largeEvents }: Pick<MlStore, 'events' | 'largeEvents'>,
  { accountId, id }: Named,
): AsyncGenerator<EventDoc[]> {
  using _ = await largeEvents(accountId);
  const event = await events.get(accountId, id);
  if (event !== null) yield [event];
}

/** Yields the events that `state` has not applied. If `ahead` is given, stops at the last event that it has applied. */
export async function* newEvents(
  store: MlStore,
  classifier: { accountId: string; classifierId: string },
  { state, ahead }: { state: { applied: number }; ahead?: { applied: number } | undefined },
): AsyncGenerator<EventDoc> {
  for await (const events of readEvents(store, classifier, state.applied)) {
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

/**
 * The number of examples between two snapshots: a share of all, within bounds. A process that starts learns at most this
 * many again. The snapshot of a large classifier has 20 MB, so it is written less often.
 */
const interval = { least: 600, share: 0.02, most: 3_000 };
/** The most characters of long examples between two snapshots. They are learnt again in about a second. */
const intervalCharacters = 1_500_000;

export class SnapshotSchedule {
  #learnt = 0;
  #characters = 0;

  /** Counts the examples of an event. True if a snapshot is due; the count then starts again. */
  isDueAfter({ calls = [], characters = 0 }: EventDoc, examplesInAll: number): boolean {
    this.#learnt += calls.reduce((sum, { examples }) => sum + examples.length, 0);
    this.#characters += characters;
    const { least, share, most } = interval;
    const isFew = this.#learnt < Math.min(most, Math.max(least, share * examplesInAll));
    if (isFew && this.#characters < intervalCharacters) return false;
    this.#learnt = 0;
    this.#characters = 0;
    return true;
  }
}
