/**
 * Counts documents in stretches, and keeps large counts current, because counting a million index entries takes a second
 * and lists return their total on every page. Correct only if one process makes all changes and reports each of them.
 */

import { nextTurn } from '@datahub/service-kit/yield-to-loop';
import { LRUCache } from 'lru-cache';
import type { Shape } from '../collection-spec.ts';
import type { Scalar } from '../document-store.ts';
import { isWithin, type Range } from './condition.ts';
import type { Stretch } from './stretches.ts';

/** How many counts are kept for one account, and for how many accounts. */
const countsMax = 32;
const accountsMax = 1_000;

export interface Counts {
  /** Resolves to the exact count at the time it resolves. Callers that count the same share the walk. */
  read(range: Range, walk: () => Generator<Stretch>): Promise<number>;
  /** Whether `changed` needs the documents of this account. */
  keeps(accountId: string): boolean;
  /** A document was added (`by` 1) or removed (-1), and is committed. `fields` are in the order of `shape.fields`. */
  changed(doc: Counted, by: 1 | -1): void;
}

export interface Counted {
  accountId: string;
  id: string;
  fields: readonly Scalar[];
}

interface Count {
  where: { at: number; value: Scalar }[];
  /** The ids that were counted. */
  range: Pick<Range, 'lower' | 'upper'>;
  count: number;
}

/** A count that is under way. */
interface Running {
  accountId: string;
  count: Count;
  done: Promise<void>;
}

export function createCounts(shape: Shape): Counts {
  const kept = new LRUCache<string, LRUCache<string, Count>>({ max: accountsMax });
  const running = new Map<string, Running>();

  function keep(accountId: string, key: string, count: Count): void {
    const counts = kept.get(accountId) ?? new LRUCache<string, Count>({ max: countsMax });
    counts.set(key, count);
    kept.set(accountId, counts);
  }

  /** Counts what the first stretch left. */
  async function finish(count: Count, { lower, upper }: Range, stretches: Generator<Stretch>): Promise<void> {
    await nextTurn();
    for (const { found, end } of stretches) {
      count.count += found;
      count.range = { lower, upper: end === undefined ? upper : { operator: '<=', id: end } };
      if (end !== undefined) await nextTurn();
    }
  }

  return {
    async read(range, walk) {
      const { accountId, where, lower, upper } = range;
      const key = JSON.stringify([accountId, where, lower, upper]);
      const known = kept.get(accountId)?.get(key);
      if (known !== undefined) return known.count;
      let under = running.get(key);
      if (under === undefined) {
        const stretches = walk();
        const { found, end } = stretches.next().value as Stretch;
        // Counting so few costs less than keeping their count current.
        if (end === undefined) return found;
        const fields = where.map(({ name, value }) => ({ at: shape.fields.indexOf(name), value }));
        const count = {
          where: fields,
          range: { lower, upper: { operator: '<=', id: end } as const },
          count: found,
        };
        const done = finish(count, range, stretches)
          .then(() => keep(accountId, key, count))
          .finally(() => running.delete(key));
        under = { accountId, count, done };
        running.set(key, under);
      }
      await under.done;
      return under.count.count;
    },
    keeps: (accountId) =>
      kept.has(accountId) || [...running.values()].some((one) => one.accountId === accountId),
    changed({ accountId, id, fields }, by) {
      const ofAccount = [...running.values()].filter((one) => one.accountId === accountId);
      // A count that has just ended is in both.
      const counts = new Set([
        ...ofAccount.map(({ count }) => count),
        ...(kept.peek(accountId)?.values() ?? []),
      ]);
      for (const count of counts) {
        if (isWithin(count.range, id) && count.where.every(({ at, value }) => fields[at] === value))
          count.count += by;
      }
    },
  };
}
