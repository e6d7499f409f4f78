import { HubError } from '@datahub/service-kit/call/error';
import type { MongoClientOptions } from 'mongodb';
import { MongoClient } from 'mongodb';
import { toShapes } from '../collection-spec.ts';
import type { CollectionSpec, DocumentStore } from '../document-store.ts';
import { createKeyedMutex } from '../keyed-mutex.ts';
import { createMongodbCollection } from './collection.ts';
import type { MongodbDocument } from './documents.ts';
import { createLink } from './link.ts';
import { createOutboxes } from './outbox.ts';
import { prepareMongodb } from './schema.ts';
import type { Calls } from './writes.ts';

/** The database if the URL names none. */
const defaultDatabase = 'datahub';

export interface MongodbOptions {
  /** How long a call waits for an available server. */
  serverSelectionTimeoutMs?: number;
  /** How long the server may take to answer. */
  socketTimeoutMs?: number;
  poolSizeMax?: number;
}

/**
 * The store for several replicas: any server that speaks MongoDB's protocol. It needs single-document writes only, and no
 * transactions, TTL indexes or change streams. Writes are acknowledged by a journaled majority. Reads go to the primary
 * with majority read concern, so they see every acknowledged write, and nothing that could be rolled back.
 */
export async function openMongodbStore(
  url: string,
  specs: readonly CollectionSpec[],
  options: MongodbOptions = {},
): Promise<DocumentStore> {
  const shapes = toShapes(specs);
  // `URL` rejects a list of hosts, so only this check is made here, and the driver parses the rest.
  const named = /^[a-z+]+:\/\/[^/]*\/[^?]/.test(url);
  const link = createLink({
    createClient: () => new MongoClient(url, toClientOptions(options)),
    databaseOf: (client) => client.db(named ? undefined : defaultDatabase),
  });
  const { call } = link;
  const collection = (name: string) => link.db.collection<MongodbDocument>(name);
  const mutex = createKeyedMutex();
  const change: Calls['change'] = (key, work) => mutex(key, () => call(work));
  const outboxes = createOutboxes({
    shapes,
    collection,
    call,
    change,
  });
  const calls: Calls = { call, change, outboxes };
  try {
    await prepareWithRetries(() => call(() => prepareMongodb(link.db, shapes)));
  } catch (err) {
    await link.close();
    throw err;
  }
  link.arm();
  const byName = new Map(shapes.map((shape) => [shape.name, shape]));
  return {
    collection(name) {
      const shape = byName.get(name);
      if (shape === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
      return createMongodbCollection(() => collection(name), shape, calls);
    },
    settle: () => outboxes.settle(),
    async health() {
      await call(() => link.db.command({ ping: 1 }));
    },
    async backup() {
      throw new TypeError('Copy a MongoDB store with its own tools, such as mongodump.');
    },
    shrink: async () => 0,
    close: () => link.close(),
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
    // The driver would hide its own repetitions, so the adapter repeats writes itself; see repeats.ts.
    retryWrites: false,
    retryReads: true,
    promoteBuffers: true,
    ignoreUndefined: false,
  };
}

const prepareAttemptsMax = 10;
const prepareDelayMs = 50;

/** Replicas that start together create the same collections and indexes, which fails on some servers. */
async function prepareWithRetries(prepare: () => Promise<void>): Promise<void> {
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
