import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial } from '../../fixture.ts';

const { MONGODB_URL } = process.env;
const database = `engine_${process.pid}`;

describe.skipIf(MONGODB_URL === undefined)('mongodb (needs MONGODB_URL)', () => {
  let client: MongoClient;
  let connection: Connection;

  beforeAll(async () => {
    client = await new MongoClient(MONGODB_URL as string).connect();
    const { hostname, port, username, password } = new URL(MONGODB_URL as string);
    connection = await createMongodbEngine().connect(
      {
        engine: 'mongodb',
        host: hostname,
        port: Number(port),
        database,
        user: decodeURIComponent(username),
        password: decodeURIComponent(password),
        tls: { mode: 'prefer' },
      },
      { dial, signal: AbortSignal.timeout(60_000) },
    );
  });
  afterAll(async () => {
    connection.close();
    await client.db(database).dropDatabase();
    await client.close();
  });

  const read = (command: object, asked: object = {}) => ask(connection, JSON.stringify(command), asked);
  const write = (command: object) => ask(connection, JSON.stringify(command), { kind: 'standalone' });

  it('writes and reads what it wrote', async () => {
    const at = { $date: { $numberLong: '1795132800000' } };
    const document = { _id: 1, at, tags: ['a', { b: null }], n: { $numberLong: '9007199254740993' } };
    expect((await write({ insert: 'things', documents: [document] })).data).toEqual([{ affectedRows: 1 }]);
    const { text } = await read({ find: 'things', filter: { at } });
    expect(text).toBe(
      '{"data":[{"_id":1,"at":"2026-11-20T00:00:00.000Z","tags":["a",{"b":null}],"n":"9007199254740993"}]}',
    );
    const changed = await write({ update: 'things', updates: [{ q: { _id: 1 }, u: { $set: { n: 2 } } }] });
    expect(changed.data).toEqual([{ affectedRows: 1 }]);
    expect((await read({ aggregate: 'things', pipeline: [{ $project: { n: 1 } }] })).data).toEqual([
      { _id: 1, n: 2 },
    ]);
    expect((await read({ count: 'things', query: { n: 2 } })).data).toEqual([{ count: 1 }]);
    expect((await write({ delete: 'things', deletes: [{ q: {}, limit: 0 }] })).data).toEqual([
      { affectedRows: 1 },
    ]);
    expect((await read({ find: 'things' })).text).toBe('{"data":[]}');
  });

  it('streams what takes many replies, and stops at the most that is asked for', async () => {
    const documents = Array.from({ length: 2_500 }, (_, i) => ({ _id: i, text: 'x'.repeat(i % 50) }));
    await write({ insert: 'many', documents });
    const sorted = { find: 'many', sort: { _id: 1 } };
    expect((await read(sorted)).data).toEqual(documents);
    const some = await read(sorted, { maxRows: 150 });
    expect([some.data.length, some.outcome.truncated]).toEqual([150, true]);
    expect((await read(sorted, { maxRows: 2_500 })).outcome.truncated).toBe(false);
    expect((await read(sorted, { format: 'ndjson' })).text.split('\n')).toHaveLength(2_501);
    await connection.ping();
  });

  it('has the fields of a projection as the columns of CSV, and says so where one has no column', async () => {
    await write({
      insert: 'mixed',
      documents: [
        { _id: 1, a: 'x,y' },
        { _id: 2, a: { b: 1 }, c: true },
      ],
    });
    const csv = (change: object) => read({ find: 'mixed', sort: { _id: 1 }, ...change }, { format: 'csv' });
    expect((await csv({ projection: { c: 1, a: 1, _id: 0 } })).text).toBe(
      'c,a\r\n,"x,y"\r\ntrue,"{""b"":1}"\r\n',
    );
    expect((await csv({ projection: { 'a.b': 1 }, filter: { _id: 2 } })).text).toBe(
      '_id,a\r\n2,"{""b"":1}"\r\n',
    );
    await expect(csv({})).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    expect((await csv({ projection: { a: 1 }, filter: { _id: 9 } })).text).toBe('_id,a\r\n');
  });

  it('refuses what the server refuses, and goes on', async () => {
    await write({ insert: 'unique', documents: [{ _id: 'canary' }] });
    const again = write({ insert: 'unique', documents: [{ _id: 'canary' }] });
    await expect(again).rejects.toMatchObject({
      code: 'CONSTRAINT',
      message: expect.not.stringContaining('canary'),
      sql: { state: '11000', condition: 'UNIQUE_VIOLATION' },
    });
    await expect(read({ find: 'unique', filter: { $nope: 1 } })).rejects.toMatchObject({
      code: 'SQL_REJECTED',
    });
    expect(connection.broken).toBe(false);
  });

  it('tells collections and the fields of some of their documents', async () => {
    await write({
      insert: 'shape',
      documents: [
        { _id: 1, a: 'x' },
        { _id: 2, a: 3, b: null },
      ],
    });
    const table = (await connection.readSchema()).tables.find(({ name }) => name === 'shape');
    expect(table).toEqual({
      schema: database,
      name: 'shape',
      kind: 'table',
      columns: [
        { name: '_id', type: 'int', nullable: false },
        { name: 'a', type: 'int | string', nullable: false },
        { name: 'b', type: 'null', nullable: true },
      ],
      primaryKey: [],
      foreignKeys: [],
    });
  });

  it('is closed for good', async () => {
    const other = await createMongodbEngine().connect(
      {
        engine: 'mongodb',
        host: new URL(MONGODB_URL as string).hostname,
        port: Number(new URL(MONGODB_URL as string).port),
        database,
        user: '',
        password: '',
        tls: { mode: 'disable' },
      },
      { dial, signal: AbortSignal.timeout(60_000) },
    );
    other.close();
    expect(other.broken).toBe(true);
    await expect(other.ping()).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
  });
});
