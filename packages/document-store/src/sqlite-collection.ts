import { encode, isAccountId, isId } from './document.ts';
import type { Collection, Doc } from './document-store.ts';
import { checkCount, checkFilter, checkPage, checkStep } from './filter.ts';
import type { Shape } from './spec.ts';
import { checkDeclared } from './spec.ts';
import type { Commits } from './sqlite-commits.ts';
import { fromSqlite, unavailable } from './sqlite-errors.ts';
import type { Prepare } from './sqlite-reads.ts';
import { createReads } from './sqlite-reads.ts';
import { createWrites } from './sqlite-writes.ts';

interface Context {
  prepare: Prepare;
  commits: Commits;
  isOpen: () => boolean;
}

/** Accounts whose number of documents is kept in memory, a collection. */
const countedAccountsMax = 10_000;

export function createSqliteCollection(context: Context, shape: Shape) {
  /**
   * Numbers of documents by account. Counting a million index entries takes tens of milliseconds, and this process
   * alone writes the file, so a number once counted is kept current.
   */
  const counts = new Map<string, number>();
  function counted(accountId: string, by: number): void {
    const known = counts.get(accountId);
    if (known !== undefined) counts.set(accountId, known + by);
  }
  return {
    typed: <T extends Doc>(): Collection<T> => ({
      ...createReading<T>(context, shape, counts),
      ...createWriting<T>(context, shape, { counted, forget: () => counts.clear() }),
    }),
    forget: () => counts.clear(),
  };
}

function createReading<T extends Doc>(context: Context, shape: Shape, counts: Map<string, number>) {
  const reads = createReads<T>(context.prepare, shape);
  async function read<R>(work: () => R): Promise<R> {
    if (!context.isOpen()) throw unavailable('The store is closed.');
    try {
      return work();
    } catch (err) {
      throw fromSqlite(err);
    }
  }
  function countAll(accountId: string): number {
    const known = counts.get(accountId);
    if (known !== undefined) return known;
    if (counts.size >= countedAccountsMax) counts.clear();
    const count = reads.count({ accountId, where: [] });
    counts.set(accountId, count);
    return count;
  }
  return {
    get: (accountId, id) =>
      read(() => (isAccountId(accountId) && isId(id) ? reads.get(accountId, id) : null)),
    getUnique: (field, value) =>
      read(() => {
        checkDeclared(shape, 'unique', field);
        return typeof value === 'string' ? reads.getUnique(field, value) : null;
      }),
    find: (page) =>
      read(() => {
        const checked = checkPage(shape, page);
        return checked === null ? [] : reads.find(checked);
      }),
    findSummaries: (page) =>
      read(() => {
        const checked = checkPage(shape, page);
        return checked === null ? [] : reads.findSummaries(checked);
      }),
    count: ({ accountId, where = {} }) =>
      read(() => {
        const checked = checkFilter(shape, { accountId, where });
        if (checked === null) return 0;
        return checked.where.length === 0 ? countAll(accountId) : reads.count(checked);
      }),
    scan: ({ after, limit }) =>
      read(() => {
        checkCount('limit', limit);
        return reads.scan(after, limit);
      }),
  } satisfies Partial<Collection<T>>;
}

interface Counting {
  counted(accountId: string, by: number): void;
  forget(): void;
}

function createWriting<T extends Doc>({ prepare, commits }: Context, shape: Shape, counting: Counting) {
  const writes = createWrites(prepare, shape);
  return {
    async insert(doc) {
      const stored = encode(shape, doc);
      await commits.run(() => {
        writes.insert(stored);
        counting.counted(stored.accountId, 1);
      });
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => encode(shape, doc));
      await commits.run(() => {
        writes.insertMany(stored);
        for (const { accountId } of stored) counting.counted(accountId, 1);
      });
    },
    async replace(doc) {
      const stored = encode(shape, doc);
      return commits.run(() => writes.replace(stored));
    },
    async delete(accountId, id, guard = {}) {
      if (guard.zero !== undefined) checkDeclared(shape, 'counters', guard.zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      return commits.run(() => {
        const deleted = writes.delete(accountId, id, guard);
        if (deleted) counting.counted(accountId, -1);
        return deleted;
      });
    },
    async deleteMany(filter) {
      checkCount('limit', filter.limit);
      const checked = checkFilter(shape, filter);
      if (checked === null) return 0;
      return commits.run(() => {
        const deleted = writes.deleteMany(checked, filter.limit);
        counting.counted(checked.accountId, -deleted);
        return deleted;
      });
    },
    async add(accountId, id, counter, by) {
      checkDeclared(shape, 'counters', counter);
      checkStep(by);
      if (!isAccountId(accountId) || !isId(id)) return null;
      return commits.run(() => writes.add(accountId, id, counter, by));
    },
    async sweepExpired(nowMs, limit) {
      checkCount('limit', limit);
      return commits.run(() => {
        counting.forget();
        return writes.sweepExpired(nowMs, limit);
      });
    },
  } satisfies Partial<Collection<T>>;
}
