/**
 * Documents written beside a change of another one, where no transaction spans two. The change carries the document in
 * its outbox, which is one write; from there it is brought to its place. `pending` is the key of what waits, and is
 * taken away by that key, so of several who bring it at once each does the same. A document takes one at a time: who
 * finds the outbox full empties it first.
 *
 * A deleted document stays until its outbox is empty, where no filter of an account finds it.
 */
import type { Collection as MongodbCollection, UpdateFilter } from 'mongodb';
import type { Shape } from '../collection-spec.ts';
import { checkOutbox } from '../collection-spec.ts';
import { encode } from '../document.ts';
import type { Beside } from '../document-store.ts';
import { type Kept, toKept } from './documents.ts';
import { isTaken } from './errors.ts';

/** The version of a document that is deleted but for its outbox. */
export const buriedVersion = -1;
const settledAtOnce = 100;

/** The members of a document whose outbox is full. */
export interface Posted {
  pending: string;
  outbox: { collection: string; kept: Kept };
}

export interface Outboxes {
  /** Checks what is to be written beside a change of a document of this shape. */
  post(shape: Shape, beside: Beside): Posted;
  /** Empties the outbox of one document, and removes a deleted one. */
  deliver(shape: Shape, key: string): Promise<void>;
  /** Empties all outboxes. */
  settle(): Promise<void>;
}

export interface OutboxContext {
  shapes: readonly Shape[];
  collection: (name: string) => MongodbCollection<Kept>;
  call: <R>(work: () => Promise<R>) => Promise<R>;
}

export function createOutboxes({ shapes, collection, call }: OutboxContext): Outboxes {
  const byName = new Map(shapes.map((shape) => [shape.name, shape]));

  async function deliver({ name }: Shape, key: string): Promise<void> {
    const found = await call(() => collection(name).findOne({ _id: key }));
    if (found === null) return;
    const { pending, outbox } = found as Kept & Partial<Posted>;
    if (outbox !== undefined && pending !== undefined) {
      await call(() => insertOnce(collection(outbox.collection), outbox.kept));
    }
    if (found.version === buriedVersion) {
      await call(() => collection(name).deleteOne({ _id: key, version: { $eq: buriedVersion } }));
    } else if (pending !== undefined) {
      const empty: UpdateFilter<Kept> = { $unset: { pending: '', outbox: '' } };
      await call(() => collection(name).updateOne({ _id: key, pending: { $eq: pending } }, empty));
    }
  }

  return {
    deliver,
    post(shape, { collection: name, doc }) {
      checkOutbox(shape);
      const target = byName.get(name);
      if (target === undefined) throw new TypeError(`The collection ${name} was not declared at opening.`);
      const kept = toKept(target, encode(target, doc));
      return { pending: `${name} ${kept._id}`, outbox: { collection: name, kept } };
    },
    async settle() {
      for (const shape of shapes.filter((one) => one.outbox)) {
        for (let left = settledAtOnce; left === settledAtOnce; ) {
          const options = { limit: settledAtOnce, projection: { _id: 1 } } as const;
          const cursor = collection(shape.name).find({ pending: { $gt: '' } }, options);
          const found = await call(() => cursor.toArray());
          for (const { _id } of found) await deliver(shape, _id);
          left = found.length;
        }
      }
    },
  };
}

async function insertOnce(target: MongodbCollection<Kept>, kept: Kept): Promise<void> {
  try {
    await target.insertOne(kept);
  } catch (err) {
    if (!isTaken(err)) throw err;
  }
}
