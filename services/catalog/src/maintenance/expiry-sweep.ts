/** Finishes what a failure left, and removes what has had its time: kept answers, counted minutes, old audit. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Closable } from '@datahub/service-kit/process/lifecycle';
import type { Logger } from '@datahub/service-kit/telemetry/logger';
import type { CatalogStore } from '../store.ts';
import { largestAccounts } from './census.ts';
import type { Leftovers } from './deletion-sweep.ts';

/** Uses are counted for so long under the moment at which it began. */
export const countedMs = 3_600_000;

const everyMs = 60_000;
/** Of one write, and how long others have the store after it. */
const removedMax = 1_000;
const restMs = 500;

interface UpkeepOptions {
  nowMs: () => number;
  /** How long it is kept who did what. */
  auditKeptMs: number;
}

type Upkept = Pick<CatalogStore, 'operations' | 'windows' | 'audit'>;

/** `closed`: fires when the rest should be left for another time. */
export async function removeExpired(
  store: Upkept,
  { nowMs, auditKeptMs }: UpkeepOptions,
  closed: AbortSignal,
): Promise<void> {
  const now = nowMs();
  await removeAll((max) => store.operations.sweepExpired(now, max), closed);
  await removeAll((max) => store.windows.sweepExpired(now, max), closed);
  await removeAll((max) => store.audit.sweepExpired(now - auditKeptMs - countedMs, max), closed);
}

async function removeAll(remove: (max: number) => Promise<number>, closed: AbortSignal): Promise<void> {
  while (!closed.aborted && (await remove(removedMax)) === removedMax) {
    await sleep(restMs, undefined, { ref: false });
  }
}

/** At once and then each minute, one after the other. */
export function startUpkeep(
  store: CatalogStore,
  options: UpkeepOptions & { logger: Logger; leftovers: Leftovers },
): Closable {
  const closing = new AbortController();
  let working = false;
  const work = async () => {
    if (working) return;
    working = true;
    try {
      await tellWhoseIfFull(store, options, closing.signal);
      await store.settle();
      await options.leftovers.retry();
      await removeExpired(store, options, closing.signal);
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

/** The code of SQLite for a disk or a file without room. */
const sqliteFull = 13;

/** A store that is full is told each minute, with the accounts that take the most of it. */
export async function tellWhoseIfFull(
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
