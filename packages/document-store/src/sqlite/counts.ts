import type { Shape } from '../collection-spec.ts';
import type { Scalar } from '../document-store.ts';
import type { CheckedFilter } from '../filter.ts';

/** Below this, counting index entries costs less than keeping a number current. */
const worthKeeping = 1_000;
/** Filters of one account, and accounts, whose numbers are kept. */
const filtersMax = 32;
const accountsMax = 1_000;

interface Count {
  where: { at: number; value: Scalar }[];
  count: number;
}

/**
 * Large numbers of documents, counted once and then kept current: counting a million index entries takes tens of
 * milliseconds, and lists tell their total on every page. Right only where one process makes all the changes, and
 * tells of each.
 */
export interface Counts {
  /** The kept number, or what `work` counts. */
  read(filter: CheckedFilter, work: () => number): number;
  /** Whether changes to documents of this account must be told with their fields. */
  keeps(accountId: string): boolean;
  /** A document came (`by` 1) or went (-1); `fields` in the order of `shape.fields`. */
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
      if (count >= worthKeeping) keep(filter, count);
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
