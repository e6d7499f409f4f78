import { BSON, type Document } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { ask } from '../../fixture.ts';
import { toReply } from '../../hostile/rogue-mongodb.ts';
import { open } from './fake-server.ts';

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
