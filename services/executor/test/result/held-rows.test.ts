import { HeldBytes } from '@datahub/service-kit/held-bytes';
import { expect, it } from 'vitest';
import type { SinkColumn } from '../../src/ports/row-sink.ts';
import type { ResponseWriter } from '../../src/result/response.ts';
import { createResponseWriters } from '../../src/result/response-writer.ts';

const columns: SinkColumn[] = [{ name: 'x', type: 'text', kind: { is: 'text' } }];
const timing = { queueMs: 0, durationMs: 0 };

/** A reader that is behind after each piece. */
function createReader() {
  const pieces: Buffer[] = [];
  const lasts: boolean[] = [];
  let drain = () => {};
  const reply = {
    chunk: (bytes: Buffer, last = false) => {
      pieces.push(bytes);
      lasts.push(last);
      return false;
    },
    onDrain: (listener: () => void) => {
      drain = listener;
    },
  };
  return { reply, pieces, lasts, drain: () => drain() };
}

function writeRow(writer: ResponseWriter, bytes: number): void {
  const text = Buffer.alloc(bytes, 'a');
  writer.begin(columns);
  writer.row(text, Int32Array.of(0, bytes));
}

it('is passed on as its reader takes it, and the answer ends after it', async () => {
  const reader = createReader();
  const writer = createResponseWriters()({
    format: 'csv',
    numbers: 'auto',
    meta: false,
    reply: reader.reply,
  });
  writeRow(writer, 3_000_000);
  expect(reader.pieces).toHaveLength(1);
  let isSent = false;
  const sent = writer.finish({ hasRows: true }, timing)?.then(() => {
    isSent = true;
  });
  while (reader.pieces.length < 12) {
    await Promise.resolve();
    expect(isSent).toBe(false);
    reader.drain();
  }
  await sent;
  expect(String(Buffer.concat(reader.pieces))).toBe(`x\r\n${'a'.repeat(3_000_000)}\r\n`);
  expect(reader.lasts).toEqual([...Array(11).fill(false), true]);
});

it('is followed by small rows once it was taken, whether or not there is room to hold them, too', async () => {
  const create = createResponseWriters(new HeldBytes(20_000_000));
  const readers = [createReader(), createReader()];
  const writers = readers.map(({ reply }) =>
    create({ format: 'csv', numbers: 'auto', meta: false, accountId: 'a', reply }),
  );
  const [reader] = readers as [ReturnType<typeof createReader>];
  const row = (writer: ResponseWriter, bytes: number) =>
    writer.row(Buffer.alloc(bytes, 'a'), Int32Array.of(0, bytes));
  const timer = () => new Promise((resolve) => setTimeout(resolve, 60));
  for (const writer of writers) writer.begin(columns);
  for (const writer of writers) row(writer, 1);
  await timer();
  // Both readers are behind, and the rows take nearly all that the account may hold.
  for (const writer of writers) row(writer, 4_999_000);
  for (const writer of writers) row(writer, 9_000);
  await timer();
  for (let i = 0; i < 30; i++) reader.drain();
  await expect.poll(() => Buffer.concat(reader.pieces).length).toBe(3 + 3 + 4_999_002 + 9_002);
});

it('of a receiver that has its limit when the timer sends it fails the answer, not the process', async () => {
  let chunks = 0;
  const chunk = () => {
    if (++chunks > 1) throw new RangeError('too much');
    return true;
  };
  const writer = createResponseWriters()({
    ...{ format: 'csv', numbers: 'auto', meta: false },
    reply: { chunk, onDrain: () => {} },
  });
  writer.begin(columns);
  for (const count of [1, 2]) {
    writer.row(Buffer.from('a'), Int32Array.of(0, 1));
    await expect.poll(() => chunks).toBe(count);
  }
  expect(() => writer.row(Buffer.from('a'), Int32Array.of(0, 1))).toThrow('too much');
  expect(() => writer.finish({ hasRows: true }, timing)).toThrow('too much');
});

it('is refused if too many wait for their readers, and one of another account is not', () => {
  const create = createResponseWriters(new HeldBytes(20_000_000));
  const open = (accountId: string) =>
    create({ format: 'csv', numbers: 'auto', meta: false, accountId, reply: createReader().reply });
  const waiting = [open('a'), open('a')];
  for (const writer of waiting) writeRow(writer, 4_500_000);
  const refused = { code: 'UNAVAILABLE', retryable: true };
  expect(() => writeRow(open('a'), 4_500_000)).toThrow(expect.objectContaining(refused));
  writeRow(open('a'), 500_000);
  const other = open('b');
  writeRow(other, 9_000_000);
  expect(() => writeRow(open('c'), 4_500_000)).toThrow(expect.objectContaining(refused));
  other.abandon();
  writeRow(open('c'), 4_500_000);
});
