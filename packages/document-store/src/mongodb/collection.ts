import { inGroups } from '@datahub/service-kit/yield-to-loop';
import type { Collection as MongodbCollection } from 'mongodb';
import type { Shape } from '../collection-spec.ts';
import { checkDeclared } from '../collection-spec.ts';
import { isAccountId, isId } from '../document.ts';
import { type Collection, type Doc, dueCharactersMax } from '../document-store.ts';
import { checkCount, checkFilter, checkPage } from '../filter.ts';
import type { MongodbDocument } from './documents.ts';
import {
  fromMongodbDocument,
  isTombstone,
  keyFilter,
  keyOf,
  toMongodbFilter,
  toSummary,
} from './documents.ts';
import { type Calls, createWriting } from './writes.ts';

export function createMongodbCollection<T extends Doc>(
  kept: () => MongodbCollection<MongodbDocument>,
  shape: Shape,
  calls: Calls,
): Collection<T> {
  return {
    ...createReading<T>(kept, shape, calls),
    ...createUpkeep<T>(kept, shape, calls),
    ...createWriting<T>({ collection: kept, shape, calls }),
  };
}

function createReading<T extends Doc>(
  kept: () => MongodbCollection<MongodbDocument>,
  shape: Shape,
  { call }: Calls,
) {
  const toDoc = (found: MongodbDocument): T => fromMongodbDocument<T>(shape, found);
  const decodeAll = (found: readonly MongodbDocument[]) => inGroups(found, 1, toDoc);
  const summaryFields = {
    _id: 0,
    id: 1,
    ...Object.fromEntries(shape.summaryFields.map((name) => [name, 1])),
  };

  return {
    async get(accountId, id) {
      if (!isAccountId(accountId) || !isId(id)) return null;
      const found = await call(() => kept().findOne(keyFilter(accountId, id)));
      return found === null || isTombstone(found) ? null : toDoc(found);
    },
    async getUnique(field, value) {
      checkDeclared(shape, 'unique', field);
      if (typeof value !== 'string') return null;
      const found = await call(() => kept().findOne({ [field]: { $eq: value } }));
      return found === null || isTombstone(found) ? null : toDoc(found);
    },
    async find(page) {
      const checked = checkPage(shape, page);
      // The server reads a limit of zero as no limit.
      if (checked === null || checked.limit === 0) return [];
      const { offset, descending } = checked;
      const sort = { id: descending ? -1 : 1 } as const;
      const read: ReadSome = (limit, last) => {
        // One lower bound: with two, a store may seek to the lower one.
        const { from: _, ...above } = checked;
        const rest = last && (descending ? { ...checked, before: last.id } : { ...above, after: last.id });
        const filter = toMongodbFilter(rest ?? checked);
        const cursor = kept().find(filter, { sort, skip: last === undefined ? offset : 0, limit });
        return call(() => cursor.toArray());
      };
      return decodeAll(await readUpTo(read, checked));
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
      const cursor = kept().find(toMongodbFilter(checked), options);
      return (await call(() => cursor.toArray())).map((found) => toSummary(shape, found));
    },
    async count(filter) {
      const checked = checkFilter(shape, filter);
      return checked === null ? 0 : call(() => kept().countDocuments(toMongodbFilter(checked)));
    },
  } satisfies Partial<Collection<T>>;
}

/** Reads across all accounts. */
function createUpkeep<T extends Doc>(
  kept: () => MongodbCollection<MongodbDocument>,
  shape: Shape,
  { call }: Calls,
) {
  const toDoc = (found: MongodbDocument): T => fromMongodbDocument<T>(shape, found);
  const decodeAll = (found: readonly MongodbDocument[]) => inGroups(found, 1, toDoc);
  return {
    async scan({ after, limit, charactersMax = Number.POSITIVE_INFINITY }) {
      checkCount('limit', limit);
      if (limit === 0) return [];
      const there = shape.outbox ? { version: { $gt: 0 } } : {};
      const read: ReadSome = (some, last) => {
        const from = last?._id ?? (after && keyOf(after.accountId, after.id));
        const filter = from === undefined ? {} : { _id: { $gt: from } };
        const cursor = kept().find({ ...filter, ...there }, { sort: { _id: 1 }, limit: some });
        return call(() => cursor.toArray());
      };
      return decodeAll(await readUpTo(read, { limit, charactersMax }));
    },
    async findDue(nowMs, limit) {
      checkCount('limit', limit);
      if (limit === 0 || shape.due === undefined) return { found: [], isAll: limit > 0 };
      const sort = { [shape.due]: 1 } as const;
      const cursor = kept().find({ [shape.due]: { $lte: nowMs } }, { sort, limit, batchSize: firstSize });
      const found: MongodbDocument[] = [];
      const isCut = await call(async () => {
        let characters = 0;
        for await (const document of cursor) {
          found.push(document);
          characters += document.body.length;
          if (characters > dueCharactersMax) return true;
        }
        return false;
      });
      return { found: await decodeAll(found), isAll: !isCut && found.length < limit };
    },
  } satisfies Partial<Collection<T>>;
}

/** Reads the first so many documents, or those behind the last one. */
type ReadSome = (limit: number, last: MongodbDocument | undefined) => Promise<MongodbDocument[]>;

/** Documents that are read before their size is known. */
const firstSize = 16;

/**
 * Reads up to the document with which all have more characters than `charactersMax`. A server sends up to 16 MiB at once,
 * however few are wanted, so it is asked for as many as are expected to fit, by the size of those before.
 */
async function readUpTo(
  read: ReadSome,
  { limit, charactersMax }: { limit: number; charactersMax: number },
): Promise<MongodbDocument[]> {
  const found: MongodbDocument[] = [];
  let characters = 0;
  let size = Number.isFinite(charactersMax) ? Math.min(limit, firstSize) : limit;
  for (;;) {
    const some = await read(size, found.at(-1));
    for (const document of some) {
      found.push(document);
      characters += document.body.length;
      if (characters > charactersMax) return found;
    }
    if (some.length < size || found.length === limit) return found;
    const fitting = Math.floor(((charactersMax - characters) * found.length) / characters) + 1;
    size = Math.min(fitting, limit - found.length);
  }
}
