import { checkDeclared, checkOutbox, type Shape } from '../collection-spec.ts';
import { encode, isAccountId, isId, type Stored } from '../document.ts';
import type { Collection, CompanionWrite, CompanionWrites, Doc, Scalar } from '../document-store.ts';
import { type CheckedFilter, checkCount, checkFilter, checkPage, checkStep } from '../filter.ts';
import type { Commits } from './commits.ts';
import { fromSqlite, unavailable } from './errors.ts';
import { createReads, type Prepare } from './reads.ts';
import { createWrites, type Removed, type Writes } from './writes.ts';

interface Context {
  prepare: Prepare;
  commits: Commits;
  isOpen: () => boolean;
  /** Validates a document and returns the function that inserts it inside a commit. */
  toInsert: (companion: CompanionWrite) => () => void;
  /** The collections with `urgentDeletes`. */
  urgent: ReadonlySet<string>;
}

export function createSqliteCollection(context: Context, shape: Shape) {
  const counts = createCounts(shape);
  const writes = createWrites(context.prepare, shape);
  return {
    toInsert(doc: Doc): () => void {
      const stored = encode(shape, doc);
      return () => {
        writes.insert(stored);
        counts.changed(stored.accountId, stored.fields, 1);
      };
    },
    typed: <T extends Doc>(): Collection<T> => ({
      ...createReading<T>(context, shape, counts),
      ...createWriting<T>(context, shape, counts),
    }),
    /** After a rollback the counts may be wrong. */
    forget: () => counts.forget(),
  };
}

function createReading<T extends Doc>(context: Context, shape: Shape, counts: Counts) {
  const reads = createReads<T>(context.prepare, shape);
  async function read<R>(work: () => R): Promise<R> {
    if (!context.isOpen()) throw unavailable('The store is closed.');
    try {
      return work();
    } catch (err) {
      throw fromSqlite(err);
    }
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
    count: (filter) =>
      read(() => {
        const checked = checkFilter(shape, filter);
        if (checked === null) return 0;
        const { from, after, before } = checked;
        // Counts of ranges are not kept.
        const isRange = (from ?? after ?? before) !== undefined;
        return isRange ? reads.count(checked) : counts.read(checked, () => reads.count(checked));
      }),
    scan: ({ after, limit }) =>
      read(() => {
        checkCount('limit', limit);
        return reads.scan(after, limit);
      }),
    findDue: (nowMs, limit) =>
      read(() => {
        checkCount('limit', limit);
        return reads.findDue(nowMs, limit);
      }),
  } satisfies Partial<Collection<T>>;
}

interface Tracked {
  counts: Counts;
  writes: Writes;
}

/** What surrounds a change: the inserts beside it, and the update of the counts. */
function createTracking({ toInsert }: Context, shape: Shape, { counts, writes }: Tracked) {
  /** Makes a change and the inserts beside it atomic. Nothing is inserted if `work` returns false. */
  function withCompanion<R>(work: () => R, companion: CompanionWrites | undefined): () => R {
    if (companion === undefined) return work;
    checkOutbox(shape);
    const inserts = [companion].flat().map(toInsert);
    return () =>
      writes.atomically(() => {
        const result = work();
        if (result !== false) for (const insert of inserts) insert();
        return result;
      });
  }
  /** Runs a change of one document and updates the counts by its fields before and after. */
  function tracked(accountId: string, id: string, work: () => Scalar[] | boolean): boolean {
    const before = counts.keeps(accountId) ? writes.fieldsOf(accountId, id) : null;
    const after = work();
    if (after === false) return false;
    if (before !== null) counts.changed(accountId, before, -1);
    if (before !== null && after !== true) counts.changed(accountId, after, 1);
    return true;
  }
  return { withCompanion, tracked };
}

function createWriting<T extends Doc>(context: Context, shape: Shape, counts: Counts) {
  const { prepare, commits } = context;
  const isUrgent = context.urgent.has(shape.name);
  const writes = createWrites(prepare, shape);
  const { withCompanion, tracked } = createTracking(context, shape, { counts, writes });
  /** Removes up to `limit` documents, in as many turns as their bytes need. Resolves to their number. */
  const removed = async (limit: number, work: (limit: number) => Removed): Promise<number> => {
    let count = 0;
    for (let leftSome = true; leftSome; ) {
      const last = await commits.run(() => work(limit - count));
      count += last.count;
      leftSome = last.leftSome;
    }
    return count;
  };
  const inserted = ({ accountId, fields }: Stored) => counts.changed(accountId, fields, 1);
  return {
    async insert(doc, companion) {
      const stored = encode(shape, doc);
      const insert = withCompanion(() => writes.insert(stored), companion);
      await commits.run(() => {
        insert();
        inserted(stored);
      });
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => encode(shape, doc));
      await commits.run(() => {
        writes.insertMany(stored);
        for (const one of stored) inserted(one);
      });
    },
    async replace(doc, companion) {
      const stored = encode(shape, doc);
      const { accountId, id, fields } = stored;
      const replace = withCompanion(() => writes.replace(stored) && fields, companion);
      return commits.run(() => tracked(accountId, id, replace));
    },
    async delete(accountId, id, guard = {}) {
      if (guard.zero !== undefined) checkDeclared(shape, 'counters', guard.zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      const drop = withCompanion(() => writes.delete(accountId, id, guard), guard.companion);
      return commits.run(() => tracked(accountId, id, drop), { isUrgent });
    },
    async deleteMany(filter) {
      checkCount('limit', filter.limit);
      const checked = checkFilter(shape, filter);
      if (checked === null) return 0;
      return removed(filter.limit, (limit) => {
        counts.forget(checked.accountId);
        return writes.deleteMany(checked, limit);
      });
    },
    async add(accountId, id, step) {
      checkDeclared(shape, 'counters', step.counter);
      checkStep(step.by);
      if (!isAccountId(accountId) || !isId(id)) return null;
      return commits.run(() => writes.add(accountId, id, step));
    },
    async sweepExpired(nowMs, limit, by) {
      checkCount('limit', limit);
      return removed(limit, (most) => {
        counts.forget();
        return writes.sweepExpired(nowMs, most, by);
      });
    },
  } satisfies Partial<Collection<T>>;
}

/** Smaller counts are not cached: counting index entries costs less than keeping them current. */
const cachedMin = 1_000;
/** How many filters are cached for one account, and for how many accounts. */
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
interface Counts {
  /** The cached count, or the result of `work`. */
  read(filter: CheckedFilter, work: () => number): number;
  /** Whether `changed` needs the old fields of this account's documents. */
  keeps(accountId: string): boolean;
  /** A document was added (`by` 1) or removed (-1). `fields` are in the order of `shape.fields`. */
  changed(accountId: string, fields: readonly Scalar[], by: 1 | -1): void;
  forget(accountId?: string): void;
}

function createCounts(shape: Shape): Counts {
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
