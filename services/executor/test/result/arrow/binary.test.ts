/** Values in PostgreSQL's binary format are in Arrow what their texts are. */

import { describe, expect, it } from 'vitest';
import type { BinaryKind, ColumnKind } from '../../../src/ports/column-kind.ts';
import { createResponseWriter } from '../../../src/result/response-writer.ts';

interface Forms {
  kind: ColumnKind;
  binary: BinaryKind | ColumnKind;
}

function streamOf(column: { kind: ColumnKind; binary?: BinaryKind | ColumnKind }, value: Buffer): Buffer {
  const chunks: Buffer[] = [];
  const reply = { chunk: (bytes: Buffer) => chunks.push(bytes) > 0, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'arrow', numbers: 'auto', meta: false, reply });
  writer.begin([{ name: 'v', type: 'any', ...column }]);
  // What surrounds the value in a message must not be read.
  const source = Buffer.concat([Buffer.alloc(16, 0x5a), value, Buffer.alloc(16, 0x5a)]);
  writer.row(source, Int32Array.of(16, 16 + value.length));
  writer.finish({ hasRows: true }, { queueMs: 0, durationMs: 0 });
  return Buffer.concat(chunks);
}

const integer = (bits: 16 | 32 | 64, isUnsigned = false): Forms => ({
  kind: { is: 'integer', bits, isUnsigned, bytes: 'digits' },
  binary: { is: 'integer', bits, isUnsigned, bytes: 'big-endian' },
});
const float = (bits: 32 | 64): Forms => ({
  kind: { is: 'float', bits, bytes: 'digits' },
  binary: { is: 'float', bits, bytes: 'big-endian' },
});
const date: Forms = { kind: { is: 'date', bytes: 'iso' }, binary: { is: 'date', bytes: 'days' } };
const time: Forms = { kind: { is: 'time', bytes: 'iso' }, binary: { is: 'time', bytes: 'micros' } };
const timestamp: Forms = {
  kind: { is: 'timestamp', hasZone: false, bytes: 'iso' },
  binary: { is: 'timestamp', hasZone: false, bytes: 'micros' },
};
const uuid: Forms = { kind: { is: 'ascii' }, binary: { is: 'uuid' } };
const bytea: Forms = { kind: { is: 'binary', bytes: 'hex' }, binary: { is: 'binary', bytes: 'raw' } };

const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value | 0);
  return bytes;
}
function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(value);
  return bytes;
}
function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatBE(value);
  return bytes;
}
function float64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}
const daysFrom2000 = (text: string) => (Date.parse(text) - Date.UTC(2000, 0, 1)) / 86_400_000;
const microsFrom2000 = (text: string, more = 0n) =>
  BigInt(Date.parse(text) - Date.UTC(2000, 0, 1)) * 1_000n + more;
const epochMicros = 946_684_800_000_000n;
const highest = 2n ** 63n - 1n;

describe.each<[string, Forms, [text: string, binary: Buffer][]]>([
  ['smallint', integer(16), ['-32768', '-1', '0', '32767'].map((text) => [text, int16(Number(text))])],
  ['integer', integer(32), ['-2147483648', '0', '2147483647'].map((text) => [text, int32(Number(text))])],
  ['oid', integer(32, true), ['0', '2147483648', '4294967295'].map((text) => [text, int32(Number(text))])],
  [
    'bigint',
    integer(64),
    ['-9223372036854775808', '-1', '0', '4294967296', '9223372036854775807'].map((text) => [
      text,
      int64(BigInt(text)),
    ]),
  ],
  [
    'real',
    float(32),
    ['-0', '1e-45', '3.4028235e+38', 'NaN', '-Infinity'].map((text) => [text, float32(Number(text))]),
  ],
  [
    'double precision',
    float(64),
    ['-0', '5e-324', '1.7976931348623157e+308', 'NaN', 'Infinity'].map((text) => [
      text,
      float64(Number(text)),
    ]),
  ],
  [
    'date',
    date,
    [
      ['0001-01-01', int32(daysFrom2000('0001-01-01'))],
      ['1970-01-01', int32(daysFrom2000('1970-01-01'))],
      ['2000-02-29', int32(59)],
      ['5874897-12-31', int32(2_145_031_948)],
    ],
  ],
  [
    'time',
    time,
    [
      ['00:00:00', int64(0n)],
      ['13:04:05.000001', int64(47_045_000_001n)],
      ['23:59:59.999999', int64(86_399_999_999n)],
    ],
  ],
  [
    'timestamp',
    timestamp,
    [
      ['0001-01-01 00:00:00', int64(microsFrom2000('0001-01-01T00:00:00Z'))],
      ['1969-12-31 23:59:59.999999', int64(-epochMicros - 1n)],
      ['1970-01-01 00:00:00', int64(-epochMicros)],
      ['2000-01-01 00:00:00', int64(0n)],
      ['2026-11-20 13:04:05.123456', int64(microsFrom2000('2026-11-20T13:04:05Z', 123_456n))],
      ['294247-01-10 04:00:54.775807', int64(highest - epochMicros)],
    ],
  ],
  [
    'uuid',
    uuid,
    [['5f0c2a52-3f5e-4e0e-8f2a-ff0b0c0d0e00', Buffer.from('5f0c2a523f5e4e0e8f2aff0b0c0d0e00', 'hex')]],
  ],
  [
    'bytea',
    bytea,
    [
      ['\\x', Buffer.alloc(0)],
      ['\\xdeadbeef00', Buffer.from('deadbeef00', 'hex')],
    ],
  ],
])('%s', (_, { kind, binary }, values) => {
  it.each(values)('has %s in both formats', (text, bytes) => {
    expect(streamOf({ kind, binary }, bytes)).toEqual(streamOf({ kind }, Buffer.from(text)));
  });
});

it.each<[string, Forms, Buffer]>([
  ['infinity', date, int32(2 ** 31 - 1)],
  ['-infinity', date, int32(-(2 ** 31))],
  ['a day BC', date, int32(daysFrom2000('0001-01-01') - 1)],
  ['24:00:00', time, int64(86_400_000_000n)],
  ['a time before midnight', time, int64(-1n)],
  ['infinity', timestamp, int64(highest)],
  ['-infinity', timestamp, int64(-highest - 1n)],
  ['a microsecond BC', timestamp, int64(microsFrom2000('0001-01-01T00:00:00Z', -1n))],
  ['a microsecond beyond 64 bits', timestamp, int64(highest - epochMicros + 1n)],
])('refuses %s, which its type cannot hold', (_, { kind, binary }, bytes) => {
  expect(() => streamOf({ kind, binary }, bytes)).toThrow('has a value that Arrow’s type');
});

it.each<[Forms, number]>([
  [integer(16), 2],
  [integer(32), 4],
  [integer(64), 8],
  [float(32), 4],
  [float(64), 8],
  [date, 4],
  [time, 8],
  [timestamp, 8],
  [uuid, 16],
])('refuses $binary in other than %i bytes', ({ kind, binary }, length) => {
  for (const wrong of [0, length - 1, length + 1])
    expect(() => streamOf({ kind, binary }, Buffer.alloc(wrong))).toThrow(
      expect.objectContaining({
        code: 'SOURCE_BROKEN',
        message: `The source sent a value of ${wrong} bytes instead of ${length}.`,
      }),
    );
});
