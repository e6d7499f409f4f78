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
import { isUnanswered } from './errors.ts';
import type { Outboxes } from './outbox.ts';

/** The most attempts at a change whose outbox others keep filling. */
const outboxAttemptsMax = 20;

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
  collection: MongodbCollection<MongodbDocument>;
  shape: Shape;
  calls: Calls;
}

/** Deletes by key what a bounded read selected, and checks the condition again, so that documents changed in between stay. */
async function deleteSelected(
  { collection, shape, calls: { call, outboxes } }: Target,
  { condition, sort, limit }: { condition: object; sort: Record<string, 1>; limit: number },
): Promise<number> {
  if (limit === 0) return 0;
  const cursor = collection.find(condition, { sort, limit, projection: { _id: 1, pending: 1 } });
  const found = await call(() => cursor.toArray());
  for (const { _id, pending } of found) if (pending !== undefined) await outboxes.deliver(shape, _id);
  const keys = found.map(({ _id }) => _id);
  if (keys.length === 0) return 0;
  const guard = shape.outbox ? { pending: null } : {};
  const result = await call(() => collection.deleteMany({ ...condition, ...guard, _id: { $in: keys } }));
  return result.deletedCount;
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
    async sweepExpired(nowMs, limit) {
      checkCount('limit', limit);
      const { expires } = shape;
      if (expires === undefined) return 0;
      return deleteSelected(target, {
        condition: { [expires]: { $lte: nowMs } },
        sort: { [expires]: 1 },
        limit,
      });
    },
  } satisfies Pick<Collection<Doc>, 'deleteMany' | 'sweepExpired'>;
}

/** Changes of one document. */
function createChanges({ collection, shape, calls }: Target) {
  const { call, outboxes } = calls;
  const change = <R>(key: string, work: () => Promise<R>) => calls.change(`${shape.name} ${key}`, work);
  const post = (companion: CompanionWrites | undefined) =>
    companion === undefined ? {} : outboxes.post(shape, companion);

  /** Repeats a change that needs an empty outbox. `work` returns false if the outbox is full or the version differs. */
  async function withEmptyOutbox(key: string, work: () => Promise<boolean>): Promise<boolean> {
    for (let attempt = 0; attempt < outboxAttemptsMax; attempt++) {
      if (await work()) return true;
      const found = await call(() =>
        collection.findOne({ _id: key }, { projection: { pending: 1, version: 1 } }),
      );
      if (found?.pending === undefined || found.version < 0) return false;
      await outboxes.deliver(shape, key);
    }
    return false;
  }

  async function replaceOnce(stored: ReturnType<typeof encode>, posted: object): Promise<boolean> {
    const { accountId, id, version, body } = stored;
    const isPosted = 'pending' in posted;
    const filter = { ...keyFilter(accountId, id, version - 1), ...(isPosted ? { pending: null } : {}) };
    const set = { $set: { ...toSet(shape, stored), ...posted } };
    const key = keyOf(accountId, id);
    const write = async () => (await change(key, () => collection.updateOne(filter, set))).matchedCount === 1;
    return answered(write, async () => {
      if (await write()) return true;
      const found = await call(() => collection.findOne({ _id: key }));
      return found !== null && found.version === version && found.body === body;
    });
  }

  /** Leaves a tombstone if there is a document beside the deletion. */
  async function deleteOnce(accountId: string, id: string, guard: DeleteGuard): Promise<boolean> {
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
      companion === undefined
        ? (await change(key, () => collection.deleteOne(filter))).deletedCount === 1
        : (await change(key, () => collection.updateOne(filter, entomb))).matchedCount === 1;
    return answered(write, async () => {
      if (await write()) return true;
      const found = await call(() => collection.findOne({ _id: key }, { projection: { version: 1 } }));
      return found === null || found.version < 0;
    });
  }

  return { change, post, withEmptyOutbox, replaceOnce, deleteOnce };
}

export function createWriting<T extends Doc>(target: Target) {
  const { collection, shape, calls } = target;
  const { call, outboxes } = calls;
  const { change, post, withEmptyOutbox, replaceOnce, deleteOnce } = createChanges(target);
  /** If this fails, the next `settle` delivers the document. */
  const deliver = (key: string) => outboxes.deliver(shape, key).catch(() => {});

  return {
    async insert(doc, companion) {
      const stored = { ...toMongodbDocument(shape, encode(shape, doc)), ...post(companion) };
      const write = async () => void (await call(() => collection.insertOne(stored)));
      await answered(write, async () => {
        const found = await call(() => collection.findOne({ _id: stored._id }));
        // For another document with this id the repeated insert reports the conflict.
        if (found === null || found.version !== stored.version || found.body !== stored.body) await write();
      });
      if (companion !== undefined) await deliver(stored._id);
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => toMongodbDocument(shape, encode(shape, doc)));
      if (stored.length > 0)
        await answered(() => call(() => collection.insertMany(stored, { ordered: true })));
    },
    async replace(doc, companion) {
      const stored = encode(shape, doc);
      const key = keyOf(stored.accountId, stored.id);
      const posted = post(companion);
      if (companion === undefined) return replaceOnce(stored, posted);
      const replaced = await withEmptyOutbox(key, () => replaceOnce(stored, posted));
      if (replaced) await deliver(key);
      return replaced;
    },
    async delete(accountId, id, guard = {}) {
      if (guard.zero !== undefined) checkDeclared(shape, 'counters', guard.zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      if (!shape.outbox && guard.companion === undefined) return deleteOnce(accountId, id, guard);
      const key = keyOf(accountId, id);
      const deleted = await withEmptyOutbox(key, () => deleteOnce(accountId, id, guard));
      if (deleted && guard.companion !== undefined) await deliver(key);
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
        change(keyOf(accountId, id), () => collection.findOneAndUpdate(filter, step, options));
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
    if (!(err instanceof HubError) || !isUnanswered(err.cause)) throw err;
    if (again === undefined) throw outcomeUnknown(err);
  }
  try {
    return await again();
  } catch (err) {
    if (err instanceof HubError && err.code !== 'UNAVAILABLE') throw err;
    throw outcomeUnknown(err);
  }
}
