import { setImmediate as nextIteration } from 'node:timers/promises';
import type { FormatName } from '@datahub/contract/formats';
import { describe, expect, it, vi } from 'vitest';
import type { ResponseWriter } from '../../src/result/response.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';

const width = 2_000;
const columns = Array.from({ length: width }, (_, i) => ({
  name: `c${i}`,
  type: 'text',
  kind: { is: 'text' } as const,
}));
const reply = { chunk: () => true, onDrain: () => {} };
const nulls = new Int32Array(2 * width).fill(-1);

it('takes turns by the values that were written, too, because NULLs have hardly any bytes', async () => {
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

describe('a document of a million fields', () => {
  /** Of true, under names of up to four characters. */
  function documentOf(count: number): Buffer {
    const parts = Array.from({ length: count }, (_, i) => `\x08${i.toString(36)}\0\x01`);
    const fields = Buffer.from(`\x08message\0\x01${parts.join('')}`, 'latin1');
    const document = Buffer.concat([Buffer.alloc(4), fields, Buffer.alloc(1)]);
    document.writeInt32LE(document.length);
    return document;
  }
  const common = { format: 'ndjson', numbers: 'auto', meta: false } as const;

  it('is refused as soon as others if the query asserts a column', () => {
    const writer = createResponseWriter({ ...common, reply, notNull: ['message'] });
    writer.begin([]);
    const before = process.cpuUsage();
    expect(() => writer.document(documentOf(1_600_000), 0)).toThrow('more than 500000 elements');
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_500);
  });

  it('is not decoded for the texts that are annotated', () => {
    const longest = vi.spyOn(Buffer.prototype, 'toString');
    try {
      const writer = createResponseWriter({
        ...common,
        reply,
        annotations: [{ text: 'message', as: 'label' }],
      });
      writer.begin([]);
      writer.document(documentOf(100_000), 0);
      const lengths = longest.mock.calls.map(([, start, end]) => Number(end ?? 0) - Number(start ?? 0));
      expect(Math.max(...lengths)).toBeLessThan(1_000);
      expect(lengths.length).toBeLessThan(100);
    } finally {
      longest.mockRestore();
    }
  });
});
