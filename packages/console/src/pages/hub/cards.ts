/** The rows of a pinned query. */

import { call, callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { RowStore } from '../../state/rows/row-store.ts';
import { readLines, takeCut } from '../../state/rows/stream.ts';

/** The most cards of a home, and the most rows of a card. */
export const cardsMax = 12;
const rowsMax = 5_000;

export interface CardRows {
  store: RowStore;
  truncated: boolean;
  /** The age of a cached result in seconds. */
  ageS: number | undefined;
}

/** Reads a card by GET, so that the caches of the hub and of the browser answer if they can. */
export async function readCard(
  query: Query,
  values: Record<string, string>,
  signal: AbortSignal,
): Promise<CardRows> {
  const { queryId } = query.config.query;
  const path = `v1/queries/${part(queryId)}`;
  const used = Object.entries(values).filter(([name]) =>
    query.config.context.some(({ key }) => key === name),
  );
  const search = new URLSearchParams([...used, ['options.maxRows', String(rowsMax)]]);
  // The list has no signature of a query that its source has not described since its last change.
  const described = query.signature
    ? query
    : callJson<Query>(`${path}?signature=1`, { signal }).catch(() => undefined);
  const response = await call(`${path}/data?${search}`, {
    signal,
    accept: 'application/x-ndjson',
    cache: 'default',
  });
  const store = new RowStore((await described)?.signature?.columns ?? []);
  const { query: stored, source } = query.config;
  store.statement = { text: stored.query, engine: source.engine };
  let truncated = false;
  await readLines(response, (lines) => {
    if (takeCut(lines)) truncated = true;
    store.add(lines);
    return true;
  });
  const isHit = /^data-hub; hit/.test(response.headers.get('cache-status') ?? '');
  return { store, truncated, ageS: isHit ? Number(response.headers.get('age') ?? 0) : undefined };
}
