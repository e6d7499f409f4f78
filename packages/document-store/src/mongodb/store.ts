import { HubError } from '@datahub/service-kit/call/error';
import type { MongoClientOptions } from 'mongodb';
import { MongoClient } from 'mongodb';
import { toShapes } from '../collection-spec.ts';
import type { CollectionSpec, DocumentStore } from '../document-store.ts';
import { createTurns } from '../keyed-mutex.ts';
import type { Calls } from './collection.ts';
import { createMongodbCollection } from './collection.ts';
import type { Kept } from './documents.ts';
import { fromMongodb, unavailable } from './errors.ts';
import { createOutboxes } from './outbox.ts';
import { prepareMongodb } from './schema.ts';

/** The database of a URL that names none. */
const defaultDatabase = 'datahub';

export interface MongodbOptions {
  /** How long a call looks for a server that can take it. */
  serverSelectionTimeoutMs?: number;
  /** How long an answer may take once the server has the call. */
  socketTimeoutMs?: number;
  poolSizeMax?: number;
}

/**
 * The store for several replicas: any server that speaks MongoDB's protocol. It asks for single-document writes
 * only, without transactions, TTL indexes or change streams. Writes are acknowledged by a journaled majority; reads
 * go to the primary and see only what a majority has, so what was read once is never rolled back, and what a call
 * acknowledged is seen by the next.
 */
export async function openMongodbStore(
  url: string,
  specs: readonly CollectionSpec[],
  options: MongodbOptions = {},
): Promise<DocumentStore> {
  const shapes = toShapes(specs);
  const client = new MongoClient(url, toClientOptions(options));
  // The driver's own parser is asked for everything else: URL refuses a list of several hosts.
  const named = /^[a-z+]+:\/\/[^/]*\/[^?]/.test(url);
  const db = client.db(named ? undefined : defaultDatabase);
  let open = true;
  const call: Calls['call'] = async (work) => {
    if (!open) throw unavailable('The store is closed.');
    try {
      return await work();
    } catch (err) {
      throw open ? fromMongodb(err) : unavailable('The store is closed.', err);
    }
  };
  const turns = createTurns();
  const outboxes = createOutboxes({ shapes, collection: (name) => db.collection<Kept>(name), call });
  const calls: Calls = { call, change: (key, work) => turns(key, () => call(work)), outboxes };
  try {
    await prepareBesideOthers(() => call(() => prepareMongodb(db, shapes)));
  } catch (err) {
    await client.close();
    throw err;
  }
  const byName = new Map(shapes.map((shape) => [shape.name, shape]));
  return {
    collection(name) {
      const shape = byName.get(name);
      if (shape === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
      return createMongodbCollection(db.collection<Kept>(name), shape, calls);
    },
    settle: () => outboxes.settle(),
    async health() {
      await call(() => db.command({ ping: 1 }));
    },
    async backup() {
      throw new TypeError('A MongoDB store is copied with its own tools, such as mongodump.');
    },
    async close() {
      open = false;
      await client.close();
    },
  };
}

function toClientOptions(options: MongodbOptions): MongoClientOptions {
  const { serverSelectionTimeoutMs = 3_000, socketTimeoutMs = 10_000, poolSizeMax = 32 } = options;
  return {
    appName: 'datahub',
    serverSelectionTimeoutMS: serverSelectionTimeoutMs,
    connectTimeoutMS: serverSelectionTimeoutMs,
    waitQueueTimeoutMS: serverSelectionTimeoutMs,
    socketTimeoutMS: socketTimeoutMs,
    maxPoolSize: poolSizeMax,
    writeConcern: { w: 'majority', journal: true, wtimeoutMS: socketTimeoutMs },
    readConcern: { level: 'majority' },
    readPreference: 'primary',
    // What the driver repeats it tells as if it had been sent once; see mongodb-repeats.ts.
    retryWrites: false,
    retryReads: true,
    promoteBuffers: true,
    ignoreUndefined: false,
  };
}

const prepareAttemptsMax = 10;
const prepareDelayMs = 50;

/** Services that start at the same time make the same collections and indexes; not every server takes that calmly. */
async function prepareBesideOthers(prepare: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await prepare();
      return;
    } catch (err) {
      const collided = err instanceof HubError && err.code === 'CONFLICT';
      if (!collided || attempt === prepareAttemptsMax) throw err;
      await new Promise((resolve) => setTimeout(resolve, prepareDelayMs * attempt));
    }
  }
}
