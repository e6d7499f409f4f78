/** The rows of a pinned query. */

import { call, callJson, Failure, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { RowStore } from '../../state/rows/row-store.ts';
import { limitIn, readLines, takeCut } from '../../state/rows/stream.ts';

/** The most cards of a home, and the most rows of a card. */
export const cardsMax = 12;
const rowsMax = 5_000;

/** Texts as an address has them; several for a list. */
export type CardValues = Record<string, string | string[]>;

/** The values that a query has variables for. Values of secret ones never reach an address. */
export const searchOf = ({ config }: Query, values: CardValues): URLSearchParams =>
  new URLSearchParams(
    Object.entries(values)
      .filter(([name]) => config.context.some(({ key, secret }) => key === name && secret !== true))
      .flatMap(([name, value]) => [value].flat().map((one) => [name, one])),
  );

export interface CardRows {
  store: RowStore;
  /** Whose limit cut the rows; undefined if all came. */
  cutBy: string | undefined;
  /** The age of a cached result in seconds. */
  ageS: number | undefined;
}

/** Reads a card by GET, so that the caches of the hub and of the browser answer if they can. */
export async function readCard(query: Query, values: CardValues, signal: AbortSignal): Promise<CardRows> {
  const { queryId } = query.config.query;
  const path = `v1/queries/${part(queryId)}`;
  const search = searchOf(query, values);
  search.append('options.maxRows', String(rowsMax));
  search.append('options.ending', '1');
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
  const ending = await readLines(response, (lines) => {
    takeCut(lines);
    store.add(lines);
    return true;
  });
  if (ending.problem !== undefined) throw new Failure(ending.problem);
  const isHit = /^data-hub; hit/.test(response.headers.get('cache-status') ?? '');
  return {
    store,
    cutBy: ending.truncated && limitIn(ending),
    ageS: isHit ? Number(response.headers.get('age') ?? 0) : undefined,
  };
}
