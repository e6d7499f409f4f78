import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import { ByteWriter } from '../../src/result/byte-writer.ts';
import { toCsvField } from '../../src/result/csv.ts';
import { writeAscii, writeText } from '../../src/result/json-encoder.ts';

function fieldOf(write: (out: ByteWriter) => void, isJson = false): string {
  const out = new ByteWriter(1);
  writeAscii(out, 'before,');
  const from = out.position;
  write(out);
  toCsvField(out, from, isJson);
  return out.buffer.toString('utf8', 'before,'.length, out.position);
}

/** RFC 4180. */
const read = (field: string) => (field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field);

test.each([
  ['plain', 'plain'],
  ['', '""'],
  ['a,b', '"a,b"'],
  ['say "so"', '"say ""so"""'],
  ['two\nlines', '"two\nlines"'],
  ['two\r\nlines', '"two\r\nlines"'],
  ['back\\slash', 'back\\slash'],
  ['a\tb', 'a\tb'],
  ['\u0001', '\u0001'],
  ['Zürich 東京 🙂', 'Zürich 東京 🙂'],
])('the text %j is the field %j', (text, field) => {
  expect(fieldOf((out) => writeText(out, text))).toBe(field);
});

test('any text reads back, and is in quotes where its bytes would end the field', () => {
  const units = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(',', '"', '\r', '\n', '\\', '\t'));
  const property = fc.property(fc.string({ unit: units, maxLength: 60 }), (text) => {
    const field = fieldOf((out) => writeText(out, text));
    expect(read(field)).toBe(text);
    expect(field.startsWith('"')).toBe(text === '' || /[",\r\n]/.test(text));
  });
  fc.assert(property, { numRuns: scaled(500, 10_000) });
});

test.each([
  ['null', ''],
  ['12.50', '12.50'],
  ['true', 'true'],
  ['[1,2]', '"[1,2]"'],
])('the value %s is the field %s', (json, field) => {
  expect(fieldOf((out) => writeAscii(out, json))).toBe(field);
});

test('a document keeps its quotes', () => {
  expect(fieldOf((out) => writeAscii(out, '"text"'), true)).toBe('"""text"""');
});
