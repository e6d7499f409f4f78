/**
 * Writes documents together with a change of another one, without transactions. The change stores them in the outbox of
 * the changed one in the same write. From there they are delivered to their collections, in their order. `pending` is the
 * key of the last one, and delivery clears the outbox by that key, so concurrent deliveries do the same. An outbox holds
 * the documents of one change: a change that finds it full delivers them first.
 *
 * A deleted document stays as a tombstone until its outbox is empty. No filter by account finds a tombstone.
 */
import type { Collection as MongodbCollection, UpdateFilter } from 'mongodb';
import type { Shape } from '../collection-spec.ts';
import { checkOutbox } from '../collection-spec.ts';
import { encode } from '../document.ts';
import type { CompanionWrites } from '../document-store.ts';
import { type MongodbDocument, toMongodbDocument } from './documents.ts';
import { isTaken } from './errors.ts';

/** The version of a tombstone. */
export const tombstoneVersion = -1;
const settleBatchSize = 100;

interface Letter {
  collection: string;
  kept: MongodbDocument;
}

/** The members of a document whose outbox is full. */
export interface Posted {
  pending: string;
  /** Older releases stored one that is not in a list. */
  outbox: Letter | Letter[];
}

export interface Outboxes {
  /** Validates the documents to write beside a change in this collection. */
  post(shape: Shape, companion: CompanionWrites): Posted;
  /** Empties the outbox of one document, and removes a tombstone. */
  deliver(shape: Shape, key: string): Promise<void>;
  /** Empties all outboxes. */
  settle(): Promise<void>;
}

export interface OutboxContext {
  shapes: readonly Shape[];
  collection: (name: string) => MongodbCollection<MongodbDocument>;
  call: <R>(work: () => Promise<R>) => Promise<R>;
  /** The same for a change of one document; see `Calls`. */
  change: <R>(key: string, work: () => Promise<R>) => Promise<R>;
}

export function createOutboxes({ shapes, collection, call, change }: OutboxContext): Outboxes {
  const byName = new Map(shapes.map((shape) => [shape.name, shape]));

  async function deliver({ name }: Shape, key: string): Promise<void> {
    const found = await call(() => collection(name).findOne({ _id: key }));
    if (found === null) return;
    const { pending, outbox } = found as MongodbDocument & Partial<Posted>;
    if (outbox !== undefined && pending !== undefined) {
      for (const letter of [outbox].flat())
        await call(() => insertOnce(collection(letter.collection), letter.kept));
    }
    const mutexKey = `${name} ${key}`;
    if (found.version === tombstoneVersion) {
      await change(mutexKey, () =>
        collection(name).deleteOne({ _id: key, version: { $eq: tombstoneVersion } }),
      );
    } else if (pending !== undefined) {
      const empty: UpdateFilter<MongodbDocument> = { $unset: { pending: '', outbox: '' } };
      await change(mutexKey, () =>
        collection(name).updateOne({ _id: key, pending: { $eq: pending } }, empty),
      );
    }
  }

  return {
    deliver,
    post(shape, companion) {
      checkOutbox(shape);
      const outbox = [companion].flat().map(({ collection: name, doc }) => {
        const target = byName.get(name);
        if (target === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
        return { collection: name, kept: toMongodbDocument(target, encode(target, doc)) };
      });
      const last = outbox.at(-1) as Letter;
      return { pending: `${last.collection} ${last.kept._id}`, outbox };
    },
    async settle() {
      for (const shape of shapes.filter((one) => one.outbox)) {
        for (let left = settleBatchSize; left === settleBatchSize; ) {
          const options = { limit: settleBatchSize, projection: { _id: 1 } } as const;
          const cursor = collection(shape.name).find({ pending: { $gt: '' } }, options);
          const found = await call(() => cursor.toArray());
          for (const { _id } of found) await deliver(shape, _id);
          left = found.length;
        }
      }
    },
  };
}

async function insertOnce(target: MongodbCollection<MongodbDocument>, kept: MongodbDocument): Promise<void> {
  try {
    await target.insertOne(kept);
  } catch (err) {
    if (!isTaken(err)) throw err;
  }
}
