/** Says which keys expire soon, and deletes those that expired long ago. */

import { setImmediate as turnEnd } from 'node:timers/promises';
import type { Catalog } from '../catalog.ts';
import type { KeyDoc } from '../documents.ts';
import { sayOnce } from '../events/hub-event.ts';
import { dayMs } from '../usage/use-counts.ts';
import { scanAll } from './deletion-sweep.ts';

/** Days before the end, the last first. */
const warnedDays = [2, 14];

/** `expiredKeptMs`: how long an expired key is shown. */
export async function sweepKeys(
  catalog: Catalog,
  { expiredKeptMs }: { expiredKeptMs: number },
  closed: AbortSignal,
): Promise<void> {
  for await (const key of scanAll<KeyDoc>(catalog.store.keys)) {
    if (closed.aborted) return;
    const { accountId, id, version, expiresAt } = key;
    if (expiresAt !== null && expiresAt + expiredKeptMs <= catalog.nowMs())
      await catalog.store.keys.delete(accountId, id, { version });
    else await tellExpiring(catalog, key);
    await turnEnd();
  }
}

/** A key that was replaced ends as planned, and one that never lived longer than the warning needs none. */
async function tellExpiring(catalog: Catalog, key: KeyDoc): Promise<void> {
  const { id: keyId, accountId, name, createdAt, expiresAt, successor } = key;
  const leftMs = (expiresAt ?? Number.POSITIVE_INFINITY) - catalog.nowMs();
  if (expiresAt === null || leftMs <= 0 || successor !== undefined) return;
  const days = warnedDays.find((days) => leftMs <= days * dayMs && expiresAt - createdAt > days * dayMs);
  if (days === undefined) return;
  const data = { keyId, name, expiresAt: new Date(expiresAt).toISOString() };
  const event = { accountId, hubId: null, type: 'key.expiring', data } as const;
  await sayOnce(catalog, `${keyId}/${expiresAt}/${days}`, event);
}
