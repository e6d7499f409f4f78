/** Whether a watch may compare the rows of two versions of its query. */

import type { QueryDoc } from '../documents.ts';
import { findVersion } from '../query-version.ts';
import type { CatalogStore } from '../store.ts';

/** What decides the rows. A change of other members, such as the label, leaves them. */
const decisiveOf = ({ command, query, context, sourceId, engine, sessionJson, transactionJson }: QueryDoc) =>
  JSON.stringify([
    ...[command, query, sourceId, engine, sessionJson ?? null, transactionJson ?? null],
    context.map(({ description: _, ...variable }) => variable),
  ]);

/**
 * False for versions that are no longer kept. Rows that an older release kept have no version; they are compared as it did,
 * so that an upgrade loses none.
 */
export async function areComparable(
  store: Pick<CatalogStore, 'queryVersions'>,
  query: QueryDoc,
  numbers: { before: number | undefined; now: number | undefined },
): Promise<boolean> {
  if (numbers.before === undefined || numbers.before === numbers.now) return true;
  if (numbers.now === undefined) return false;
  const [before, now] = await Promise.all([
    findVersion(store, query, numbers.before),
    findVersion(store, query, numbers.now),
  ]);
  return before !== null && now !== null && decisiveOf(before) === decisiveOf(now);
}
