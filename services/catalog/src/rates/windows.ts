/** Counters of a time: one document for each, incremented atomically in the store. */

import { insertIfNew } from '@datahub/document-store';
import type { Catalog } from '../catalog.ts';

export const minuteMs = 60_000;

interface Take {
  accountId: string;
  id: string;
  endsAt: number;
  count: number;
}

/** The total for the window, including this request. */
export async function take(
  { store: { windows } }: Catalog,
  { accountId, id, endsAt, count }: Take,
): Promise<number> {
  const taken = await windows.add(accountId, id, { counter: 'taken', by: count });
  if (taken !== null) return taken;
  const first = { id, accountId, version: 1, taken: count, expiresAt: endsAt + minuteMs };
  if (await insertIfNew(windows, first)) return count;
  return (await windows.add(accountId, id, { counter: 'taken', by: count })) ?? count;
}
