/** The state of a watch: when it is due, and what pauses it. Each change is a compare-and-set on the document's version. */

import { withoutUndefined } from '@datahub/contract/complete';
import type { CompanionWrite } from '@datahub/document-store';
import { HubError } from '@datahub/service-kit/call/error';
import { createLoopYield } from '@datahub/service-kit/yield-to-loop';
import { type Catalog, insertOnce, overtaken, untilWritten } from '../catalog.ts';
import { eventRecords, makeEvent } from '../events/event.ts';
import type { TickLease, WatchDoc, WatchStateDoc } from './documents.ts';
import { pauseEntry, type Span, watchData } from './records.ts';
import type { NextTick } from './schedule.ts';

/** Ticks of one record that are counted one by one. */
const countedMax = 1_000;
const windowMs = 60_000;

type Members = { [K in keyof WatchStateDoc]?: WatchStateDoc[K] | undefined };

/** Resolves to false if another call has changed the state since it was read. */
export function replaceState(
  { store }: Pick<Catalog, 'store'>,
  state: WatchStateDoc,
  { change, beside = [] }: { change: Members; beside?: CompanionWrite[] },
): Promise<boolean> {
  const next = withoutUndefined<WatchStateDoc>({ ...state, ...change, version: state.version + 1 });
  return store.watchStates.replace(next, beside.length === 0 ? undefined : beside);
}

/** True until the run is recorded. A run whose gateway was killed is recorded, or taken again, after its lease. */
export const isRunning = (state: WatchStateDoc | null): boolean => state?.lease !== undefined;

export const nextTickOf = (catalog: Catalog, { id, schedule }: WatchDoc): NextTick =>
  catalog.schedules(id, schedule);

/** Throws CONFLICT if the lease is over. */
export function requireLease(
  state: WatchStateDoc | null,
  token: string,
): asserts state is WatchStateDoc & { lease: TickLease } {
  if (state?.lease?.token === token) return;
  throw new HubError('CONFLICT', 'The watch was deleted, or another gateway runs it.');
}

/** The first state of a new watch. */
export function firstState(catalog: Catalog, watch: WatchDoc): WatchStateDoc {
  const tick = watch.paused ? null : nextTickOf(catalog, watch)(catalog.nowMs());
  const { id, accountId, hubId } = watch;
  return { id, accountId, version: 1, hubId, tick, dueAt: tick, metRuns: 0, isFailing: 0, runs: 0 };
}

/**
 * Makes a watch due at the next tick, or never if it is paused. A running tick does the same when it ends.
 * `reschedules`: its schedule has changed.
 */
export async function settleState(
  catalog: Catalog,
  watch: WatchDoc,
  { reschedules }: { reschedules: boolean },
): Promise<void> {
  const { watchStates } = catalog.store;
  await untilWritten(async () => {
    const state = await watchStates.get(watch.accountId, watch.id);
    const first = firstState(catalog, watch);
    if (state === null) return void (await insertOnce(watchStates, first));
    if (state.lease !== undefined) return;
    // A tick that is later than the next one is from before the clock was set back.
    const isFar = state.tick !== null && first.tick !== null && state.tick > first.tick;
    if (!reschedules && !isFar && (state.tick === null) === (first.tick === null)) return;
    const { tick } = first;
    const dueAt = state.asked === undefined ? tick : state.dueAt;
    return (await replaceState(catalog, state, { change: { tick, dueAt } })) || overtaken;
  });
}

/** Pauses a watch that may not run. That is an event. */
export async function pauseWatch(
  catalog: Catalog,
  { accountId, id }: Pick<WatchDoc, 'accountId' | 'id'>,
  { code, message }: { code: string; message: string },
): Promise<void> {
  const { watches } = catalog.store;
  const paused = await untilWritten(async () => {
    const watch = await watches.get(accountId, id);
    if (watch === null || watch.paused) return watch;
    const next = {
      ...watch,
      paused: 1,
      pausedBecause: message,
      version: watch.version + 1,
      updatedAt: catalog.nowMs(),
    };
    const dataJson = JSON.stringify({ ...watchData(watch), code, detail: message });
    const event = await makeEvent(catalog, { ...watch, type: 'watch.paused', dataJson });
    const told = await eventRecords(catalog, event, watch.to);
    return (await watches.replace(next, [pauseEntry(catalog, watch), ...told])) ? next : overtaken;
  });
  if (paused !== null) await settleState(catalog, paused, { reschedules: false });
}

/** The ticks from `first` up to a moment; of more than 1,000 it says so many. `before`: without the last one. */
export async function spanOf(
  next: NextTick,
  first: number,
  until: number,
): Promise<Span & { before: Span | undefined }> {
  const mayYield = createLoopYield();
  let span: Span = { first, last: first, ticks: 1 };
  let before: Span | undefined;
  while (span.ticks < countedMax) {
    const tick = next(span.last);
    if (tick === null || tick > until) return { ...span, before };
    before = span;
    span = { first, last: tick, ticks: span.ticks + 1 };
    await mayYield();
  }
  const last = await lastTick(next, span.last, until);
  if (last === span.last) return { ...span, before };
  return { ...span, last, before: { ...span, last: await lastTick(next, span.last, last - 1) } };
}

/** The last tick from `from`, which is one, up to a moment. Looks for it in the last minute, then in twice as much. */
async function lastTick(next: NextTick, from: number, until: number): Promise<number> {
  const mayYield = createLoopYield();
  let last = from;
  for (let back = windowMs; last === from && until - back > from; back *= 2) {
    const tick = next(until - back);
    if (tick !== null && tick <= until) last = tick;
  }
  for (let tick = next(last); tick !== null && tick <= until; tick = next(last)) {
    last = tick;
    await mayYield();
  }
  return last;
}
