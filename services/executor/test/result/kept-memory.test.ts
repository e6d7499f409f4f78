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
