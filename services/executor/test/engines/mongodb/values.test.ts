import type { Numbers } from '@datahub/contract/numbers';
import fc from 'fast-check';
import {
  Binary,
  BSON,
  BSONRegExp,
  Code,
  Decimal128,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'mongodb';
import { expect, it, test } from 'vitest';
import { scaled } from '../../../../../tests/support/scale.ts';
import { BsonWriter } from '../../../src/result/values/bson.ts';
import { ByteWriter } from '../../../src/result/values/primitives.ts';

function write(value: unknown, numbers: Numbers = 'auto'): string {
  const out = new ByteWriter(1);
  const source = Buffer.from(BSON.serialize({ v: value }, { ignoreUndefined: false }));
  new BsonWriter(numbers, 'json').document(out, source, 0);
  return out.buffer.toString('utf8', 0, out.position).slice('{"v":'.length, -1);
}

it.each<[string, unknown, string]>([
  ['long', Long.fromString('-9223372036854775808'), '-9223372036854775808'],
  ['decimal', Decimal128.fromString('12345678901234567890.120'), '12345678901234567890.120'],
  ['decimal', Decimal128.fromString('1E+400'), '1E+400'],
  ['decimal', Decimal128.fromString('-Infinity'), '"-Infinity"'],
  ['double', Number.NaN, '"NaN"'],
])('writes a %s as a number if that is asked for', (_, value, expected) => {
  expect(write(value, 'number')).toBe(expected);
});

it.each<[string, unknown, string, string?]>([
  ['int', new Int32(-5), '-5'],
  ['double', new Double(0.1), '0.1'],
  ['double', new Double(1e300), '1e+300'],
  ['double', new Double(-0), '-0'],
  ['double', Number.NaN, '"NaN"'],
  ['double', Number.NEGATIVE_INFINITY, '"-Infinity"'],
  ['long', Long.fromString('999999999999999'), '999999999999999', '"999999999999999"'],
  ['long', Long.fromString('-9223372036854775808'), '"-9223372036854775808"'],
  ['decimal', Decimal128.fromString('1.50'), '1.50', '"1.50"'],
  ['decimal', Decimal128.fromString('12345678901234567890.12'), '"12345678901234567890.12"'],
  ['decimal', Decimal128.fromString('NaN'), '"NaN"'],
  ['decimal', Decimal128.fromString('1E+400'), '"1E+400"'],
  ['string', 'a"\\\n😀\u0001', '"a\\"\\\\\\n😀\\u0001"'],
  ['string', '', '""'],
  ['bool', true, 'true'],
  ['null', null, 'null'],
  ['undefined', undefined, 'null'],
  ['date', new Date('2026-11-20T13:04:05.120Z'), '"2026-11-20T13:04:05.120Z"'],
  ['date before 1970', new Date(-1), '"1969-12-31T23:59:59.999Z"'],
  ['objectId', new ObjectId('64b7f0c2a1b2c3d4e5f60718'), '"64b7f0c2a1b2c3d4e5f60718"'],
  ['uuid', new UUID('12345678-1234-1234-1234-123456789012'), '"12345678-1234-1234-1234-123456789012"'],
  ['binData', new Binary(Buffer.from('deadbeef', 'hex')), '"3q2+7w=="'],
  ['binData of old', new Binary(Buffer.from('deadbeef', 'hex'), 2), '"3q2+7w=="'],
  ['regex', new BSONRegExp('^a/b', 'i'), '"/^a/b/i"'],
  ['timestamp', new Timestamp({ t: 5, i: 6 }), '"Timestamp(5, 6)"'],
  ['javascript', new Code('x'), '"x"'],
  ['javascriptWithScope', new Code('x', { a: 1 }), '"x"'],
  ['minKey', new MinKey(), '"MinKey"'],
  ['maxKey', new MaxKey(), '"MaxKey"'],
  ['array', [1, [2, { a: null }], []], '[1,[2,{"a":null}],[]]'],
  [
    'object',
    JSON.parse('{"__proto__":{"a":1},"":2,"a.b":3,"$c":4}'),
    '{"__proto__":{"a":1},"":2,"a.b":3,"$c":4}',
  ],
])('%s %s', (_type, value, json, strings = json) => {
  expect(write(value)).toBe(json);
  expect(write(value, 'string')).toBe(strings);
});

it('a date beyond all calendars is its milliseconds', () => {
  const source = Buffer.from(BSON.serialize({ v: new Date(0) }));
  source.writeBigInt64LE(9_000_000_000_000_000n, 7);
  const out = new ByteWriter(1);
  new BsonWriter('auto', 'json').document(out, source, 0);
  expect(out.buffer.toString('utf8', 0, out.position)).toBe('{"v":"9000000000000000"}');
});

it('a text that is not UTF-8 fails the answer', () => {
  const source = Buffer.from(BSON.serialize({ v: 'abcd' }));
  source[source.indexOf('bc')] = 0xff;
  const run = () => new BsonWriter('auto', 'json').document(new ByteWriter(1), source, 0);
  expect(run).toThrow(expect.objectContaining({ code: 'SQL_REJECTED' }));
});

it('a document nested without end fails the answer', () => {
  let value: unknown = 1;
  for (let i = 0; i < 300; i++) value = [value];
  expect(() => write(value)).toThrow(RangeError);
});

test('what JSON can say comes back as it was', () => {
  const values = fc.jsonValue({ maxDepth: 4 });
  const property = fc.property(values, (value) => {
    const json = JSON.stringify(value);
    // Zeros have no sign in what JSON is made of here.
    expect(JSON.parse(write(JSON.parse(json)))).toEqual(JSON.parse(json));
  });
  fc.assert(property, { numRuns: scaled(500, 50_000) });
});

test('bytes that are anything end in an error, never in more than there is', () => {
  const valid = Buffer.from(
    BSON.serialize({ a: 'text', b: [1, { c: new ObjectId() }], d: new Binary(Buffer.alloc(9)) }),
  );
  const property = fc.property(fc.nat(valid.length - 1), fc.nat(255), (at, byte) => {
    const source = Buffer.from(valid);
    source[at] = byte;
    try {
      new BsonWriter('auto', 'json').document(new ByteWriter(1), source, 0);
    } catch (err) {
      expect(err).toSatisfy(
        (caught) => caught instanceof RangeError || (caught as { code?: string }).code === 'SQL_REJECTED',
      );
    }
  });
  fc.assert(property, { numRuns: scaled(2_000, 50_000) });
});
