import type { Shape } from './collection-spec.ts';
import { isAccountId, isId, refuse, toScalar } from './document.ts';
import type { Filter, Page, Scalar } from './document-store.ts';

/** A filter whose values are all validated as plain data. */
export interface CheckedFilter {
  accountId: string;
  /** In the order of `shape.indexes`. */
  where: { name: string; value: Scalar }[];
  /** `from` is inclusive; `after` and `before` are exclusive. */
  from?: string;
  after?: string;
  before?: string;
}

export interface CheckedPage extends CheckedFilter {
  limit: number;
  offset: number;
  descending: boolean;
  charactersMax: number;
}

/** Null for a filter that no document can match, such as one with an invalid id. */
export function checkFilter(shape: Shape, filter: Filter): CheckedFilter | null {
  if (!isAccountId(filter.accountId)) return null;
  const where = checkWhere(shape, filter.where ?? {});
  const checked: CheckedFilter = { accountId: filter.accountId, where };
  const { idPrefix, afterId, beforeId } = filter;
  for (const id of [idPrefix, afterId, beforeId]) if (id !== undefined && !isId(id)) return null;
  // Only one lower bound: with two, a store may seek to the lower one and scan up to the other.
  if (afterId !== undefined && (idPrefix === undefined || afterId >= idPrefix)) checked.after = afterId;
  else if (idPrefix !== undefined) checked.from = idPrefix;
  // DEL is not valid in an id and sorts after all valid characters, so it ends the range of a prefix.
  const prefixEnd = idPrefix === undefined ? undefined : `${idPrefix}\u007f`;
  const before = smaller(beforeId, prefixEnd);
  if (before !== undefined) checked.before = before;
  return checked;
}

function smaller(a: string | undefined, b: string | undefined): string | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a < b ? a : b;
}

export function checkPage(shape: Shape, page: Page): CheckedPage | null {
  const { limit, offset = 0, descending = false, charactersMax = Number.POSITIVE_INFINITY } = page;
  checkCount('limit', limit);
  checkCount('offset', offset);
  const filter = checkFilter(shape, page);
  return filter === null ? null : { ...filter, limit, offset, descending, charactersMax };
}

export function checkCount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) throw refuse(`${name} must be a whole number from 0`);
}

function checkWhere(shape: Shape, where: Record<string, Scalar>): CheckedFilter['where'] {
  const requested = new Map(Object.entries(where));
  for (const name of requested.keys()) {
    if (!shape.indexes.includes(name)) throw new TypeError(`${shape.name} has no index on ${name}.`);
  }
  return shape.indexes
    .filter((name) => requested.has(name))
    .map((name) => ({ name, value: toScalar(name, requested.get(name)) }));
}

export function checkStep(by: number): void {
  if (typeof by !== 'number' || !Number.isFinite(by)) throw refuse('a counter changes by a finite number');
}
