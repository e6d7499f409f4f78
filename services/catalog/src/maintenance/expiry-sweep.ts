/**
 * Retries failed cleanup, deletes expired documents (stored responses, rate windows, old audit entries), returns their
 * space to the disk, and joins the counts of days.
 */

import { setTimeout as sleep, setImmediate as turnEnd } from 'node:timers/promises';
import type { Collection, Doc, Position } from '@datahub/document-store';
import type { Closable } from '@datahub/service-kit/closers';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import { keptBytes } from '../events/kept-bytes.ts';
import type { CatalogStore } from '../store.ts';
import { dayKeyOf, dayMs, hourMs, joinDay } from '../usage/use-counts.ts';
import { scanAll } from './deletion-sweep.ts';
import type { Leftovers } from './leftovers.ts';

const everyMs = 60_000;
/** Reading all watches and keys costs more, so it is done with one of some sweeps. */
const seldomEvery = 10;
/** A step holds other writes up, so its size is set to take about this long. */
const stepMs = 20;
/** The most documents that one write removes. */
const removedMax = 100;
/** Between two writes a sweep rests this many times as long as the last one took. */
const restTimes = 4;
const restMinMs = 20;
/** Days of counts that are joined at a time, each of at most 24 hours. */
const joinedMax = 10;
/** A sweep joins counts for so long. The next one goes on, once it has removed what has expired meanwhile. */
const joiningMs = 60_000;
/** Pages of 4 KiB that one write returns to the disk. */
const freedMax = 100;

interface SweepOptions {
  nowMs: () => number;
  namespace: string;
  /** How long audit entries of changes are kept, and those that count uses. */
  auditKeptMs: number;
  usageKeptMs: number;
  /** How long the runs of watches are kept, those of queries, and events. */
  runsKeptMs: number;
  queryRunsKeptMs: number;
  eventsKeptMs: number;
}

type SweptCollections = Pick<
  CatalogStore,
  | 'operations'
  | 'windows'
  | 'sessions'
  | 'clients'
  | 'agents'
  | 'audit'
  | 'watchRuns'
  | 'watchRunRows'
  | 'queryRuns'
  | 'events'
  | 'deliveries'
  | 'announcements'
  | 'shrink'
>;

/** `closed`: when it fires, the rest is left for the next sweep. */
export async function removeExpired(
  store: SweptCollections,
  { nowMs, auditKeptMs, usageKeptMs, runsKeptMs, queryRunsKeptMs, eventsKeptMs }: SweepOptions,
  closed: AbortSignal,
): Promise<void> {
  const now = nowMs();
  const isOver = () => closed.aborted;
  const removeAll = (remove: (max: number) => Promise<number>) => inSteps(remove, removedMax, isOver);
  await removeAll((max) => store.operations.sweepExpired(now, max));
  await removeAll((max) => store.windows.sweepExpired(now, max));
  await removeAll((max) => store.sessions.sweepExpired(now, max));
  await removeAll((max) => store.clients.sweepExpired(now, max));
  await removeAll((max) => store.agents.sweepExpired(now, max));
  // Older releases counted uses of an hour in entries that look like changes.
  await removeAll((max) => store.audit.sweepExpired(now - auditKeptMs - hourMs, max));
  await removeAll((max) => store.audit.sweepExpired(now - usageKeptMs - dayMs, max, 1));
  await removeAll((max) => store.watchRunRows.sweepExpired(now, max));
  await removeAll((max) => store.deliveries.sweepExpired(now, max));
  await removeAll((max) => store.announcements.sweepExpired(now, max));
  await removeAll((max) => store.watchRuns.sweepExpired(now - runsKeptMs, max));
  await removeAll((max) => store.queryRuns.sweepExpired(now - queryRunsKeptMs, max));
  await removeAll((max) => store.events.sweepExpired(now - eventsKeptMs, max));
  await inSteps((max) => store.shrink(max), freedMax, isOver);
}

/** Adds up the hours of uses of days that are over long enough, as many as there is time for. */
export async function joinUses(
  store: CatalogStore,
  { nowMs, namespace }: Pick<SweepOptions, 'nowMs' | 'namespace'>,
  closed: AbortSignal,
): Promise<void> {
  const join = async (max: number) => {
    const { found: due } = await store.audit.findDue(nowMs(), max);
    const days = new Map(due.map((hour) => [dayKeyOf(hour), hour]));
    await Promise.all([...days.values()].map((hour) => joinDay({ store, namespace }, hour)));
    return due.length;
  };
  const endsAt = performance.now() + joiningMs;
  await inSteps(join, joinedMax, () => closed.aborted || performance.now() > endsAt);
}

/** Repeats a step while it does as much as it may, and leaves the store to others most of the time. */
async function inSteps(
  step: (size: number) => Promise<number>,
  max: number,
  isOver: () => boolean,
): Promise<void> {
  let size = 1;
  while (!isOver()) {
    const startedAt = performance.now();
    if ((await step(size)) < size) return;
    const tookMs = performance.now() - startedAt;
    size = tookMs > stepMs ? Math.ceil(size / 2) : Math.min(2 * size, max);
    await sleep(Math.max(restMinMs, restTimes * tookMs), undefined, { ref: false });
  }
}

/** Sweeps now and then every minute, never two sweeps at once. */
export function startExpirySweep(
  store: CatalogStore,
  options: SweepOptions & {
    logger: Logger;
    leftovers: Leftovers;
    sweepSeldom(closed: AbortSignal): Promise<void>;
  },
): Closable {
  const closing = new AbortController();
  let working = false;
  let sweeps = 0;
  const work = async () => {
    if (working) return;
    working = true;
    try {
      await logLargestAccountsIfFull(store, options, closing.signal);
      await store.settle();
      await options.leftovers.retry();
      await removeExpired(store, options, closing.signal);
      if (sweeps++ % seldomEvery === 0) await options.sweepSeldom(closing.signal);
      // Last, because hours of many queries take long, and budgets wait for what expires.
      await joinUses(store, options, closing.signal);
    } catch (err) {
      if (!closing.signal.aborted)
        options.logger.warn({ event: 'sweep.failed', err }, 'removing expired records failed');
    } finally {
      working = false;
    }
  };
  const timer = setInterval(work, everyMs);
  timer.unref();
  void work();
  return {
    close: () => {
      closing.abort();
      clearInterval(timer);
    },
  };
}

/** SQLite's result code SQLITE_FULL. */
const sqliteFull = 13;

/** Logs, every minute while the store is full, the accounts that use the most space. */
export async function logLargestAccountsIfFull(
  store: CatalogStore,
  { logger }: { logger: Pick<Logger, 'error'> },
  closed: AbortSignal,
): Promise<void> {
  try {
    await store.health();
  } catch (err) {
    const { errcode = 0 } = ((err as Error).cause ?? {}) as { errcode?: number };
    if ((errcode & 0xff) !== sqliteFull) return;
    const accounts = await largestAccounts(store, closed);
    logger.error({ event: 'store.full', accounts }, 'the store is full; these accounts take the most of it');
  }
}

export interface Share {
  accountId: string;
  bytes: number;
}

const pageSize = 50;
const pageCharactersMax = 1_048_576;
const namedMax = 5;
/** Documents that were not read by then are not counted. */
const tookMaxMs = 30_000;

/** The largest accounts, largest first. Yields to other work between pages. */
async function largestAccounts(store: CatalogStore, closed: AbortSignal): Promise<Share[]> {
  const { hubs, folders, sources, queries, queryVersions, signatures, operations, audit } = store;
  const { accounts, queryRuns, watchSnapshots, watchRunRows, events, deliveries } = store;
  const stopAt = performance.now() + tookMaxMs;
  const isOver = () => closed.aborted || performance.now() >= stopAt;
  const bytes = new Map<string, number>();
  const add = (accountId: string, more: number) => bytes.set(accountId, (bytes.get(accountId) ?? 0) + more);
  const count = async <T extends Doc>(collection: Collection<T>) => {
    let after: Position | undefined;
    while (!isOver()) {
      const page = await collection.scan({ after, limit: pageSize, charactersMax: pageCharactersMax });
      for (const doc of page) add(doc.accountId, sizeOf(doc));
      const last = page.at(-1);
      if (last === undefined) return;
      after = { accountId: last.accountId, id: last.id };
      await turnEnd();
    }
  };
  for await (const { id } of scanAll(accounts)) {
    if (isOver()) break;
    for (const kept of [watchSnapshots, watchRunRows, events, deliveries]) add(id, await keptBytes(kept, id));
  }
  await count(operations);
  await count(queries);
  await count(queryVersions);
  await count(signatures);
  await count(sources);
  await count(hubs);
  await count(folders);
  await count(queryRuns);
  await count(audit);
  const shares = [...bytes].map(([accountId, taken]) => ({ accountId, bytes: taken }));
  return shares.toSorted((a, b) => b.bytes - a.bytes).slice(0, namedMax);
}

function sizeOf(doc: Doc & { answer?: Uint8Array }): number {
  const { answer, ...rest } = doc;
  return Buffer.byteLength(JSON.stringify(rest)) + (answer?.byteLength ?? 0);
}
