import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { Binary, BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ask } from '../../fixture.ts';
import { crooked, type Replies, toReply } from '../../hostile/rogue-mongodb.ts';
import { open } from './fake-server.ts';
import { createScramServer } from './scram-server.ts';

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

  it('asks for fewer documents at a time if they are long', async () => {
    const long = { a: 'x'.repeat(100_000) };
    const batchSizes: number[] = [];
    const { connection } = await open({
      find: { ok: 1, cursor: { id: 5n, ns: 'd.c', firstBatch: [long, long] } },
      getMore: (socket, { batchSize }, id) => {
        const nextBatch = batchSizes.length === 0 ? [{ a: 1 }] : [];
        batchSizes.push(batchSize);
        const cursor = { id: nextBatch.length === 0 ? 0n : 5n, nextBatch };
        socket.write(toReply(BSON.serialize({ ok: 1, cursor }), id));
      },
    });
    expect((await ask(connection, find)).data).toHaveLength(3);
    expect(batchSizes).toEqual([20, 1_000]);
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
