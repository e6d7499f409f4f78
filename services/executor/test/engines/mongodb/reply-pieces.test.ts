/** Replies of a great many small elements, from a server that ignores how many the hub asks for. */

import { BSON, type Document } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import {
  failureBytesMax,
  nestedPiecesMax,
  ReplyPieces,
  replyPiecesMax,
} from '../../../src/engines/mongodb/reply-pieces.ts';
import type { RowSink } from '../../../src/ports/row-sink.ts';
import { dial } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { converse } from '../../hostile/rogue-mongodb.ts';

const many = (count: number, prefix = '') =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, null]));
const batch = (count: number) => Array.from({ length: count }, () => ({}));

/** Takes a reply in chunks of this size. */
function take(reply: Document, chunkBytes: number): void {
  takeBytes(Buffer.from(BSON.serialize(reply)), chunkBytes);
}

function takeBytes(bytes: Buffer, chunkBytes: number): void {
  const pieces = new ReplyPieces(bytes.length);
  for (let at = 0; at < bytes.length; at += chunkBytes) pieces.take(bytes.subarray(at, at + chunkBytes));
}

describe.each([1, 7, 4_096, Number.POSITIVE_INFINITY])('a reply in chunks of %d bytes', (chunkBytes) => {
  // Beside the many elements there are those of the reply and of its cursor.
  it.each<[string, number, (count: number) => Document]>([
    ['fields', 1, (count) => ({ ok: 1, ...many(count, 'x') })],
    ['fields of its cursor', 2, (count) => ({ cursor: many(count, 'x'), ok: 1 })],
    ['documents', 4, (count) => ({ cursor: { firstBatch: batch(count), id: 0n }, ok: 1 })],
    ['documents in a further batch', 4, (count) => ({ ok: 1, cursor: { id: 0n, nextBatch: batch(count) } })],
  ])('may have a bounded number of %s', (_name, others, make) => {
    take(make(replyPiecesMax - others), chunkBytes);
    expect(() => take(make(replyPiecesMax - others + 1), chunkBytes)).toThrow(RangeError);
  });

  it.each<[string, Document]>([
    ['a 0', { ok: 0 }],
    ['no ok', {}],
    ['another number', { ok: 2 }],
    ['null', { ok: null }],
  ])('is short if it reports a failure: %s', (_name, members) => {
    const filled = (bytes: number): Document => ({ values: ['x'.repeat(bytes)], ...members });
    take(filled(failureBytesMax - 100), chunkBytes);
    expect(() => take(filled(failureBytesMax), chunkBytes)).toThrow('too long');
    for (const ok of [1, 1n, new BSON.Double(1)]) take({ ...filled(failureBytesMax), ok }, chunkBytes);
  });

  it('hides no elements behind lengths that do not fit', () => {
    const hidden = Buffer.from(BSON.serialize({ cursor: { a: 1 }, ok: 1 }));
    // The cursor ends earlier for its reader than its length says: what follows is more of the reply to one of them.
    const at = hidden.indexOf('cursor') + 7;
    for (const change of [-1, 1]) {
      const bytes = Buffer.from(hidden);
      bytes.writeInt32LE(bytes.readInt32LE(at) + change, at);
      expect(() => takeBytes(bytes, chunkBytes)).toThrow(RangeError);
    }
  });

  it('may have values of all types, and long names', () => {
    const { Binary, Code, Decimal128, MaxKey, MinKey, ObjectId, Timestamp } = BSON;
    const values = {
      ...{
        double: 1.5,
        text: 'text',
        empty: '',
        object: { a: [1] },
        list: [1, 'a'],
        bytes: new Binary(Buffer.alloc(300)),
      },
      ...{
        id: new ObjectId(),
        yes: true,
        at: new Date(0),
        nothing: null,
        pattern: /a.c/i,
        code: new Code('f()'),
      },
      ...{ scoped: new Code('f()', { a: 1 }), int: 1, timestamp: new Timestamp({ t: 1, i: 1 }), long: 1n },
      ...{
        decimal: Decimal128.fromString('1.5'),
        least: new MinKey(),
        most: new MaxKey(),
        ['x'.repeat(5_000)]: 1,
      },
    };
    take({ ...values, cursor: { ...values, firstBatch: [values, values], ns: 'a.b' }, ok: 1 }, chunkBytes);
    // Each value was skipped to its end: what follows is counted.
    const flooded = { ...values, cursor: { ...values, firstBatch: batch(replyPiecesMax) } };
    expect(() => take(flooded, chunkBytes)).toThrow('too many elements');
  });
});

describe('a reply', () => {
  it('may have any number of values in documents of a batch and of distinct', () => {
    const count = nestedPiecesMax + 1;
    take({ values: batch(count), ok: 1 }, 4_096);
    take({ ok: 1, cursor: { firstBatch: [many(count)], id: 0n } }, 4_096);
  });

  it.each<[string, (values: object[]) => Document]>([
    ['errors of a write', (values) => ({ ok: 1, writeErrors: values })],
    ['values of its cursor', (values) => ({ cursor: { firstBatch: [], at: { firstBatch: values } }, ok: 1 })],
  ])('may have a bounded number of %s', (_name, make) => {
    take(make(batch(nestedPiecesMax - 1)), 4_096);
    expect(() => take(make(batch(nestedPiecesMax + 1)), 4_096)).toThrow('too many elements');
  });
});

describe('an execution', () => {
  const rogues: Rogue[] = [];
  afterEach(() => {
    for (const rogue of rogues.splice(0)) rogue.close();
  });

  async function run(command: Document, reply: Document, sink: RowSink) {
    const [name = ''] = Object.keys(command);
    const rogue = await startRogue(converse({ [name]: reply }));
    rogues.push(rogue);
    const address = { host: '127.0.0.1', port: rogue.port, database: 'd', user: '', password: '' };
    const connection = await createMongodbEngine().connect(
      { engine: 'mongodb', ...address, tls: { mode: 'prefer' } },
      { dial, signal: AbortSignal.timeout(60_000) },
    );
    const statement = { key: 'k', text: JSON.stringify(command), params: [], kind: 'read' as const };
    const ran = connection.run(statement, sink, { statementTimeoutMs: 60_000 });
    return {
      connection,
      error: await ran.then(
        () => undefined,
        (err) => err.code,
      ),
    };
  }

  /** Is full after each 1,500 rows, for a while. */
  function createSink() {
    const found = { rows: 0, whileFull: 0, mostInATurn: 0 };
    let [inTurn, isFull] = [0, false];
    let drain = () => {};
    const row = () => {
      found.rows++;
      found.mostInATurn = Math.max(found.mostInATurn, ++inTurn);
      if (inTurn === 1) setImmediate(() => (inTurn = 0));
      if (isFull) found.whileFull++;
      if (found.rows % 1_500 > 0) return;
      isFull = true;
      setTimeout(() => {
        isFull = false;
        drain();
      }, 2);
    };
    const sink: RowSink = {
      takesDocuments: true,
      takesBinary: false,
      truncated: false,
      get full() {
        return isFull;
      },
      onDrain: (listener) => (drain = listener),
      begin: () => {},
      row,
      document: row,
    };
    return { sink, found };
  }

  it('writes the values of distinct in slices, and waits while the reader is behind', async () => {
    const { sink, found } = createSink();
    const values = Array.from({ length: 20_500 }, (_, i) => i);
    const { connection, error } = await run({ distinct: 'c', key: 'a' }, { ok: 1, values }, sink);
    expect([error, found.rows]).toEqual([undefined, 20_500]);
    expect(found.mostInATurn).toBeLessThanOrEqual(1_000);
    // The rest of a slice.
    expect(found.whileFull).toBeLessThanOrEqual(14 * 500);
    connection.close();
  });

  it('ends if a batch has far more documents than the hub asked for', async () => {
    const { sink, found } = createSink();
    const cursor = { id: 0n, ns: 'd.c', firstBatch: batch(replyPiecesMax) };
    const { connection, error } = await run({ find: 'c' }, { ok: 1, cursor }, sink);
    expect([error, connection.broken, found.rows]).toEqual(['SOURCE_BROKEN', true, 0]);
    connection.close();
  });
});
