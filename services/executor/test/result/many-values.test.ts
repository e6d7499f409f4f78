import { setImmediate as nextIteration } from 'node:timers/promises';
import type { FormatName } from '@datahub/contract/formats';
import { describe, expect, it } from 'vitest';
import type { ResponseWriter } from '../../src/result/response.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';

const width = 2_000;
const columns = Array.from({ length: width }, (_, i) => ({
  name: `c${i}`,
  type: 'text',
  kind: { is: 'text' } as const,
}));
const nulls = new Int32Array(2 * width).fill(-1);

it('takes turns by the values that were written, too, because NULLs have hardly any bytes', async () => {
  const reply = { chunk: () => true, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'arrow', numbers: 'auto', meta: false, reply });
  writer.begin(columns);
  let turns = 0;
  let inTurn = 0;
  for (let row = 0; row < 500; row++) {
    writer.row(Buffer.alloc(0), nulls);
    inTurn += width;
    expect(inTurn).toBeLessThan(40_000);
    if (!writer.full) continue;
    turns += 1;
    inTurn = 0;
    while (writer.full) await nextIteration();
  }
  expect(turns).toBeGreaterThan(25);
  writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
});

describe('arrays', () => {
  const writeArrays = (writer: ResponseWriter, elements: number[]) => {
    const kind = { is: 'array', element: { is: 'text' } } as const;
    writer.begin(elements.map((_, i) => ({ name: `c${i}`, type: 'text[]', kind })));
    const texts = elements.map(
      (count) =>
        `{${Array(count - 1)
          .fill('a')
          .join(',')}}`,
    );
    const offsets = new Int32Array(2 * texts.length);
    let at = 0;
    for (const [i, { length }] of texts.entries()) {
      offsets[2 * i] = at;
      at += length;
      offsets[2 * i + 1] = at;
    }
    return () => writer.row(Buffer.from(texts.join('')), offsets);
  };
  const reply = { chunk: () => true, onDrain: () => {} };
  const open = (format: FormatName = 'json') =>
    createResponseWriter({ format, numbers: 'auto', meta: false, reply });

  it.each(['json', 'ndjson', 'csv', 'arrow'] as const)(
    'of a row have at most 500,000 elements, as %s',
    (format) => {
      expect(writeArrays(open(format), [500_001])).toThrow('more than 500000 elements');
      expect(writeArrays(open(format), [300_000, 300_000])).toThrow('more than 500000 elements');
    },
  );

  it('of several rows can have more', () => {
    for (const format of ['json', 'arrow'] as const) {
      const write = writeArrays(open(format), [300_000]);
      for (let row = 0; row < 3; row++) write();
    }
  });
});
