import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import {
  ByteWriter,
  type FieldEncoder,
  isExactNumber,
  writeBase64,
  writeInteger,
  writeRaw,
  writeString,
} from '../../src/result/values/primitives.ts';

function write(encode: FieldEncoder, source: Buffer): string {
  const out = new ByteWriter(1);
  encode(out, source, 0, source.length);
  return out.buffer.toString('utf8', 0, out.position);
}

test('any text is a JSON string that reads back', () => {
  const texts = fc.string({
    unit: fc.oneof(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom('"', '\\')),
  });
  const property = fc.property(texts, fc.integer({ min: 1, max: 40_000 }), (text, length) => {
    for (const one of [text, text.repeat(Math.ceil(length / Math.max(text.length, 1)))]) {
      expect(JSON.parse(write(writeString, Buffer.from(one)))).toBe(Buffer.from(one).toString());
    }
  });
  fc.assert(property, { numRuns: scaled(200, 5_000) });
});

test('a long text takes no more room than it needs', () => {
  for (const length of [16_383, 16_384, 16_385, 1_000_000]) {
    const text = '\u0001"'.repeat(length / 2);
    const out = new ByteWriter(1);
    writeString(out, Buffer.from(text), 0, text.length);
    expect(JSON.parse(out.buffer.toString('utf8', 0, out.position))).toBe(text);
  }
  const out = new ByteWriter(1);
  writeString(out, Buffer.alloc(10_000_000, 'a'), 0, 10_000_000);
  expect(out.buffer.length).toBeLessThan(12_000_000);
});

test('text is a JSON string wherever an escape stands in it, and wherever it stands among other bytes', () => {
  for (const escaped of ['"', '\\', '\u0000', '\u001f', '\n', '\u007f', '\u0080', 'ü', '語', '🙂']) {
    for (let length = 0; length < 14; length++) {
      for (let place = 0; place <= length; place++) {
        const text = `${'!'.repeat(place)}${escaped}${'~'.repeat(length - place)}`;
        const source = Buffer.from(`"\\"${text}\n\n\n`);
        const out = new ByteWriter(1);
        writeString(out, source, 3, source.length - 3);
        expect(JSON.parse(out.buffer.toString('utf8', 0, out.position))).toBe(text);
      }
    }
  }
});

test.each([
  0,
  1,
  9,
  10,
  99,
  100,
  101,
  999,
  1_000,
  65_535,
  2 ** 31 - 1,
  2 ** 32 - 1,
  -1,
  -10,
  -128,
  -(2 ** 31),
])('the whole number %s is its digits', (value) =>
  expect(write((out) => writeInteger(out, value), Buffer.alloc(0))).toBe(String(value)),
);

test('any whole number of 32 bits is its digits', () => {
  const property = fc.property(fc.integer({ min: -(2 ** 31), max: 2 ** 32 - 1 }), (value) => {
    expect(write((out) => writeInteger(out, value), Buffer.alloc(0))).toBe(String(value));
  });
  fc.assert(property, { numRuns: scaled(500, 10_000) });
});

test.each([0, 1, 2, 3, 4, 5, 8, 63, 95, 96, 97, 5_000])('%s bytes are copied as they are', (length) => {
  const source = Buffer.from(Array.from({ length: length + 8 }, (_, i) => i % 251));
  const out = new ByteWriter(1);
  writeRaw(out, source, 5, 5 + length);
  expect(out.buffer.subarray(0, out.position)).toEqual(source.subarray(5, 5 + length));
});

test('any bytes are base64', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
    expect(write(writeBase64, Buffer.from(bytes))).toBe(Buffer.from(bytes).toString('base64'));
  });
  fc.assert(property, { numRuns: scaled(500, 10_000) });
});

test.each([
  ['0', true],
  ['-0.0100', true],
  ['999999999999999', true],
  ['-999999999999999', true],
  ['1000000000000000', false],
  ['0.000000000000000000001', true],
  ['100000000000000.00', true],
  ['1000000000000000.00', false],
  ['1.00000000000000000', true],
  ['1.000000000000001', false],
  ['1.000000000000000000000000000', true],
  ['-1.100000000000000000000000000', true],
  ['0.000000000000000000000000000', true],
  ['1000000000000000000000000000', false],
  ['123456789012345.6000000000000', false],
  ['1-2', false],
  ['NaN', false],
  ['Infinity', false],
])('%s is a number of at most 15 significant digits: %s', (text, exact) => {
  expect(isExactNumber(new DataView(new TextEncoder().encode(text).buffer), 0, text.length)).toBe(exact);
});
