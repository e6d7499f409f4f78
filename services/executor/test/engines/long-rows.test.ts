import { Duplex } from 'node:stream';
import { expect, it } from 'vitest';
import { Wire as MysqlWire } from '../../src/engines/mysql/wire.ts';
import { Wire as PostgresWire } from '../../src/engines/postgres/wire.ts';

const long = 1_000_000;

/** Calls `onRow` with the bytes of each row that the server of the connection sends. */
type Open = (socket: Duplex, onRow: (bytes: number) => void) => { pause(): void; resume(): void };

const engines: { name: string; open: Open; toRow(bytes: number): Buffer }[] = [
  {
    name: 'PostgreSQL',
    open: (socket, onRow) => {
      const wire = new PostgresWire(socket as never);
      wire.widen(10 * long);
      void wire.expect((_type, _source, start, end) => onRow(end - start));
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
    open: (socket, onRow) => {
      const wire = new MysqlWire(socket as never, { rowBytesMax: 10 * long });
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
    const turns: number[] = [];
    const rows = Array.from({ length: 4 }, (_, i): number[] => {
      const found: number[] = [];
      const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
      engine.open(socket, (bytes) => {
        found.push(bytes);
        if (bytes >= long) turns.push(turn);
      });
      const bytes = Buffer.concat([5, long + i, 6, long, 7].map(engine.toRow));
      for (let at = 0; at < bytes.length; at += 300_000) socket.push(bytes.subarray(at, at + 300_000));
      return found;
    });
    await expect.poll(() => rows).toEqual([0, 1, 2, 3].map((i) => [5, long + i, 6, long, 7]));
    clearImmediate(timer);
    expect(new Set(turns).size).toBe(8);
  },
);

it.each(engines)('a long row of $name waits while the reader of its result is behind', async (engine) => {
  const found: number[] = [];
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  const wire = engine.open(socket, (bytes) => found.push(bytes));
  const bytes = engine.toRow(long);
  socket.push(bytes.subarray(0, 500_000));
  socket.push(bytes.subarray(500_000));
  await new Promise(process.nextTick);
  wire.pause();
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  expect(found).toEqual([]);
  wire.resume();
  await expect.poll(() => found).toEqual([long]);
});
