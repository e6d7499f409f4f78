import { randomUUID } from 'node:crypto';
import { HubError, outcomeUnknown } from '@datahub/service-kit/call/error';
import type { Collection as MongodbCollection } from 'mongodb';
import { checkDeclared, type Shape } from '../collection-spec.ts';
import { encode, isAccountId, isId } from '../document.ts';
import type { Collection, CompanionWrites, DeleteGuard, Doc } from '../document-store.ts';
import { checkCount, checkFilter, checkStep } from '../filter.ts';
import {
  keyFilter,
  keyOf,
  type MongodbDocument,
  toMongodbDocument,
  toMongodbFilter,
  toSet,
  toTombstone,
} from './documents.ts';
import { isUnanswered, takenPlaces } from './errors.ts';
import type { Outboxes } from './outbox.ts';

/** The most attempts at a change whose outbox others keep filling. */
const changeAttemptsMax = 20;

export interface Calls {
  /** Runs a call to the server and converts its errors to the hub's. */
  call<R>(work: () => Promise<R>): Promise<R>;
  /**
   * The same for a change of one document; changes of the same key run one after the other. MongoDB does not need this.
   * FerretDB 1 reads before it writes, so of two racing updates both can succeed and one be lost. The order prevents that
   * within one process.
   */
  change<R>(key: string, work: () => Promise<R>): Promise<R>;
  outboxes: Outboxes;
}

interface Target {
  collection: () => MongodbCollection<MongodbDocument>;
  shape: Shape;
  calls: Calls;
}

/** Deletes by key what a bounded read selected, and checks the condition again, so that documents changed in between stay. */
async function deleteSelected(
  { collection, shape, calls: { call, outboxes } }: Target,
  { condition, sort, limit }: { condition: object; sort: Record<string, 1>; limit: number },
): Promise<number> {
  if (limit === 0) return 0;
  const cursor = collection().find(condition, { sort, limit, projection: { _id: 1, pending: 1 } });
  const found = await call(() => cursor.toArray());
  for (const { _id, pending } of found) if (pending !== undefined) await outboxes.deliver(shape, _id);
  const keys = found.map(({ _id }) => _id);
  if (keys.length === 0) return 0;
  const guard = shape.outbox ? { pending: null } : {};
  const write = () => call(() => collection().deleteMany({ ...condition, ...guard, _id: { $in: keys } }));
  return answered(
    async () => (await write()).deletedCount,
    // The repetition counts only what the first attempt left.
    async () => {
      await write();
      return keys.length;
    },
  );
}

function createBulkDeletes(target: Target) {
  const { shape } = target;
  return {
    async deleteMany(filter) {
      checkCount('limit', filter.limit);
      const checked = checkFilter(shape, filter);
      if (checked === null) return 0;
      return deleteSelected(target, {
        condition: toMongodbFilter(checked),
        sort: { id: 1 },
        limit: filter.limit,
      });
    },
    async sweepExpired(nowMs, limit, by = null) {
      checkCount('limit', limit);
      const { expires, expiresBy } = shape;
      if (expires === undefined) return 0;
      return deleteSelected(target, {
        condition: {
          ...(expiresBy === undefined ? {} : { [expiresBy]: { $eq: by } }),
          [expires]: { $lte: nowMs },
        },
        sort: { [expires]: 1 },
        limit,
      });
    },
  } satisfies Pick<Collection<Doc>, 'deleteMany' | 'sweepExpired'>;
}

/** A change by compare-and-set. */
interface Change {
  key: string;
  /** Sends the change. Resolves to false if the stored document is not the expected one. */
  write(): Promise<boolean>;
  /** True if it needs an empty outbox. */
  isPosted: boolean;
  /** Decides by what is stored whether a change whose answer was lost has taken effect; undefined if nothing shows it. */
  isDone(found: Left | null): boolean | undefined;
}

/** What a change left in its document. */
type Left = Pick<MongodbDocument, 'version'> & { pending?: string; written_by?: string };

/**
 * Repeats a change whose outbox is full or whose answer was lost. A repetition that is refused may have met its own first
 * attempt, which can also arrive after the driver gave it up.
 */
async function settle(
  { collection, shape, calls: { call, outboxes } }: Target,
  { key, write, isPosted, isDone }: Change,
): Promise<boolean> {
  let isLost = false;
  for (let attempt = 0; attempt < changeAttemptsMax; attempt++) {
    const written = await write().catch((err) => {
      if (!isLost && !isUnanswered(err)) throw err;
      if (isLost && !isRefusal(err)) throw outcomeUnknown(err);
      if (isLost) throw err;
      isLost = true;
      return undefined;
    });
    if (written === undefined) continue;
    if (written || !(isPosted || isLost)) return written;
    const projection = { pending: 1, version: 1, written_by: 1 };
    const found = await call(() => collection().findOne<Left>({ _id: key }, { projection })).catch((err) => {
      throw isLost ? outcomeUnknown(err) : err;
    });
    const done = isLost ? isDone(found) : false;
    if (done === undefined) throw outcomeUnknown(undefined);
    if (done || !isPosted || found?.pending === undefined || found.version < 0) return done;
    await outboxes.deliver(shape, key);
  }
  return false;
}

/** False for an empty list, too. */
const hasSome = (companion: CompanionWrites | undefined): companion is CompanionWrites =>
  companion !== undefined && [companion].flat().length > 0;

/** Changes of one document. */
function createChanges(target: Target) {
  const { collection, shape, calls } = target;
  const change = <R>(key: string, work: () => Promise<R>) => calls.change(`${shape.name} ${key}`, work);
  const post = (companion: CompanionWrites | undefined) =>
    hasSome(companion) ? calls.outboxes.post(shape, companion) : {};

  function replace(stored: ReturnType<typeof encode>, posted: object): Promise<boolean> {
    const { accountId, id, version } = stored;
    const isPosted = 'pending' in posted;
    const filter = { ...keyFilter(accountId, id, version - 1), ...(isPosted ? { pending: null } : {}) };
    const written_by = randomUUID();
    const set = { $set: { ...toSet(shape, stored), ...posted, written_by } };
    const key = keyOf(accountId, id);
    return settle(target, {
      key,
      isPosted,
      write: async () => (await change(key, () => collection().updateOne(filter, set))).matchedCount === 1,
      isDone: (found) => {
        if (found?.written_by === written_by) return true;
        // A later change, or a deletion, has taken the place of this one or of another.
        return found === null || found.version < 0 || found.version > version ? undefined : false;
      },
    });
  }

  /** Leaves a tombstone if there is a document beside the deletion. */
  function remove(accountId: string, id: string, guard: DeleteGuard): Promise<boolean> {
    const { version, zero, companion } = guard;
    const filter = {
      ...keyFilter(accountId, id, version),
      ...(version === undefined && shape.outbox ? { version: { $gt: 0 } } : {}),
      ...(zero === undefined ? {} : { [zero]: { $eq: 0 } }),
      ...(shape.outbox ? { pending: null } : {}),
    };
    const key = keyOf(accountId, id);
    const entomb = { $set: { ...toTombstone(shape, key), ...post(companion) } };
    const write = async () =>
      hasSome(companion)
        ? (await change(key, () => collection().updateOne(filter, entomb))).matchedCount === 1
        : (await change(key, () => collection().deleteOne(filter))).deletedCount === 1;
    const isDone = (found: Left | null) => found === null || found.version < 0;
    return settle(target, { key, write, isPosted: shape.outbox === true, isDone });
  }

  return { change, post, replace, remove };
}

export function createWriting<T extends Doc>(target: Target) {
  const { collection, shape, calls } = target;
  const { call, outboxes } = calls;
  const { change, post, replace, remove } = createChanges(target);
  const hasUnique = shape.unique.length > 0 || shape.uniqueWithin !== undefined;
  /** If this fails, the next `settle` delivers the document. */
  const deliver = (key: string) => outboxes.deliver(shape, key).catch(() => {});

  return {
    async insert(doc, companion) {
      const made_by = randomUUID();
      const stored = { ...toMongodbDocument(shape, encode(shape, doc)), ...post(companion), made_by };
      const write = async () => void (await call(() => collection().insertOne(stored)));
      await answered(write, () =>
        write().catch(async (err) => {
          if (!isRefusal(err)) throw err;
          const found = await call(() => collection().findOne({ _id: stored._id }));
          // For another document with this id or unique value it is a conflict.
          if (found?.made_by !== made_by) throw err;
        }),
      );
      if (hasSome(companion)) await deliver(stored._id);
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => toMongodbDocument(shape, encode(shape, doc)));
      if (stored.length === 0) return;
      const write = async () => void (await call(() => collection().insertMany(stored, { ordered: false })));
      const writeNew = () =>
        write().catch(async (err) => {
          const taken = takenPlaces(err);
          if (taken === undefined) throw err;
          // Servers do not all name the index.
          if (!hasUnique) return;
          const keys = taken.map((place) => stored[place]?._id as string);
          const there = await call(() => collection().countDocuments({ _id: { $in: keys } }));
          if (there < keys.length) throw err;
        });
      await answered(writeNew, writeNew);
    },
    async replace(doc, companion) {
      const stored = encode(shape, doc);
      const replaced = await replace(stored, post(companion));
      if (replaced && hasSome(companion)) await deliver(keyOf(stored.accountId, stored.id));
      return replaced;
    },
    async delete(accountId, id, guard = {}) {
      if (guard.zero !== undefined) checkDeclared(shape, 'counters', guard.zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      const deleted = await remove(accountId, id, guard);
      if (deleted && hasSome(guard.companion)) await deliver(keyOf(accountId, id));
      return deleted;
    },
    async add(accountId, id, { counter, by }) {
      checkDeclared(shape, 'counters', counter);
      checkStep(by);
      if (!isAccountId(accountId) || !isId(id)) return null;
      const options = { returnDocument: 'after' } as const;
      const filter = keyFilter(accountId, id);
      const step = { $inc: { [counter]: by } };
      const write = () =>
        change(keyOf(accountId, id), () => collection().findOneAndUpdate(filter, step, options));
      const found = await answered(write);
      return found === null ? null : Number(found[counter]);
    },
    ...createBulkDeletes(target),
  } satisfies Partial<Collection<T>>;
}

/**
 * @param work the write; rejects with the errors of the port
 * @param again sends it again and determines the outcome of the first one; absent if that is impossible
 */
async function answered<R>(work: () => Promise<R>, again?: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (err) {
    if (!isUnanswered(err)) throw err;
    if (again === undefined) throw outcomeUnknown(err);
  }
  try {
    return await again();
  } catch (err) {
    if (isRefusal(err)) throw err;
    throw outcomeUnknown(err);
  }
}

/** True for an error that the server answers about the write itself, so that the write had no effect. */
const isRefusal = (err: unknown): boolean => err instanceof HubError && err.code === 'CONFLICT';
