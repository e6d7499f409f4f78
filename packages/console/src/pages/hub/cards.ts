/** The rows of a pinned query. */

import { callJson, part } from '../../api/client.ts';
import type { Query } from '../../api/types.ts';
import { execute } from '../../state/rows/executions.ts';
import { RowStore } from '../../state/rows/row-store.ts';
import { objectsOf } from '../../state/rows/scan.ts';
import { limitIn } from '../../state/rows/stream.ts';
import { variablesOf } from './pinned.ts';

/** The most cards of a home, and the most rows of a card. */
export const cardsMax = 12;
const rowsMax = 5_000;

/** Texts as an address has them; several for a list. */
export type CardValues = Record<string, string | string[]>;

/** The values that a query has variables for. Secret ones get no values from a page. */
function valuesOf(query: Query, values: CardValues): CardValues {
  const names = new Set(variablesOf(query).flatMap(({ key, secret }) => (secret === true ? [] : key)));
  return Object.fromEntries(Object.entries(values).filter(([name]) => names.has(name)));
}

/** The same in an address. */
export const searchOf = (query: Query, values: CardValues): URLSearchParams =>
  new URLSearchParams(
    Object.entries(valuesOf(query, values)).flatMap(([name, value]) =>
      [value].flat().map((one) => [name, one]),
    ),
  );

export interface CardRows {
  store: RowStore;
  /** Whose limit cut the rows; undefined if all came. */
  cutBy: string | undefined;
  /** When a cached result was read from the source; undefined for one that is not cached. */
  cachedAt: number | undefined;
}

/** Reads the rows of a card, together with those that are asked for in the same moment. */
export async function readCard(query: Query, values: CardValues, signal: AbortSignal): Promise<CardRows> {
  const { queryId } = query.config.query;
  // The list has no signature of a query that its source has not described since its last change.
  const described = query.signature
    ? query
    : callJson<Query>(`v1/queries/${part(queryId)}?signature=1`, { signal }).catch(() => undefined);
  const execution = { queryId, values: valuesOf(query, values), options: { maxRows: rowsMax } };
  const { headers, limit, body } = await execute(execution, signal);
  const store = new RowStore((await described)?.signature?.columns ?? []);
  const { query: stored, source } = query.config;
  store.statement = { text: stored.query, engine: source.engine };
  store.add(objectsOf(body, body.indexOf('[')));
  const isHit = /^data-hub; hit/.test(headers.get('cache-status') ?? '');
  return {
    store,
    cutBy: limit && limitIn({ limit }),
    cachedAt: isHit ? Date.now() - Number(headers.get('age') ?? 0) * 1_000 : undefined,
  };
}
