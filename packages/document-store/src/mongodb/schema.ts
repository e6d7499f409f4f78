import { HubError } from '@datahub/service-kit/call/error';
import { type Collection, type Db, type Document, type IndexDescription, MongoServerError } from 'mongodb';
import { isStale, type Shape } from '../collection-spec.ts';
import { toScalar } from '../document.ts';
import { formatVersion } from '../document-store.ts';
import { isTombstone, type MongodbDocument, toTombstone, toUniqueValues, uniqueField } from './documents.ts';

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
  const specs = new Map((await meta.find({}).toArray()).map(({ _id, spec }) => [_id, spec]));
  for (const shape of shapes) {
    const kept = db.collection<MongodbDocument>(shape.name);
    const spec = JSON.stringify(shape);
    const id = `collection ${shape.name}`;
    const known = specs.get(id);
    if (known !== undefined && known !== spec && isStale(known, shape)) await refillFields(kept, shape);
    await createIndexes(kept, shape);
    if (known !== spec) await meta.updateOne({ _id: { $eq: id } }, { $set: { spec } }, { upsert: true });
  }
}

async function checkFormat(meta: Collection<Meta>): Promise<void> {
  await meta.updateOne(
    { _id: { $eq: 'format' } },
    { $setOnInsert: { format: formatVersion } },
    { upsert: true },
  );
  const format = (await meta.findOne({ _id: { $eq: 'format' } }))?.format ?? formatVersion;
  if (format === formatVersion) return;
  if (format < formatVersion) {
    await meta.updateOne(
      { _id: { $eq: 'format' }, format: { $eq: format } },
      { $set: { format: formatVersion } },
    );
    return;
  }
  throw new HubError(
    'UNAVAILABLE',
    `The store has format ${format}; this version of the hub reads format ${formatVersion}. Start a newer version.`,
  );
}

async function createIndexes(kept: Collection<MongodbDocument>, shape: Shape): Promise<void> {
  const specs: IndexDescription[] = [
    { key: { accountId: 1, id: 1 } },
    ...shape.indexes.map((name) => ({ key: { accountId: 1, [name]: 1, id: 1 } })),
    ...(shape.pairs ?? []).map(([first, second]) => ({
      key: { accountId: 1, [first]: 1, [second]: 1, id: 1 },
    })),
    ...shape.unique.map((name) => ({ key: { [name]: 1 }, unique: true })),
  ];
  const { expires, expiresBy, due } = shape;
  if (due !== undefined) specs.push({ key: { [due]: 1 } });
  if (expires !== undefined)
    specs.push({ key: { ...(expiresBy === undefined ? {} : { [expiresBy]: 1 }), [expires]: 1 } });
  if (shape.outbox) specs.push({ key: { pending: 1 } });
  await createMissing(kept, specs);
  for (const constraint of shape.uniqueWithin ?? []) await createPartialUnique(kept, uniqueField(constraint));
}

const namespaceNotFound = 26;

/** By two commands at most, because a start over a slow link would wait for each. */
async function createMissing(
  kept: Collection<MongodbDocument>,
  specs: readonly IndexDescription[],
): Promise<void> {
  const found = await kept.indexes().catch((err) => {
    if (err instanceof MongoServerError && err.code === namespaceNotFound) return [];
    throw err;
  });
  const nameOf = ({ key, unique = false }: Pick<IndexDescription, 'key' | 'unique'>) =>
    JSON.stringify([key, unique]);
  const there = new Set(found.map(nameOf));
  const missing = specs.filter((spec) => !there.has(nameOf(spec)));
  if (missing.length === 0) return;
  await kept.createIndexes(missing).catch(async () => {
    // FerretDB 1 closes the connection if another process has just created some of them.
    for (const spec of missing) await kept.createIndexes([spec]);
  });
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
