import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Binary, BSON, type Document } from 'mongodb';
import { afterEach, describe, expect, it } from 'vitest';
import { createMongodbEngine } from '../../../src/engines/mongodb/index.ts';
import type { ConnectSettings } from '../../../src/ports/engine.ts';
import { ask, dial } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { converse, crooked, type Replies, toReply } from '../../hostile/rogue-mongodb.ts';
import { createScramServer } from './scram-server.ts';

const rogues: Rogue[] = [];
afterEach(() => {
  for (const rogue of rogues.splice(0)) rogue.close();
});

/** Opens a connection to a fake server, and returns the commands that the server received. */
async function open(replies: Replies, change: Partial<ConnectSettings> = {}) {
  const commands: Document[] = [];
  const noted = Object.entries(replies).map(([name, reply]) => [
    name,
    (socket: Socket, command: Document, id: number) => {
      commands.push(command);
      if (typeof reply === 'function') reply(socket, command, id);
      else socket.write(toReply(BSON.serialize(reply), id));
    },
  ]);
  const rogue = await startRogue(converse(Object.fromEntries(noted)));
  rogues.push(rogue);
  const settings: ConnectSettings = {
    engine: 'mongodb',
    host: '127.0.0.1',
    port: rogue.port,
    database: 'shop',
    user: '',
    password: '',
    tls: { mode: 'prefer' },
    ...change,
  };
  const deps = { dial, signal: AbortSignal.timeout(60_000), facts: {} };
  const engine = createMongodbEngine();
  const another = () => engine.connect(settings, deps);
  return { connection: await another(), commands, another };
}

describe('the log-in', () => {
  it.each([
    ['secret', 'secret'],
    // A server stores passwords in the form of SASLprep (RFC 4013).
    ['pa\u0308sswort\u00a0=,', 'pässwort =,'],
    ['=2C', '=2C'],
  ])('proves the password %j, and verifies the proof of the server', async (password, kept) => {
    const { connection, commands } = await open(createScramServer(kept), { user: 'a=b,c', password });
    expect(connection.serverVersion).toBe('MongoDB 8.0.0');
    expect(commands[0]).toMatchObject({ saslStart: 1, mechanism: 'SCRAM-SHA-256', $db: 'admin' });
    expect(Buffer.from(commands[0]?.payload.buffer).toString()).toMatch(/^n,,n=a=3Db=2Cc,r=/);
    connection.close();
  });

  it('with SCRAM-SHA-1 uses the digest that MongoDB stores', async () => {
    const kept = createHash('md5').update('u:mongo:secret').digest('hex');
    const as = { user: 'u', password: 'secret', authMechanism: 'SCRAM-SHA-1' } as const;
    const { connection, commands } = await open(createScramServer(kept, 'sha1'), as);
    expect(commands[0]).toMatchObject({ saslStart: 1, mechanism: 'SCRAM-SHA-1' });
    connection.close();
  });

  it('uses the database in which the user is defined', async () => {
    const { connection, commands } = await open(createScramServer('p'), {
      user: 'u',
      password: 'p',
      authSource: 'users',
    });
    expect(commands.map(({ $db }) => $db)).toEqual(['users', 'users']);
    connection.close();
  });

  it('fails with another password', async () => {
    const opened = open(createScramServer('secret'), { user: 'u', password: 'other' });
    await expect(opened).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryable: false });
  });

  it('fails if TLS is required and the server has none', async () => {
    const opened = open({}, { tls: { mode: 'require' } });
    await expect(opened).rejects.toMatchObject({ code: 'SOURCE_TLS' });
  });
});

describe('a source without a user', () => {
  const refusal = { ok: 0, code: 13, errmsg: 'Command listCollections requires authentication' };

  it('is refused if the server requires one', async () => {
    const opened = open({ listCollections: refusal });
    await expect(opened).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryable: false });
  });

  it('is refused if the server requires one later', async () => {
    const { connection } = await open({ find: refusal });
    const asked = ask(connection, JSON.stringify({ find: 'orders' }));
    await expect(asked).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
    connection.close();
  });
});

describe('an execution', () => {
  const find = JSON.stringify({ find: 'orders', filter: {} });

  it('sends its session, its deadline and its database', async () => {
    const batch = { ok: 1, cursor: { id: 0n, ns: 'd.c', firstBatch: [{ a: 1 }] } };
    const { connection, commands } = await open({ find: batch });
    expect((await ask(connection, find)).data).toEqual([{ a: 1 }]);
    expect(commands[0]).toMatchObject({ find: 'orders', filter: {}, $db: 'shop', maxTimeMS: 10_000 });
    expect(commands[0]?.lsid.id).toBeInstanceOf(Binary);
    connection.close();
  });

  it('reads its cursor to the end, and kills a cursor that it does not finish', async () => {
    const many = (from: number) => Array.from({ length: 3 }, (_, i) => ({ i: from + i }));
    const replies: Replies = {
      find: { ok: 1, cursor: { id: 5n, ns: 'shop.orders', firstBatch: many(0) } },
      getMore: (socket, command, id) => {
        const isLast = command.batchSize === 1_000;
        socket.write(
          toReply(BSON.serialize({ ok: 1, cursor: { id: isLast ? 0n : 5n, nextBatch: many(3) } }), id),
        );
      },
      killCursors: { ok: 1 },
    };
    const { connection, commands } = await open(replies);
    expect((await ask(connection, find)).data).toHaveLength(6);
    const { data, outcome } = await ask(connection, find, { maxRows: 5 });
    expect([data.length, outcome.truncated]).toEqual([5, true]);
    expect(commands.at(-1)).toMatchObject({ killCursors: 'orders' });
    expect(connection.broken).toBe(false);
    connection.close();
  });

  it('runs on as many connections as a pool may have, without a warning', async () => {
    const warned: string[] = [];
    const note = ({ name }: Error) => warned.push(name);
    process.on('warning', note);
    const { connection, another } = await open({});
    const more = await Promise.all(Array.from({ length: 12 }, another));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', note);
    expect(warned).toEqual([]);
    for (const each of [connection, ...more]) each.close();
  });

  it('answers distinct with a row for each value', async () => {
    const { connection } = await open({ distinct: { ok: 1, values: ['x', null, { a: 1n }] } });
    const distinct = JSON.stringify({ distinct: 'orders', key: 'a' });
    expect((await ask(connection, distinct)).text).toBe(
      '{"data":[{"value":"x"},{"value":null},{"value":{"a":1}}]}',
    );
    expect((await ask(connection, distinct, { format: 'csv' })).text).toBe(
      'value\r\nx\r\n""\r\n"{""a"":1}"\r\n',
    );
    connection.close();
  });

  it('that is cancelled has its session killed over another connection', async () => {
    let killed: (session: Document) => void;
    const kill = new Promise<Document>((resolve) => (killed = resolve));
    let held: () => void = () => {};
    const { connection, commands } = await open({
      find: (socket, _command, id) => {
        held = () =>
          socket.write(toReply(BSON.serialize({ ok: 0, code: 11_601, errmsg: 'interrupted' }), id));
      },
      killSessions: (socket, command, id) => {
        killed(command.killSessions[0]);
        held();
        socket.write(toReply(BSON.serialize({ ok: 1 }), id));
      },
    });
    const run = ask(connection, find);
    run.catch(() => {});
    await expect.poll(() => commands.length).toBe(1);
    await connection.cancel(AbortSignal.timeout(1_000));
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await kill).toEqual(commands[0]?.lsid);
    expect(connection.broken).toBe(false);
    connection.close();
  });

  it('that the server cannot cancel loses its socket, and no promise stays pending', async () => {
    const sockets: Socket[] = [];
    const { connection } = await open({
      find: (socket) => void sockets.push(socket),
      killSessions: { ok: 0, code: 59, errmsg: 'no such command' },
    });
    const run = ask(connection, find);
    run.catch(() => {});
    await expect.poll(() => sockets.length).toBe(1);
    await expect(connection.cancel(AbortSignal.timeout(1_000))).rejects.toThrow();
    connection.close();
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect.poll(() => sockets[0]?.destroyed).toBe(true);
    expect(connection.broken).toBe(true);
  });

  it.each<[string, (body: Buffer) => void]>([
    ['states a longer length', (body) => body.writeInt32LE(body.length + 50, 0)],
    ['has a text beyond its end', (body) => body.writeInt32LE(1_000_000, body.indexOf('text') - 4)],
    ['has a text of a negative length', (body) => body.writeInt32LE(-5, body.indexOf('text') - 4)],
    ['has an unknown type', (body) => body.writeUInt8(0x44, body.indexOf('a\0', 20) - 1)],
  ])('with a reply that %s breaks the connection, not the process', async (_name, change) => {
    const { connection } = await open({ find: crooked(change) });
    await expect(ask(connection, find)).rejects.toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(connection.broken).toBe(true);
  });

  it('is refused if a document is larger than the row limit', async () => {
    // BSON.serialize has 17 MiB for all that it writes, and cuts off the rest of a text.
    const { connection } = await open({
      find: { ok: 1, cursor: { id: 0n, firstBatch: [{ a: 'x'.repeat(16 * 1_048_576) }] } },
    });
    await expect(ask(connection, find)).rejects.toMatchObject({ code: 'SQL_REJECTED', retryable: false });
    connection.close();
  });

  it.each<[Document, string]>([
    [{ ok: 0, code: 50, errmsg: 'operation exceeded time limit' }, 'STATEMENT_TIMEOUT'],
    [{ ok: 0, code: 10_107, errmsg: 'not primary' }, 'SOURCE_UNREACHABLE'],
    [{ ok: 0, code: 2, errmsg: 'bad value {secret: "canary"}' }, 'SQL_REJECTED'],
  ])('that is refused reports the reason: %j', async (reply, code) => {
    const { connection } = await open({ find: reply });
    const err = await ask(connection, find).catch((caught) => caught);
    expect(err).toMatchObject({ code, sql: { state: String(reply.code) } });
    expect(err.message).not.toContain('canary');
    expect(connection.broken).toBe(false);
    connection.close();
  });
});

const lostAt = (shard: string, code: number) => ({
  index: 0,
  code,
  errmsg: `Write results unavailable from ${shard} :: caused by :: x`,
});

describe('a write', () => {
  it.each([
    ['a text', { a: 'x'.repeat(18 * 1_048_576) }],
    ['many values', { a: new Array(1_500_000).fill(1) }],
  ])('of more than MongoDB takes is refused before it is sent: %s', async (_name, document) => {
    const { connection, commands } = await open({});
    const asked = ask(connection, JSON.stringify({ insert: 'orders', documents: [document] }), {
      kind: 'write',
    });
    await expect(asked).rejects.toMatchObject({ code: 'SQL_REJECTED', retryable: false });
    expect([connection.broken, commands]).toEqual([false, []]);
    connection.close();
  });

  const insert = (...documents: object[]) => JSON.stringify({ insert: 'orders', documents });

  it('reports the id of the document that it created', async () => {
    const { connection, commands } = await open({ insert: { ok: 1, n: 1 } });
    const { data } = await ask(connection, insert({ a: 1 }), { kind: 'standalone' });
    expect(data).toEqual([{ affectedRows: 1, insertId: commands[0]?.documents[0]._id.toHexString() }]);
    connection.close();
  });

  it('that fails reports how many documents it had written', async () => {
    const error = {
      index: 1,
      code: 11_000,
      errmsg:
        'E11000 duplicate key error collection: shop.users index: email_1 dup key: { email: "canary index: x dup key:" }',
    };
    const { connection } = await open({ insert: { ok: 1, n: 1, writeErrors: [error] } });
    const err = await ask(connection, insert({}, {}), { kind: 'standalone' }).catch((caught) => caught);
    expect(err).toMatchObject({ code: 'CONSTRAINT', retryable: false, partial: true });
    expect(err.message).toContain('Documents written before the error: 1. They were not rolled back.');
    expect(err.message).not.toContain('canary');
    expect(err.sql).toEqual({
      ...{ state: '11000', condition: 'UNIQUE_VIOLATION' },
      ...{ schema: 'shop', table: 'users', constraint: 'email_1' },
    });
    connection.close();
  });

  it.each<[string, Document, string, boolean]>([
    [
      'of a document',
      { ok: 1, n: 2, writeErrors: [{ index: 2, code: 11_000, errmsg: 'aCUT' }] },
      'CONSTRAINT',
      true,
    ],
    ['of a command', { ok: 0, code: 26, errmsg: 'aCUT' }, 'SQL_REJECTED', false],
  ])(
    'says what it wrote if its server cut the message %s within a character',
    async (_name, reply, code, isPartial) => {
      const body = Buffer.from(BSON.serialize(reply));
      body.writeUInt8(0xe3, body.indexOf('CUT') + 2);
      const { connection } = await open({
        insert: (socket, _command, id) => void socket.write(toReply(body, id)),
      });
      const written = ask(connection, insert({}, {}, {}), { kind: 'standalone' });
      const err = await written.catch((caught) => caught);
      expect([err.code, err.partial ?? false, err.sql?.state]).toEqual([
        code,
        isPartial,
        isPartial ? '11000' : '26',
      ]);
      connection.close();
    },
  );

  it.each<[string, Document, string]>([
    ['whose shard does not answer', { n: 0, writeErrors: [lostAt('s1', 6)] }, 'OUTCOME_UNKNOWN'],
    ['that was stopped while it waited', { n: 0, writeErrors: [lostAt('s1', 50)] }, 'OUTCOME_UNKNOWN'],
    ['whose mongos stops', { ok: 0, code: 91, errmsg: 'shutting down' }, 'OUTCOME_UNKNOWN'],
    [
      'whose shard has no primary',
      { n: 0, writeErrors: [lostAt('failing to target a host in s1', 133)] },
      'SOURCE_UNREACHABLE',
    ],
  ])('through a mongos has an unknown outcome only if it was sent: one %s', async (_name, reply, code) => {
    const { connection } = await open({ insert: { ok: 1, ...reply } });
    const written = ask(connection, insert({}), { kind: 'standalone' });
    await expect(written).rejects.toMatchObject({ code, retryable: code === 'SOURCE_UNREACHABLE' });
    connection.close();
  });

  const update = (...updates: object[]) => JSON.stringify({ update: 'o', updates });
  const remove = (limit: number) => JSON.stringify({ delete: 'o', deletes: [{ q: {}, limit }] });
  const many = { q: {}, u: { $inc: { n: 1 } }, multi: true };
  const one = { q: { _id: 1 }, u: { $inc: { n: 1 } } };
  const failed = (index: number, code = 14) => ({ index, code, errmsg: 'Cannot increment' });

  it.each<[string, string, Document, boolean]>([
    ['many documents, the last of which fails', update(many), { n: 0, writeErrors: [failed(0)] }, true],
    ['the same, by a server that does not count', update(many), { writeErrors: [failed(0)] }, true],
    ['many documents with an unknown operator', update(many), { n: 0, writeErrors: [failed(0, 9)] }, false],
    ['all documents', remove(0), { n: 0, writeErrors: [failed(0)] }, true],
    ['one document', update(one), { writeErrors: [failed(0)] }, false],
    ['a document', remove(1), { writeErrors: [failed(0)] }, false],
    ['two, and the server counts', update(one, one), { n: 0, writeErrors: [failed(1)] }, false],
    ['two, and the server does not count', update(one, one), { writeErrors: [failed(1)] }, true],
    ['two, the first of which fails', update(one, one), { n: 0, writeErrors: [failed(0)] }, false],
    ['one that fails before many', update(one, many), { n: 0, writeErrors: [failed(0)] }, false],
    ['one that fails after many', update(many, one), { n: 3, writeErrors: [failed(1)] }, true],
    ['many, as a whole', update(many), { ok: 0, code: 1, errmsg: 'internal' }, true],
    ['many, malformed', update(many), { ok: 0, code: 9, errmsg: 'unknown field' }, false],
  ])('says what it may have changed if it fails: %s', async (_name, text, reply, isPartial) => {
    const [command] = Object.keys(JSON.parse(text)) as [string];
    const { connection } = await open({ [command]: { ok: 1, ...reply } });
    const err = await ask(connection, text, { kind: 'standalone' }).catch((caught) => caught);
    expect([err.code, err.retryable, err.partial ?? false]).toEqual(['SQL_REJECTED', false, isPartial]);
    expect(/changed|written/.test(err.message)).toBe(isPartial);
    connection.close();
  });

  it('that its server could not confirm has an unknown outcome', async () => {
    const writeConcernError = { code: 64, errmsg: 'waiting for replication timed out' };
    const { connection } = await open({ insert: { ok: 1, n: 1, writeConcernError } });
    const written = ask(connection, insert({}), { kind: 'standalone' });
    await expect(written).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: false });
    connection.close();
  });

  it.each([
    ['insert', insert({}, {}), 50, 'OUTCOME_UNKNOWN'],
    ['insert', insert({}), 50, 'STATEMENT_TIMEOUT'],
    [
      'update',
      '{"update":"o","updates":[{"q":{},"u":{"$set":{"a":1}},"multi":true}]}',
      50,
      'OUTCOME_UNKNOWN',
    ],
    ['update', '{"update":"o","updates":[{"q":{},"u":{"$set":{"a":1}}}]}', 50, 'STATEMENT_TIMEOUT'],
    ['delete', '{"delete":"o","deletes":[{"q":{},"limit":0}]}', 11_602, 'OUTCOME_UNKNOWN'],
    ['delete', '{"delete":"o","deletes":[{"q":{},"limit":1}]}', 11_602, 'SOURCE_UNREACHABLE'],
    // A server that is not the primary does not begin the command.
    ['delete', '{"delete":"o","deletes":[{"q":{},"limit":0}]}', 10_107, 'SOURCE_UNREACHABLE'],
  ])(
    'to several documents that was stopped has an unknown outcome: %s %s %i',
    async (name, text, code, told) => {
      const { connection } = await open({ [name]: { ok: 0, code, errmsg: 'stopped' } });
      const written = ask(connection, text, { kind: 'standalone' });
      await expect(written).rejects.toMatchObject({ code: told });
      connection.close();
    },
  );
});
