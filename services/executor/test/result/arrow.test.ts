import { RecordBatchReader, type Table, tableFromIPC } from 'apache-arrow';
import { expect, it } from 'vitest';
import { createRandom } from '../../../../tests/support/random.ts';
import type { ColumnKind } from '../../src/ports/column-kind.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';

const bigint: ColumnKind = { is: 'integer', bits: 64, isUnsigned: false, bytes: 'digits' };
const text: ColumnKind = { is: 'text' };

interface StreamOptions {
  kinds?: ColumnKind[];
  maxRows?: number;
  notNull?: string[];
}

/** The chunks of an answer with these rows, in bytes of a database that sends digits. */
function chunksOf(
  rows: Iterable<(string | null)[]>,
  { kinds = [bigint, text], ...options }: StreamOptions = {},
) {
  const chunks: Buffer[] = [];
  const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'arrow', numbers: 'auto', meta: false, reply, ...options });
  writer.begin(kinds.map((kind, i) => ({ name: `c${i % 2}`, type: 'any', kind })));
  for (const row of rows) {
    const offsets = new Int32Array(row.length * 2);
    let at = 0;
    for (const [i, value] of row.entries()) {
      offsets[2 * i] = value === null ? -1 : at;
      at += Buffer.byteLength(value ?? '');
      offsets[2 * i + 1] = at;
    }
    writer.row(Buffer.from(row.join('')), offsets);
  }
  return { chunks, finish: () => writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 }) };
}

function streamOf(rows: Iterable<(string | null)[]>, options?: StreamOptions): Buffer {
  const { chunks, finish } = chunksOf(rows, options);
  finish();
  return Buffer.concat(chunks);
}

const columnOf = (table: Table, i = 0) => [...(table.getChildAt(i) ?? [])];

it('has the rows of apache-arrow, with names made unique, and says which columns are never null', () => {
  const kinds = [bigint, text, bigint];
  const table = tableFromIPC(streamOf([['9223372036854775807', 'é', null]], { kinds, notNull: ['c1'] }));
  expect(table.schema.fields.map(({ name, type, nullable }) => [name, String(type), nullable])).toEqual([
    ['c0', 'Int64', true],
    ['c1', 'Utf8', false],
    ['c0_2', 'Int64', true],
  ]);
  expect(table.toArray().map(String)).toEqual(['{"c0": 9223372036854775807, "c1": "é", "c0_2": null}']);
});

it.each([
  ['0', 0n],
  ['-1', -1n],
  ['999999999999999', 999_999_999_999_999n],
  ['-1000000000000000', -1_000_000_000_000_000n],
  ['4294967296', 4_294_967_296n],
  ['9223372036854775807', 2n ** 63n - 1n],
  ['-9223372036854775808', -(2n ** 63n)],
])('keeps the digits of %s', (digits, value) => {
  expect(columnOf(tableFromIPC(streamOf([[digits, '']])))).toEqual([value]);
});

it.each([
  ['9223372036854775808', bigint],
  ['100.00', { is: 'decimal', precision: 4, scale: 2 }],
  ['0.001', { is: 'decimal', precision: 4, scale: 2 }],
  ['NaN', { is: 'decimal', precision: 4, scale: 2 }],
  ['2026-02-30', { is: 'date', bytes: 'iso' }],
  ['0044-03-15 BC', { is: 'date', bytes: 'iso' }],
  ['infinity', { is: 'timestamp', hasZone: true, bytes: 'iso' }],
] as [string, ColumnKind][])('refuses %s, which its type cannot hold', (value, kind) => {
  expect(() => streamOf([[value]], { kinds: [kind] })).toThrow(
    /The column "c0" has a value that Arrow’s type/,
  );
});

const timestamp: ColumnKind = { is: 'timestamp', hasZone: true, bytes: 'iso' };

it('reads timestamps of the same day and of others', () => {
  const texts = [
    '2026-11-20 13:04:05.5+00',
    '2026-11-20 00:00:00.000001+00',
    '2026-11-20 23:59:59+00',
    '12026-11-20 13:04:05+00',
    '1969-12-31 23:59:59.999999+00',
    '2024-02-29 00:00:00+00',
  ];
  const table = tableFromIPC(
    streamOf(
      texts.map((one) => [one]),
      { kinds: [timestamp] },
    ),
  );
  const micros = Array.from(table.getChildAt(0)?.data[0]?.values as BigInt64Array);
  const instant = (text: string, more = 0n) => BigInt(Date.parse(text)) * 1_000n + more;
  expect(micros).toEqual([
    instant('2026-11-20T13:04:05.500Z'),
    instant('2026-11-20T00:00:00Z', 1n),
    instant('2026-11-20T23:59:59Z'),
    instant('+012026-11-20T13:04:05Z'),
    -1n,
    instant('2024-02-29T00:00:00Z'),
  ]);
});

it.each(['2026-11-2x', '2026-1x-20', '2026x11x20', '1926-11-00', '2026-11-20 24'])(
  'refuses %s after a valid timestamp',
  (date) => {
    const rows = [['2026-11-20 13:04:05+00'], [`${date} 13:04:05+00`]];
    expect(() => streamOf(rows, { kinds: [timestamp] })).toThrow('has a value that Arrow’s type');
  },
);

it.each(['13:04:0', '1a:04:05', '/3:04:05', '13;04:05', '13:04.05', '13:04:0:', '25:00:00', '13:04:05,5'])(
  'refuses a time %s of a valid date',
  (time) => {
    const rows = [['2026-11-20 13:04:05+00'], [`2026-11-20 ${time}+00`]];
    expect(() => streamOf(rows, { kinds: [timestamp] })).toThrow('has a value that Arrow’s type');
  },
);

it('reads doubles as JavaScript does', () => {
  const random = createRandom(35);
  const bytes = new DataView(new ArrayBuffer(8));
  const anyDouble = () => {
    bytes.setUint32(0, random() * 2 ** 32);
    bytes.setUint32(4, random() * 2 ** 32);
    return bytes.getFloat64(0);
  };
  const texts = [
    '0',
    '-0',
    '0.5',
    '-0.000001',
    '0.10',
    '100',
    '123456789012345',
    '0.123456789012345',
    '1234567890123456',
    '0.30000000000000004',
    '1e-7',
    '1.5e+300',
    '-2.5e22',
    '5e-324',
    'Infinity',
    '-Infinity',
    ...Array.from({ length: 300 }, anyDouble).filter(Number.isFinite).map(String),
    ...Array.from({ length: 300 }, () => (random() * 1_000_000).toFixed(random() * 12)),
  ];
  const kind: ColumnKind = { is: 'float', bits: 64, bytes: 'digits' };
  const table = tableFromIPC(
    streamOf(
      texts.map((one) => [one]),
      { kinds: [kind] },
    ),
  );
  expect(columnOf(table)).toEqual(texts.map(Number));
});

const many = (count: number) =>
  Array.from({ length: count }, (_, i) => [String(i), i % 3 === 0 ? null : `t${i}`]);

it('sends many rows in batches of at most 16,384 rows', () => {
  const stream = streamOf(many(40_000));
  const sizes = [...RecordBatchReader.from(stream)].map(({ numRows }) => numRows);
  expect(sizes).toEqual([16_384, 16_384, 7_232]);
  const table = tableFromIPC(stream);
  expect(table.getChildAt(0)?.get(39_999)).toBe(39_999n);
  expect(columnOf(table, 1)).toEqual(many(40_000).map(([, value]) => value));
});

it('sends wide rows in batches of about 1 MiB', () => {
  const rows = Array.from({ length: 10 }, () => ['1', 'x'.repeat(262_144)]);
  const sizes = [...RecordBatchReader.from(streamOf(rows))].map(({ numRows }) => numRows);
  expect(sizes).toEqual([4, 4, 2]);
});

it('sends rows of many columns in batches of about 131,072 values', () => {
  const kinds = Array(2_000).fill(text);
  const stream = streamOf(Array(600).fill(Array(2_000).fill(null)), { kinds });
  const sizes = [...RecordBatchReader.from(stream)].map(({ numRows }) => numRows);
  expect(sizes).toEqual([...Array(9).fill(66), 6]);
});

it('is the same bytes for the same rows, whenever they come', () => {
  expect(streamOf(many(1_000)).equals(streamOf(many(1_000)))).toBe(true);
});

it('says in the last batch whether a limit cut the rows', () => {
  const truncated = (maxRows: number) =>
    [...RecordBatchReader.from(streamOf(many(3), { maxRows }))].map(({ metadata }) =>
      metadata.get('truncated'),
    );
  expect(truncated(2)).toEqual(['true']);
  expect(truncated(3)).toEqual(['false']);
});

it('ends inside a message if the rows break off', () => {
  const { chunks } = chunksOf(many(70_000));
  expect(chunks.length).toBeGreaterThan(0);
  expect(() => tableFromIPC(Buffer.concat(chunks))).toThrow('metadata bytes');
});

it.each([0, 16_384])('is complete with %i rows', (count) => {
  expect(tableFromIPC(streamOf(many(count))).numRows).toBe(count);
});
