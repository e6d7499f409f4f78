import type { Document, Filter as MongodbFilter } from 'mongodb';
import type { Shape, UniqueWithin } from '../collection-spec.ts';
import type { Stored } from '../document.ts';
import { decode } from '../document.ts';
import type { Doc, Scalar, Summary } from '../document-store.ts';
import type { CheckedFilter } from '../filter.ts';

/** `_id` joins account and id, so the index that every server has makes ids unique within an account. */
export interface MongodbDocument extends Document {
  _id: string;
  accountId: string;
  id: string;
  version: number;
  body: string;
}

export function keyOf(accountId: string, id: string): string {
  return `${accountId}/${id}`;
}

/** The field with the value that a constraint of `uniqueWithin` makes unique. No declared name has an underscore. */
export const uniqueField = ({ field }: UniqueWithin): string => `unique_${field}`;

/**
 * The values that `uniqueWithin` makes unique. A document without one gets a value of its own, because FerretDB 1 has no
 * partial indexes, and in a plain one it takes two absent values for equal.
 */
export function toUniqueValues(
  shape: Shape,
  { accountId, id, fields }: Pick<Stored, 'accountId' | 'id' | 'fields'>,
): Document {
  const fieldOf = (name: string | undefined) =>
    name === undefined ? null : (fields[shape.fields.indexOf(name)] ?? null);
  const set: Document = {};
  for (const constraint of shape.uniqueWithin ?? []) {
    const value = fieldOf(constraint.field);
    set[uniqueField(constraint)] =
      value === null
        ? noValueOf(keyOf(accountId, id))
        : JSON.stringify([accountId, fieldOf(constraint.within), value]);
  }
  return set;
}

const noValueOf = (key: string): string => `none ${key}`;

/** The members that `replace` sets: all but identity and counters. */
export function toSet(shape: Shape, stored: Stored): Document {
  const { version, body, fields, bytes } = stored;
  const set: Document = { version, body, ...toUniqueValues(shape, stored) };
  shape.fields.forEach((name, i) => {
    set[name] = fields[i] ?? null;
  });
  shape.bytes.forEach((name, i) => {
    set[name] = bytes[i] ?? null;
  });
  return set;
}

export const isTombstone = ({ version }: Pick<MongodbDocument, 'version'>): boolean => version < 0;

/** The members of a tombstone, which no filter by account or value finds. */
export function toTombstone(shape: Shape, key: string): Document {
  const set: Document = { version: -1, accountId: `${key.split('/', 1)[0]}/`, body: '' };
  for (const name of shape.fields) set[name] = null;
  for (const name of shape.bytes) set[name] = null;
  for (const name of shape.unique) set[name] = `${key} is deleted`;
  for (const constraint of shape.uniqueWithin ?? []) set[uniqueField(constraint)] = noValueOf(key);
  return set;
}

export function toMongodbDocument(shape: Shape, stored: Stored): MongodbDocument {
  const { accountId, id, version, body } = stored;
  const counters = shape.counters.map((name, i) => [name, stored.counters[i] ?? 0]);
  return {
    _id: keyOf(accountId, id),
    accountId,
    id,
    version,
    body,
    ...toSet(shape, stored),
    ...Object.fromEntries(counters),
  };
}

export function fromMongodbDocument<T extends Doc>(shape: Shape, kept: MongodbDocument): T {
  return decode<T>(shape, {
    body: kept.body,
    counters: shape.counters.map((name) => Number(kept[name] ?? 0)),
    // The driver returns slices of its read buffer; a copy lets that buffer be freed.
    bytes: shape.bytes.map((name) => (kept[name] instanceof Uint8Array ? new Uint8Array(kept[name]) : null)),
  });
}

export function toSummary(shape: Shape, kept: Document): Summary {
  const summary: Summary = { id: kept.id };
  for (const name of shape.summaryFields) summary[name] = (kept[name] ?? null) as Scalar;
  return summary;
}

/** Values are validated as scalars. `$eq` additionally prevents that a value acts as an operator. */
export function toMongodbFilter(filter: CheckedFilter): MongodbFilter<MongodbDocument> {
  const condition: Document = { accountId: { $eq: filter.accountId } };
  for (const { name, value } of filter.where) condition[name] = { $eq: value };
  const id: Document = {};
  if (filter.from !== undefined) id.$gte = filter.from;
  if (filter.after !== undefined) id.$gt = filter.after;
  if (filter.before !== undefined) id.$lt = filter.before;
  if (Object.keys(id).length > 0) condition.id = id;
  return condition;
}

/**
 * The key includes the account. FerretDB uses its index only for a filter by a plain key, and reads the whole collection
 * for any other filter.
 */
export function keyFilter(accountId: string, id: string, version?: number) {
  const filter = { _id: keyOf(accountId, id) };
  return version === undefined ? filter : { ...filter, version: { $eq: version } };
}
