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
      const { offset, limit, descending, charactersMax } = checked;
      return call(async () => {
        const cursor = kept().find(toMongodbFilter(checked), {
          sort: { id: descending ? -1 : 1 },
          skip: offset,
          limit,
        });
        return (await readUpTo(cursor, charactersMax)).found;
      }).then(decodeAll);
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
      const filter = after === undefined ? {} : { _id: { $gt: keyOf(after.accountId, after.id) } };
      const there = shape.outbox ? { version: { $gt: 0 } } : {};
      const cursor = kept().find({ ...filter, ...there }, { sort: { _id: 1 }, limit });
      return decodeAll((await call(() => readUpTo(cursor, charactersMax))).found);
    },
    async findDue(nowMs, limit) {
      checkCount('limit', limit);
      if (limit === 0 || shape.due === undefined) return { found: [], isAll: limit > 0 };
      const cursor = kept().find({ [shape.due]: { $lte: nowMs } }, { sort: { [shape.due]: 1 }, limit });
      const { found, isCut } = await call(() => readUpTo(cursor, dueCharactersMax));
      return { found: await decodeAll(found), isAll: !isCut && found.length < limit };
    },
  } satisfies Partial<Collection<T>>;
}

/** Reads up to the document with which all have more characters than this. */
async function readUpTo(documents: AsyncIterable<MongodbDocument>, charactersMax: number) {
  const found: MongodbDocument[] = [];
  let characters = 0;
  for await (const document of documents) {
    found.push(document);
    characters += document.body.length;
    if (characters > charactersMax) return { found, isCut: true };
  }
  return { found, isCut: false };
}
