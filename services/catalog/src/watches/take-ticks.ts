/**
 * Leases due ticks to gateways. The state of the watch names its tick, so of several gateways one gets it, and the record
 * of the tick is written with the state's next change. A lease that ends without a record is that of a gateway that was
 * killed: a read is taken again, a write is not, because it may have begun.
 */

import { randomUUID } from 'node:crypto';
import type { CompanionWrite } from '@datahub/document-store';
import type { TakenTick } from '@datahub/proto/catalog/v1/watches';
import { HubError } from '@datahub/service-kit/call/error';
import type { Catalog } from '../catalog.ts';
import { stampOf } from '../query-version.ts';
import type { TickLease, WatchDoc, WatchStateDoc } from './documents.ts';
import { endLease } from './end-tick.ts';
import { forgetWatch } from './forget.ts';
import { type Acting, loadActing, pauses } from './maker.ts';
import { runIdOf, spanRecord } from './records.ts';
import { areComparable } from './same-rows.ts';
import { toSettings } from './to-proto.ts';
import { basisOf, isAbout, writes } from './watch.ts';
import { nextTickOf, pauseWatch, replaceState, requireLease, spanOf } from './watch-state.ts';

export const leaseMs = 15_000;
/** A tick that nobody took for longer is missed. */
const lateMsMax = 60_000;
const attemptsMax = 5;

/** Resolves to undefined if there is nothing to run: another gateway has it, or the watch may not run. */
export async function takeTick(catalog: Catalog, state: WatchStateDoc): Promise<TakenTick | undefined> {
  const { store } = catalog;
  const watch = await store.watches.get(state.accountId, state.id);
  if (watch === null) {
    await forgetWatch(catalog, state);
    return undefined;
  }
  const { lease } = state;
  if (lease !== undefined && (lease.writes || watch.paused || lease.attempt >= attemptsMax)) {
    await endLost(catalog, state, { watch, lease });
    return undefined;
  }
  if (watch.paused) {
    await replaceState(catalog, state, { change: { tick: null, dueAt: null, asked: undefined } });
    return undefined;
  }
  try {
    const acting = await loadActing(catalog, watch);
    return await leaseTick(catalog, state, { watch, acting });
  } catch (err) {
    if (!pauses(err)) throw err;
    await refuseTick(catalog, state, { watch, err });
    return undefined;
  }
}

interface Due {
  watch: WatchDoc;
  acting: Acting;
}

async function leaseTick(
  catalog: Catalog,
  state: WatchStateDoc,
  { watch, acting }: Due,
): Promise<TakenTick | undefined> {
  const now = catalog.nowMs();
  const { due, beside, next } = await chooseTick(catalog, state, { watch, now });
  if (due === undefined) {
    await replaceState(catalog, state, { change: { tick: next, dueAt: next }, beside });
    return undefined;
  }
  const isWriting = writes(acting.query);
  const lease: TickLease = {
    ...due,
    token: randomUUID(),
    until: now + leaseMs,
    startedAt: now,
    writes: isWriting,
    basis: basisOf(watch),
    include: watch.include,
  };
  const change = {
    lease,
    tick: due.manual ? state.tick : due.tick,
    dueAt: lease.until,
    asked: due.manual ? undefined : state.asked,
  };
  if (!(await replaceState(catalog, state, { change, beside }))) return undefined;
  const queryVersion = stampOf(acting.query).number;
  const isSame =
    isAbout(state.basis, watch) &&
    state.snapshot !== undefined &&
    (await areComparable(catalog.store, acting.query, {
      before: state.snapshot.queryVersion,
      now: queryVersion,
    }));
  return {
    watchId: watch.id,
    hubId: watch.hubId,
    runId: lease.runId,
    lease: lease.token,
    leaseMs,
    principal: acting.principal,
    settings: toSettings(watch),
    writes: isWriting,
    queryVersion,
    before:
      isSame && state.snapshot !== undefined
        ? { snapshotId: state.snapshot.id, digest: state.snapshot.digest }
        : undefined,
  };
}

type DueTick = Pick<TickLease, 'runId' | 'tick' | 'manual' | 'attempt'>;

interface Choice {
  due?: DueTick;
  beside: CompanionWrite[];
  /** The tick after those that were missed, if none of them is run. */
  next: number | null;
}

/** The tick to run, and the records of those that were missed. */
async function chooseTick(
  catalog: Catalog,
  state: WatchStateDoc,
  { watch, now }: { watch: WatchDoc; now: number },
): Promise<Choice> {
  const { lease, asked, tick } = state;
  if (lease !== undefined) {
    const { runId, tick: at, manual, attempt } = lease;
    return { due: { runId, tick: at, manual, attempt: attempt + 1 }, beside: [], next: null };
  }
  if (asked !== undefined)
    return { due: { runId: asked.runId, tick: asked.at, manual: true, attempt: 1 }, beside: [], next: null };
  if (tick === null) return { beside: [], next: null };
  const toDue = (at: number): DueTick => ({
    runId: runIdOf(catalog, watch.id, at),
    tick: at,
    manual: false,
    attempt: 1,
  });
  if (now - tick <= lateMsMax) return { due: toDue(tick), beside: [], next: null };
  const nextTick = nextTickOf(catalog, watch);
  const { before, ...span } = await spanOf(nextTick, tick, now);
  const next = nextTick(span.last);
  const missed = { outcome: 'missed', detail: 'No gateway ran the watch in time.' } as const;
  if (watch.schedule.missed === 'skip')
    return { beside: [spanRecord(catalog, watch, { span, ...missed })], next };
  const beside = before === undefined ? [] : [spanRecord(catalog, watch, { span: before, ...missed })];
  return { due: toDue(span.last), beside, next };
}

/** The gateway that ran the tick is gone. */
function endLost(
  catalog: Catalog,
  state: WatchStateDoc,
  { watch, lease }: { watch: WatchDoc; lease: TickLease },
): Promise<boolean> {
  const lost = lease.writes
    ? { outcome: 'unknown', code: 'OUTCOME_UNKNOWN', detail: 'The gateway that ran the watch was lost.' }
    : { outcome: 'failed', code: 'UNAVAILABLE', detail: 'The gateways that ran the watch were lost.' };
  return endLease(catalog, state, { watch, lease, found: { ...lost, changes: undefined } });
}

/** Pauses the watch after the record of its tick is written. */
async function refuseTick(
  catalog: Catalog,
  state: WatchStateDoc,
  { watch, err }: { watch: WatchDoc; err: HubError },
): Promise<void> {
  const { lease, tick } = state;
  const { code, message: detail } = err;
  if (lease !== undefined) {
    const found = { outcome: 'skipped', code, detail, changes: undefined };
    await endLease(catalog, state, { watch: { ...watch, paused: 1 }, lease, found });
  } else {
    const isDue = tick !== null && tick <= catalog.nowMs();
    const skipped = { outcome: 'skipped', code, detail } as const;
    const beside = isDue
      ? [spanRecord(catalog, watch, { span: { first: tick, last: tick, ticks: 1 }, ...skipped })]
      : [];
    await replaceState(catalog, state, { change: { tick: null, dueAt: null, asked: undefined }, beside });
  }
  await pauseWatch(catalog, watch, err);
}

/** Throws CONFLICT if the lease is over, and another error if the watch may not go on. Then it is paused. */
export async function keepTick(
  catalog: Catalog,
  { accountId, watchId, token }: { accountId: string; watchId: string; token: string },
): Promise<void> {
  const state = await catalog.store.watchStates.get(accountId, watchId);
  requireLease(state, token);
  const watch = await catalog.store.watches.get(accountId, watchId);
  if (watch === null || watch.paused) throw new HubError('CANCELLED', 'The watch was deleted or paused.');
  await loadActing(catalog, watch).catch(async (err) => {
    if (pauses(err)) await pauseWatch(catalog, watch, err);
    throw err;
  });
  const until = catalog.nowMs() + leaseMs;
  const lease = { ...state.lease, until };
  // If another call has changed the state meanwhile, the next beat extends the lease.
  await replaceState(catalog, state, { change: { lease, dueAt: until } });
}
