import type { Collection as MongodbCollection } from 'mongodb';
import type { Shape } from '../collection-spec.ts';
import { checkDeclared } from '../collection-spec.ts';
import { encode, isAccountId, isId } from '../document.ts';
import type { Beside, Collection, DeleteGuard, Doc } from '../document-store.ts';
import { checkCount, checkFilter, checkStep } from '../filter.ts';
import type { Calls } from './collection.ts';
import { type Kept, keyOf, toBuried, toKept, toMongodbFilter, toSet } from './documents.ts';
import { answered } from './repeats.ts';

/** An outbox that others keep filling is given up on after so many times. */
const outboxAttemptsMax = 20;

export function createWriting<T extends Doc>(kept: MongodbCollection<Kept>, shape: Shape, calls: Calls) {
  const { call, outboxes } = calls;
  const change = <R>(key: string, work: () => Promise<R>) => calls.change(`${shape.name} ${key}`, work);
  const post = (beside: Beside | undefined) => (beside === undefined ? {} : outboxes.post(shape, beside));
  /** What stays behind when this fails is brought by the next `settle`. */
  const deliver = (key: string) => outboxes.deliver(shape, key).catch(() => {});

  /** Deletes by key what a bounded read chose, repeating the condition: a change in between keeps a document. */
  async function deleteChosen(condition: object, sort: Record<string, 1>, limit: number): Promise<number> {
    if (limit === 0) return 0;
    const cursor = kept.find(condition, { sort, limit, projection: { _id: 1, pending: 1 } });
    const found = await call(() => cursor.toArray());
    for (const { _id, pending } of found) if (pending !== undefined) await outboxes.deliver(shape, _id);
    const keys = found.map(({ _id }) => _id);
    if (keys.length === 0) return 0;
    const guard = shape.outbox ? { pending: null } : {};
    const result = await call(() => kept.deleteMany({ ...condition, ...guard, _id: { $in: keys } }));
    return result.deletedCount;
  }

  /** Runs a change that needs the outbox empty: `work` answers whether it found the document so. */
  async function withEmptyOutbox(key: string, work: () => Promise<boolean>): Promise<boolean> {
    for (let attempt = 0; attempt < outboxAttemptsMax; attempt++) {
      if (await work()) return true;
      const found = await call(() => kept.findOne({ _id: key }, { projection: { pending: 1, version: 1 } }));
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
    const write = async () => (await change(key, () => kept.updateOne(filter, set))).matchedCount === 1;
    return answered(write, async () => {
      if (await write()) return true;
      const found = await call(() => kept.findOne({ _id: key }));
      return found !== null && found.version === version && found.body === body;
    });
  }

  /** With an outbox it is buried until that is empty, else it goes at once. */
  async function deleteOnce(accountId: string, id: string, guard: DeleteGuard): Promise<boolean> {
    const { version, zero, beside } = guard;
    const filter = {
      ...keyFilter(accountId, id, version),
      ...(version === undefined && shape.outbox ? { version: { $gt: 0 } } : {}),
      ...(zero === undefined ? {} : { [zero]: { $eq: 0 } }),
      ...(shape.outbox ? { pending: null } : {}),
    };
    const key = keyOf(accountId, id);
    const bury = { $set: { ...toBuried(shape, key), ...post(beside) } };
    const write = async () =>
      beside === undefined
        ? (await change(key, () => kept.deleteOne(filter))).deletedCount === 1
        : (await change(key, () => kept.updateOne(filter, bury))).matchedCount === 1;
    return answered(write, async () => {
      if (await write()) return true;
      const found = await call(() => kept.findOne({ _id: key }, { projection: { version: 1 } }));
      return found === null || found.version < 0;
    });
  }

  return {
    async insert(doc, beside) {
      const stored = { ...toKept(shape, encode(shape, doc)), ...post(beside) };
      const write = async () => void (await call(() => kept.insertOne(stored)));
      await answered(write, async () => {
        const found = await call(() => kept.findOne({ _id: stored._id }));
        // Another one of this id is a conflict, which to insert it again will tell.
        if (found === null || found.version !== stored.version || found.body !== stored.body) await write();
      });
      if (beside !== undefined) await deliver(stored._id);
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => toKept(shape, encode(shape, doc)));
      if (stored.length > 0) await answered(() => call(() => kept.insertMany(stored, { ordered: true })));
    },
    async replace(doc, beside) {
      const stored = encode(shape, doc);
      const key = keyOf(stored.accountId, stored.id);
      const posted = post(beside);
      if (beside === undefined) return replaceOnce(stored, posted);
      const replaced = await withEmptyOutbox(key, () => replaceOnce(stored, posted));
      if (replaced) await deliver(key);
      return replaced;
    },
    async delete(accountId, id, guard = {}) {
      if (guard.zero !== undefined) checkDeclared(shape, 'counters', guard.zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      if (!shape.outbox && guard.beside === undefined) return deleteOnce(accountId, id, guard);
      const key = keyOf(accountId, id);
      const deleted = await withEmptyOutbox(key, () => deleteOnce(accountId, id, guard));
      if (deleted && guard.beside !== undefined) await deliver(key);
      return deleted;
    },
    async deleteMany(filter) {
      checkCount('limit', filter.limit);
      const checked = checkFilter(shape, filter);
      return checked === null ? 0 : deleteChosen(toMongodbFilter(checked), { id: 1 }, filter.limit);
    },
    async add(accountId, id, counter, by) {
      checkDeclared(shape, 'counters', counter);
      checkStep(by);
      if (!isAccountId(accountId) || !isId(id)) return null;
      const options = { returnDocument: 'after' } as const;
      const filter = keyFilter(accountId, id);
      const step = { $inc: { [counter]: by } };
      const write = () => change(keyOf(accountId, id), () => kept.findOneAndUpdate(filter, step, options));
      const found = await answered(write);
      return found === null ? null : Number(found[counter]);
    },
    async sweepExpired(nowMs, limit) {
      checkCount('limit', limit);
      const { expires } = shape;
      if (expires === undefined) return 0;
      return deleteChosen({ [expires]: { $lte: nowMs } }, { [expires]: 1 }, limit);
    },
  } satisfies Partial<Collection<T>>;
}

/**
 * The key tells the account as well. Alone and as a plain value it is all that FerretDB looks up by its index; of any
 * other filter it reads the whole collection.
 */
export function keyFilter(accountId: string, id: string, version?: number) {
  const filter = { _id: keyOf(accountId, id) };
  return version === undefined ? filter : { ...filter, version: { $eq: version } };
}
