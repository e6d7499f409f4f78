import type { Collection as MongodbCollection } from 'mongodb';
import { encode, isAccountId, isId } from './document.ts';
import type { Collection, Doc } from './document-store.ts';
import { checkCount, checkFilter, checkPage, checkStep } from './filter.ts';
import type { Kept } from './mongodb-documents.ts';
import { fromKept, keyOf, toKept, toMongodbFilter, toSet, toSummary } from './mongodb-documents.ts';
import type { Shape } from './spec.ts';
import { checkDeclared } from './spec.ts';

export interface Calls {
  /** Runs a call to the server, turning what it throws into the hub's errors. */
  call<R>(work: () => Promise<R>): Promise<R>;
  /**
   * The same for a change of one document, one after the other. MongoDB needs no turns; FerretDB 1 reads and then
   * writes, so that of two updates that race both can be answered as done and one be lost. Turns make it right for
   * one process.
   */
  change<R>(key: string, work: () => Promise<R>): Promise<R>;
}

export function createMongodbCollection<T extends Doc>(
  kept: MongodbCollection<Kept>,
  shape: Shape,
  calls: Calls,
): Collection<T> {
  return { ...createReading<T>(kept, shape, calls), ...createWriting<T>(kept, shape, calls) };
}

function createReading<T extends Doc>(kept: MongodbCollection<Kept>, shape: Shape, { call }: Calls) {
  const toDoc = (found: Kept): T => fromKept<T>(shape, found);
  const summaryFields = {
    _id: 0,
    id: 1,
    ...Object.fromEntries(shape.summaryFields.map((name) => [name, 1])),
  };

  return {
    async get(accountId, id) {
      if (!isAccountId(accountId) || !isId(id)) return null;
      const found = await call(() => kept.findOne(keyFilter(accountId, id)));
      return found === null ? null : toDoc(found);
    },
    async getUnique(field, value) {
      checkDeclared(shape, 'unique', field);
      if (typeof value !== 'string') return null;
      const found = await call(() => kept.findOne({ [field]: { $eq: value } }));
      return found === null ? null : toDoc(found);
    },
    async find(page) {
      const checked = checkPage(shape, page);
      // The server reads a limit of zero as no limit.
      if (checked === null || checked.limit === 0) return [];
      const { offset, limit, descending } = checked;
      const cursor = kept.find(toMongodbFilter(checked), {
        sort: { id: descending ? -1 : 1 },
        skip: offset,
        limit,
      });
      return (await call(() => cursor.toArray())).map(toDoc);
    },
    async findSummaries(page) {
      const checked = checkPage(shape, page);
      if (checked === null || checked.limit === 0) return [];
      const { offset, limit, descending } = checked;
      const options = {
        sort: { id: descending ? -1 : 1 },
        skip: offset,
        limit,
        projection: summaryFields,
      } as const;
      const cursor = kept.find(toMongodbFilter(checked), options);
      return (await call(() => cursor.toArray())).map((found) => toSummary(shape, found));
    },
    async count({ accountId, where = {} }) {
      const checked = checkFilter(shape, { accountId, where });
      return checked === null ? 0 : call(() => kept.countDocuments(toMongodbFilter(checked)));
    },
    async scan({ after, limit }) {
      checkCount('limit', limit);
      if (limit === 0) return [];
      const filter = after === undefined ? {} : { _id: { $gt: keyOf(after.accountId, after.id) } };
      const cursor = kept.find(filter, { sort: { _id: 1 }, limit });
      return (await call(() => cursor.toArray())).map(toDoc);
    },
  } satisfies Partial<Collection<T>>;
}

function createWriting<T extends Doc>(kept: MongodbCollection<Kept>, shape: Shape, calls: Calls) {
  const { call } = calls;
  const change = <R>(accountId: string, id: string, work: () => Promise<R>) =>
    calls.change(`${shape.name} ${keyOf(accountId, id)}`, work);

  /** Deletes by key what a bounded read chose, repeating the condition: a change in between keeps a document. */
  async function deleteChosen(condition: object, sort: Record<string, 1>, limit: number): Promise<number> {
    if (limit === 0) return 0;
    const cursor = kept.find(condition, { sort, limit, projection: { _id: 1 } });
    const keys = (await call(() => cursor.toArray())).map((found) => found._id);
    if (keys.length === 0) return 0;
    const result = await call(() => kept.deleteMany({ ...condition, _id: { $in: keys } }));
    return result.deletedCount;
  }

  return {
    async insert(doc) {
      const stored = toKept(shape, encode(shape, doc));
      await call(() => kept.insertOne(stored));
    },
    async insertMany(docs) {
      const stored = docs.map((doc) => toKept(shape, encode(shape, doc)));
      if (stored.length > 0) await call(() => kept.insertMany(stored, { ordered: true }));
    },
    async replace(doc) {
      const stored = encode(shape, doc);
      const filter = keyFilter(stored.accountId, stored.id, stored.version - 1);
      const set = { $set: toSet(shape, stored) };
      const result = await change(stored.accountId, stored.id, () => kept.updateOne(filter, set));
      return result.matchedCount === 1;
    },
    async delete(accountId, id, { version, zero } = {}) {
      if (zero !== undefined) checkDeclared(shape, 'counters', zero);
      if (!isAccountId(accountId) || !isId(id)) return false;
      const guard = zero === undefined ? {} : { [zero]: { $eq: 0 } };
      const filter = { ...keyFilter(accountId, id, version), ...guard };
      const result = await change(accountId, id, () => kept.deleteOne(filter));
      return result.deletedCount === 1;
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
      const found = await change(accountId, id, () => kept.findOneAndUpdate(filter, step, options));
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
function keyFilter(accountId: string, id: string, version?: number) {
  const filter = { _id: keyOf(accountId, id) };
  return version === undefined ? filter : { ...filter, version: { $eq: version } };
}
