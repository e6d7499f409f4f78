/** What an answer has in memory between its rows, for which a slow reader may not ask for a long time. */

import { expect, it } from 'vitest';
import { heldBytes } from '../../../../tests/support/memory.ts';
import type { SinkColumn } from '../../src/ports/row-sink.ts';
import { createResponseWriters } from '../../src/result/response-writer.ts';

const mebibyte = 1_048_576;
const reply = { chunk: () => true, onDrain: () => {} };

/** Writes these rows of texts, each with so many columns, and resolves to what the answer still has in memory. */
function keptAfter(format: 'arrow' | 'xlsx', texts: (Buffer | null)[], width: number): number {
  const columns: SinkColumn[] = Array.from({ length: width }, (_, i) => ({
    ...{ name: `c${i}`, type: 'text', kind: { is: 'text' } },
  }));
  const create = createResponseWriters();
  const before = heldBytes();
  const writer = create({ format, numbers: 'auto', meta: false, reply });
  writer.begin(columns);
  for (const text of texts) {
    const field = text === null ? [-1, 0] : [0, text.length];
    writer.row(
      text ?? Buffer.alloc(0),
      Int32Array.from({ length: 2 * width }, (_, i) => field[i % 2] as number),
    );
  }
  const kept = heldBytes() - before;
  writer.abandon();
  return kept;
}

it.each([
  ['arrow', 'a long text', [Buffer.alloc(12 * mebibyte, 'x')], 1],
  ['arrow', 'a batch of many NULLs', Array<null>(16_384).fill(null), 64],
  ['xlsx', 'a long row', [Buffer.alloc(32_000, 'x')], 200],
] as const)('is little in %s after %s', (format, _what, texts, width) => {
  expect(keptAfter(format, [...texts], width)).toBeLessThan(2 * mebibyte);
});

it('is nothing after a reader has left who had not begun to take a long row', () => {
  const create = createResponseWriters();
  const arrays = () => process.memoryUsage().arrayBuffers;
  const writer = create({
    format: 'json',
    numbers: 'auto',
    meta: false,
    reply: { ...reply, chunk: () => false },
  });
  writer.begin([{ name: 'a', type: 'text', kind: { is: 'text' } }]);
  const text = Buffer.alloc(12 * mebibyte, 'x');
  const before = arrays();
  for (let row = 0; row < 2; row++) writer.row(text, Int32Array.of(0, text.length));
  expect(arrays() - before).toBeGreaterThan(20 * mebibyte);
  writer.abandon();
  // Of the first row a part was sent, which may not have left yet.
  expect(arrays() - before).toBeLessThan(16 * mebibyte);
});
