import { HubError } from '@datahub/service-kit/call/error';
import { type Collection, type Db, type Document, type IndexSpecification, MongoServerError } from 'mongodb';
import { isStale, type Shape } from '../collection-spec.ts';
import { toScalar } from '../document.ts';
import { isTombstone, type MongodbDocument, toTombstone, toUniqueValues, uniqueField } from './documents.ts';

/** Incremented when older documents cannot be read without conversion. */
const formatVersion = 1;
const metaCollection = 'datahub_meta';

interface Meta extends Document {
  _id: string;
  format?: number;
  spec?: string;
}

/** Runs at every start, possibly of several replicas at once. Every step is idempotent. */
export async function prepareMongodb(db: Db, shapes: readonly Shape[]): Promise<void> {
  const meta = db.collection<Meta>(metaCollection);
  await checkFormat(meta);
  for (const shape of shapes) {
    const kept = db.collection<MongodbDocument>(shape.name);
    const spec = JSON.stringify(shape);
    const known = await meta.findOne({ _id: { $eq: `collection ${shape.name}` } });
    if (known?.spec !== undefined && known.spec !== spec && isStale(known.spec, shape))
      await refillFields(kept, shape);
    await createIndexes(kept, shape);
    if (known?.spec !== spec) {
      await meta.updateOne(
        { _id: { $eq: `collection ${shape.name}` } },
        { $set: { spec } },
        { upsert: true },
      );
    }
  }
}

async function checkFormat(meta: Collection<Meta>): Promise<void> {
  await meta.updateOne(
    { _id: { $eq: 'format' } },
    { $setOnInsert: { format: formatVersion } },
    { upsert: true },
  );
  const format = (await meta.findOne({ _id: { $eq: 'format' } }))?.format ?? formatVersion;
  if (format <= formatVersion) return;
  throw new HubError(
    'UNAVAILABLE',
    `The store has format ${format}; this version of the hub reads format ${formatVersion}. Start a newer version.`,
  );
}

async function createIndexes(kept: Collection<MongodbDocument>, shape: Shape): Promise<void> {
  const specs: [IndexSpecification, boolean][] = [
    [{ accountId: 1, id: 1 }, false],
    ...shape.indexes.map((name): [IndexSpecification, boolean] => [
      { accountId: 1, [name]: 1, id: 1 },
      false,
    ]),
    ...(shape.pairs ?? []).map(([first, second]): [IndexSpecification, boolean] => [
      { accountId: 1, [first]: 1, [second]: 1, id: 1 },
      false,
    ]),
    ...shape.unique.map((name): [IndexSpecification, boolean] => [{ [name]: 1 }, true]),
  ];
  const { expires, expiresBy, due } = shape;
  if (due !== undefined) specs.push([{ [due]: 1 }, false]);
  if (expires !== undefined)
    specs.push([{ ...(expiresBy === undefined ? {} : { [expiresBy]: 1 }), [expires]: 1 }, false]);
  if (shape.outbox) specs.push([{ pending: 1 }, false]);
  for (const [keys, unique] of specs) await kept.createIndex(keys, { unique });
  for (const constraint of shape.uniqueWithin ?? []) await createPartialUnique(kept, uniqueField(constraint));
}

const notImplemented = 238;

/**
 * Begins with the account, because a unique index of a sharded collection must begin with the shard key.
 * Documents that an older hub writes have no such field, and the partial index leaves them out. FerretDB 1 has no partial
 * indexes; several hubs cannot share it, so no older hub writes there.
 */
async function createPartialUnique(kept: Collection<MongodbDocument>, field: string): Promise<void> {
  const keys = { accountId: 1, [field]: 1 } as const;
  const partialFilterExpression = { [field]: { $type: 'string' } };
  try {
    await kept.createIndex(keys, { unique: true, partialFilterExpression });
  } catch (err) {
    if (!(err instanceof MongoServerError) || err.code !== notImplemented) throw err;
    await kept.createIndex(keys, { unique: true });
  }
}

/** Recomputes the copied fields from the bodies after a change of the specification. */
async function refillFields(kept: Collection<MongodbDocument>, shape: Shape): Promise<void> {
  if (shape.fields.length === 0) return;
  const projection = { version: 1, accountId: 1, id: 1, body: 1 };
  for await (const { _id, version, accountId, id, body } of kept.find({}, { projection })) {
    const set = isTombstone({ version }) ? toTombstone(shape, _id) : toFields(shape, { accountId, id, body });
    // A document that was replaced meanwhile has the new fields already.
    await kept.updateOne({ _id: { $eq: _id }, version: { $eq: version } }, { $set: set });
  }
}

function toFields(shape: Shape, { accountId, id, body }: Pick<MongodbDocument, 'accountId' | 'id' | 'body'>) {
  const doc = new Map(Object.entries(JSON.parse(body)));
  const fields = shape.fields.map((name) => toScalar(name, doc.get(name)));
  const copies = Object.fromEntries(shape.fields.map((name, i) => [name, fields[i] ?? null]));
  return { ...copies, ...toUniqueValues(shape, { accountId, id, fields }) };
}
