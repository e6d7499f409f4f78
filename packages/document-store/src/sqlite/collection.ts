import { checkDeclared, checkOutbox, type Shape } from '../collection-spec.ts';
import { encode, isAccountId, isId } from '../document.ts';
import type { Collection, CompanionWrite, CompanionWrites, Doc, Scalar } from '../document-store.ts';
import { checkCount, checkFilter, checkPage, checkStep } from '../filter.ts';
import type { Commits } from './commits.ts';
import { type Prepare, toRange } from './condition.ts';
import { type Counted, type Counts, createCounts } from './counts.ts';
import { type StoreErrors, unavailable } from './errors.ts';
import type { ReadTurns } from './read-turns.ts';
import { createReads } from './reads.ts';
import { createWrites, type Removed, type Writes } from './writes.ts';

interface Context {
  prepare: Prepare;
  turns: ReadTurns;
  commits: Commits;
  /** Called inside a commit. What it is given runs once the commit is made, and is dropped with what is rolled back. */
  afterCommit: (work: () => void) => void;
  isOpen: () => boolean;
  errors: StoreErrors;
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
        context.afterCommit(() => counts.changed(stored, 1));
      };
    },
    typed: <T extends Doc>(): Collection<T> => ({
      ...createReading<T>(context, shape, counts),
      ...createWriting<T>(context, shape, counts),
    }),
  };
}

function createReading<T extends Doc>(context: Context, shape: Shape, counts: Counts) {
  const reads = createReads<T>(context, shape);
  async function read<R>(work: () => R | Promise<R>): Promise<R> {
    const turn = context.turns.enter();
    if (turn !== undefined) await turn;
    if (!context.isOpen()) throw unavailable('The store is closed.');
    try {
      return await work();
    } catch (err) {
      throw context.errors.from(err);
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
        const range = toRange(checked);
        return counts.read(range, () => reads.stretchesOf(range));
      }),
    scan: (options) =>
      read(() => {
        checkCount('limit', options.limit);
        return reads.scan(options);
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
function createTracking({ toInsert, afterCommit }: Context, shape: Shape, { counts, writes }: Tracked) {
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
    if (before === null) return true;
    afterCommit(() => {
      counts.changed({ accountId, id, fields: before }, -1);
      if (after !== true) counts.changed({ accountId, id, fields: after }, 1);
    });
    return true;
  }
  return { withCompanion, tracked };
}

function createWriting<T extends Doc>(context: Context, shape: Shape, counts: Counts) {
  const { prepare, commits, afterCommit } = context;
  const isUrgent = context.urgent.has(shape.name);
  const writes = createWrites(prepare, shape);
  const { withCompanion, tracked } = createTracking(context, shape, { counts, writes });
  /** Removes up to `limit` documents, in as many turns as their bytes need. Resolves to their number. */
  const removed = async (limit: number, work: (limit: number) => Removed): Promise<number> => {
    let count = 0;
    for (let leftSome = true; leftSome; ) {
      const last = await commits.run(() => {
        const some = work(limit - count);
        afterCommit(() => {
          for (const one of some.removed) counts.changed(one, -1);
        });
        return some;
      });
      count += last.removed.length;
      leftSome = last.leftSome;
    }
    return count;
  };
  const inserted = (doc: Counted) => afterCommit(() => counts.changed(doc, 1));
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
        for (const one of writes.insertMany(stored)) inserted(one);
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
      return removed(filter.limit, (limit) => writes.deleteMany(checked, limit));
    },
    async add(accountId, id, step) {
      checkDeclared(shape, 'counters', step.counter);
      checkStep(step.by);
      if (!isAccountId(accountId) || !isId(id)) return null;
      return commits.run(() => writes.add(accountId, id, step));
    },
    async sweepExpired(nowMs, limit, by) {
      checkCount('limit', limit);
      return removed(limit, (most) => writes.sweepExpired(nowMs, most, by));
    },
  } satisfies Partial<Collection<T>>;
}
