import { CallStop } from '@datahub/service-kit/call/call';
import { expect, it } from 'vitest';
import { type Row, RowReader } from '../../src/rows/row-reader.ts';

/** Sends the lines in chunks, as an executor does: it waits when the reader is behind, until that asks for more. */
async function read(lines: string[]): Promise<Row[]> {
  const rows: Row[] = [];
  const use = async (some: Row[]) => {
    await Promise.resolve();
    rows.push(...some);
  };
  const reader = new RowReader({ use, stop: new CallStop() });
  let drained = () => {};
  reader.onDrain(() => drained());
  const bytes = Buffer.from(`${lines.join('\n')}\n`);
  for (let at = 0; at < bytes.length; at += 262_144) {
    const ready = new Promise<void>((resolve) => {
      drained = resolve;
    });
    if (!reader.chunk(bytes.subarray(at, at + 262_144))) await ready;
  }
  await reader.finish();
  return rows;
}

it('reads on after the start of a row that is longer than it keeps', async () => {
  const long = JSON.stringify({ a: 'x'.repeat(3_000_000) });
  const rows = await read([long, '{"a":1}', long, long, '{"a":2}']);
  expect(rows.map(({ values }) => (typeof values === 'string' ? values : values.get('a')))).toEqual([
    ...['is longer than 1048576 bytes', '1'],
    ...['is longer than 1048576 bytes', 'is longer than 1048576 bytes', '2'],
  ]);
}, 5_000);

it('is behind after few rows without a column, which take far more memory than bytes', async () => {
  let rows = 0;
  let use = () => {};
  const used = new Promise<void>((resolve) => {
    use = resolve;
  });
  const reader = new RowReader({ use: () => used, stop: new CallStop() });
  const chunk = Buffer.from('{}\n'.repeat(1_000));
  do rows += 1_000;
  while (reader.chunk(chunk));
  expect(rows).toBeLessThan(20_000);
  use();
  await reader.finish();
});

it('has few long rows in memory while each one takes time', async () => {
  const line = Buffer.from(`${JSON.stringify({ a: 'x'.repeat(400_000) })}\n`);
  let sent = 0;
  let used = 0;
  let most = 0;
  const use = async (rows: Row[]) => {
    await new Promise((resolve) => setImmediate(resolve));
    used += rows.length;
  };
  const reader = new RowReader({ use, stop: new CallStop() });
  const send = () => {
    let mayGoOn = true;
    while (mayGoOn && sent < 100) {
      mayGoOn = reader.chunk(line);
      sent++;
      most = Math.max(most, sent - used);
    }
  };
  reader.onDrain(send);
  send();
  await expect.poll(() => sent).toBe(100);
  await reader.finish();
  expect(used).toBe(100);
  expect(most).toBeLessThan(8);
});

it('asks for more also if chunks arrive that were on their way when it fell behind', async () => {
  const line = Buffer.from(`${JSON.stringify({ a: 'x'.repeat(60_000) })}\n`);
  const uses: (() => void)[] = [];
  let waits = true;
  const use = () => (waits ? new Promise<void>((resolve) => uses.push(resolve)) : Promise.resolve());
  const reader = new RowReader({ use, stop: new CallStop() });
  let asked = 0;
  reader.onDrain(() => asked++);
  while (reader.chunk(line));
  // What is in memory is between the bound and half of it after these.
  for (let i = 0; i < 4; i++) {
    await expect.poll(() => uses.length).toBe(1);
    uses.shift()?.();
  }
  await expect.poll(() => uses.length).toBe(1);
  expect([reader.chunk(line), asked]).toEqual([false, 0]);
  waits = false;
  uses.shift()?.();
  await expect.poll(() => asked).toBe(1);
  await reader.finish();
});
