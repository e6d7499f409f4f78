import type { Shape } from '../collection-spec.ts';
import type { Scalar } from '../document-store.ts';
import type { CheckedFilter } from '../filter.ts';

/** Smaller counts are not cached: counting index entries costs less than keeping them current. */
const cachedMin = 1_000;
/** The most cached filters of one account, and the most accounts. */
const filtersMax = 32;
const accountsMax = 1_000;

interface Count {
  where: { at: number; value: Scalar }[];
  count: number;
}

/**
 * Caches large counts and keeps them current, because counting a million index entries takes tens of milliseconds and lists
 * return their total on every page. Correct only if one process makes all changes and reports each of them.
 */
export interface Counts {
  /** The cached count, or the result of `work`. */
  read(filter: CheckedFilter, work: () => number): number;
  /** Whether `changed` needs the old fields of this account's documents. */
  keeps(accountId: string): boolean;
  /** A document was added (`by` 1) or removed (-1). `fields` are in the order of `shape.fields`. */
  changed(accountId: string, fields: readonly Scalar[], by: 1 | -1): void;
  forget(accountId?: string): void;
}

export function createCounts(shape: Shape): Counts {
  const accounts = new Map<string, Map<string, Count>>();

  function keep(filter: CheckedFilter, count: number): void {
    const counts = accounts.get(filter.accountId) ?? new Map<string, Count>();
    if (counts.size >= filtersMax) counts.clear();
    if (accounts.size >= accountsMax) accounts.clear();
    const where = filter.where.map(({ name, value }) => ({ at: shape.fields.indexOf(name), value }));
    counts.set(JSON.stringify(filter.where), { where, count });
    accounts.set(filter.accountId, counts);
  }

  return {
    read(filter, work) {
      const counts = accounts.get(filter.accountId);
      const known = counts?.get(JSON.stringify(filter.where));
      if (known !== undefined) return known.count;
      const count = work();
      if (count >= cachedMin) keep(filter, count);
      return count;
    },
    keeps: (accountId) => accounts.has(accountId),
    changed(accountId, fields, by) {
      for (const entry of accounts.get(accountId)?.values() ?? []) {
        if (entry.where.every(({ at, value }) => fields[at] === value)) entry.count += by;
      }
    },
    forget(accountId) {
      if (accountId === undefined) accounts.clear();
      else accounts.delete(accountId);
    },
  };
}
