import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { Wire as MysqlWire } from '../../src/engines/mysql/wire.ts';
import { Wire as PostgresWire } from '../../src/engines/postgres/wire.ts';
import { createLongRows } from '../../src/network/long-rows.ts';
import type { TakeLongRow } from '../../src/ports/server-stream.ts';

const long = 1_000_000;

/** Calls `onRow` with the bytes of each row that the server of the connection sends. */
type Open = (
  socket: Duplex,
  onRow: (bytes: number) => void,
  take?: TakeLongRow,
) => { pause(): void; resume(): void; close(): void };

const createSocket = () => new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
const turns = async (count: number) => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
};

const engines: { name: string; open: Open; toRow(bytes: number): Buffer }[] = [
  {
    name: 'PostgreSQL',
    open: (socket, onRow, take) => {
      const wire = new PostgresWire(socket as never, undefined, take);
      wire.widen(10 * long);
      wire.expect((_type, _source, start, end) => onRow(end - start)).catch(() => {});
      return wire;
    },
    toRow: (bytes) => {
      const head = Buffer.from('D0000');
      head.writeInt32BE(bytes + 4, 1);
      return Buffer.concat([head, Buffer.alloc(bytes)]);
    },
  },
  {
    name: 'MySQL',
    open: (socket, onRow, takeLongRow) => {
      const wire = new MysqlWire(socket as never, { rowBytesMax: 10 * long, takeLongRow });
      const response = (_source: Buffer, start: number, end: number) => {
        onRow(end - start);
        return false;
      };
      void wire.exchange([response], 0);
      return wire;
    },
    toRow: (bytes) => {
      const head = Buffer.alloc(4);
      head.writeUIntLE(bytes, 0, 3);
      return Buffer.concat([head, Buffer.alloc(bytes)]);
    },
  },
];

it.each(engines)(
  'long rows of $name that arrive together are read in turns, in their order',
  async (engine) => {
    let turn = 0;
    const next = () => {
      turn++;
      timer = setImmediate(next);
    };
    let timer = setImmediate(next);
    const read: number[] = [];
    const rows = Array.from({ length: 4 }, (_, i): number[] => {
      const found: number[] = [];
      const socket = createSocket();
      engine.open(socket, (bytes) => {
        found.push(bytes);
        if (bytes >= long) read.push(turn);
      });
      const bytes = Buffer.concat([5, long + i, 6, long, 7].map(engine.toRow));
      for (let at = 0; at < bytes.length; at += 300_000) socket.push(bytes.subarray(at, at + 300_000));
      return found;
    });
    await expect.poll(() => rows).toEqual([0, 1, 2, 3].map((i) => [5, long + i, 6, long, 7]));
    clearImmediate(timer);
    expect(new Set(read).size).toBe(8);
  },
);

it.each(engines)('a long row of $name waits while the reader of its result is behind', async (engine) => {
  const found: number[] = [];
  const socket = createSocket();
  const wire = engine.open(socket, (bytes) => found.push(bytes));
  const bytes = engine.toRow(long);
  socket.push(bytes.subarray(0, 500_000));
  socket.push(bytes.subarray(500_000));
  await new Promise(process.nextTick);
  wire.pause();
  await turns(10);
  expect(found).toEqual([]);
  wire.resume();
  await expect.poll(() => found).toEqual([long]);
});

it.each(engines)('few long rows of $name are collected at a time for an account', async (engine) => {
  const takeOf = createLongRows();
  const open = (accountId: string) => {
    const socket = createSocket();
    const found: number[] = [];
    const wire = engine.open(
      socket,
      (bytes) => found.push(bytes),
      () => takeOf(accountId),
    );
    return { socket, found, wire };
  };
  const bytes = Buffer.concat([engine.toRow(long), engine.toRow(long)]);
  const own = Array.from({ length: 10 }, () => open('a'));
  const other = open('b');
  for (const { socket } of [...own, other]) socket.push(bytes.subarray(0, 400_000));
  await turns(5);
  const waiting = () => own.filter(({ socket }) => socket.isPaused()).length;
  expect([waiting(), other.socket.isPaused()]).toEqual([2, false]);
  // One that was read, and one that is closed, give their places to others.
  const [first, second, third] = own as [(typeof own)[0], (typeof own)[0], (typeof own)[0]];
  first.socket.push(bytes.subarray(400_000, engine.toRow(long).length));
  await expect.poll(() => first.found).toEqual([long]);
  await turns(5);
  expect(waiting()).toBe(1);
  third.wire.close();
  await turns(5);
  expect(own.filter(({ socket }) => socket.isPaused() && !socket.destroyed)).toEqual([]);
  for (const one of [...own, other])
    if (one !== first && one !== third) one.socket.push(bytes.subarray(400_000));
  await expect
    .poll(() => [second.found, other.found])
    .toEqual([
      [long, long],
      [long, long],
    ]);
  for (const { wire } of [...own, other]) wire.close();
});

it('a row of MySQL in several packets keeps its place until the last one', async () => {
  const places = { taken: 0, given: 0 };
  const socket = createSocket();
  const found: number[] = [];
  const takeLongRow = async () => {
    places.taken++;
    return () => void places.given++;
  };
  const wire = new MysqlWire(socket as never, { rowBytesMax: 20 * long, takeLongRow });
  void wire.exchange([(_source, start, end) => found.push(end - start) > 1], 0);
  const packet = (bytes: number) => {
    const head = Buffer.alloc(4);
    head.writeUIntLE(bytes, 0, 3);
    return Buffer.concat([head, Buffer.alloc(bytes)]);
  };
  const first = packet(0xffffff);
  socket.push(first.subarray(0, 100));
  socket.push(first.subarray(100));
  await turns(10);
  expect([places, found]).toEqual([{ taken: 1, given: 0 }, []]);
  socket.push(packet(5));
  await expect.poll(() => [places, found]).toEqual([{ taken: 1, given: 1 }, [0xffffff + 5]]);
  wire.close();
});
