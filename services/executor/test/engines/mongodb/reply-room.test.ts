import { BSON, type Document } from 'mongodb';
import { expect, it } from 'vitest';
import { createReplyRoom } from '../../../src/network/reply-room.ts';
import { ask } from '../../fixture.ts';
import { toReply } from '../../hostile/rogue-mongodb.ts';
import { open } from './fake-server.ts';

const mebibyte = 1_048_576;
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('is of each account, in order, and a reply that is alone may have any size', async () => {
  const take = createReplyRoom(10);
  const entered: string[] = [];
  const begin = async (name: string, account: string, bytes: number) => {
    const giveBack = await take(account, bytes);
    entered.push(name);
    return giveBack;
  };
  const first = begin('first', 'a', 30);
  const second = begin('second', 'a', 6);
  const third = begin('third', 'a', 5);
  const other = begin('other', 'b', 30);
  await turn();
  expect(entered).toEqual(['first', 'other']);
  (await first)();
  await turn();
  expect(entered).toEqual(['first', 'other', 'second']);
  (await second)();
  (await other)();
  await third;
  expect(entered.at(-1)).toBe('third');
});

it('is held by a long reply until its documents are written, and by a short one not at all', async () => {
  const taken: number[] = [];
  const held = new Set<number>();
  let letIn: () => void = () => {};
  const room = new Promise<void>((resolve) => (letIn = resolve));
  const cursor = { id: 0n, ns: 'd.c', firstBatch: [{ a: 'x'.repeat(5 * mebibyte) }] };
  const { connection } = await open(
    {
      find: (socket, { find, $db, lsid }: Document, id) => {
        expect([$db, lsid.id]).toEqual(['shop', expect.any(BSON.Binary)]);
        const reply = find === 'long' ? cursor : { ...cursor, firstBatch: [{ a: 1 }] };
        socket.write(toReply(BSON.serialize({ ok: 1, cursor: reply }), id));
      },
    },
    {},
    {
      takeReplyRoom: async (bytes) => {
        await room;
        taken.push(bytes);
        held.add(bytes);
        return () => void held.delete(bytes);
      },
    },
  );
  const filter = { a: 'y'.repeat(10_000) };
  await ask(connection, JSON.stringify({ find: 'short', filter }));
  let isDone = false;
  const asked = ask(connection, JSON.stringify({ find: 'long', filter })).finally(() => (isDone = true));
  for (let i = 0; i < 20; i++) await turn();
  expect([isDone, taken]).toEqual([false, []]);
  letIn();
  expect((await asked).data).toHaveLength(1);
  expect(taken).toEqual([expect.closeTo(5 * mebibyte, -4)]);
  expect(held).toEqual(new Set());
  connection.close();
});
