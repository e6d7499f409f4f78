import type { CsvOptions } from '@datahub/contract/formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import type { ColumnKind } from '../../src/ports/column-kind.ts';
import { csvEncoder } from '../../src/result/formats/csv.ts';
import { ByteWriter, writeAscii } from '../../src/result/values/primitives.ts';

function fieldOf(value: string | Buffer, kind: ColumnKind = { is: 'text' }, csv: CsvOptions = {}): string {
  const out = new ByteWriter(1);
  writeAscii(out, 'before,');
  const source = Buffer.from(value);
  csvEncoder(kind, 'auto', csv)(out, source, 0, source.length);
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
  expect(fieldOf(text)).toBe(field);
});

test('any text reads back, and is in quotes if its bytes would end the field', () => {
  const units = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom(',', '"', '\r', '\n', '\\', '\t'));
  const property = fc.property(fc.string({ unit: units, maxLength: 60 }), (text) => {
    const field = fieldOf(text);
    expect(read(field)).toBe(text);
    expect(field.startsWith('"')).toBe(text === '' || /[",\r\n]/.test(text));
  });
  fc.assert(property, { numRuns: scaled(500, 10_000) });
});

const digits: ColumnKind = { is: 'integer', bits: 64, isUnsigned: false, bytes: 'digits' };
const zeroDate = Buffer.alloc(4);

test.each<[string, string | Buffer, ColumnKind, string]>([
  ['a long number', '12345678901234567890', digits, '12345678901234567890'],
  ['no number', 'NaN', { is: 'float', bits: 64, bytes: 'digits' }, 'NaN'],
  ['a truth value', 't', { is: 'boolean', bytes: 'letter' }, 'true'],
  ['a zero date', zeroDate, { is: 'timestamp', hasZone: true, bytes: 'packed' }, ''],
  ['no bytes', '', { is: 'binary', bytes: 'raw' }, '""'],
  ['an array', '{1,2}', { is: 'array', element: digits }, '"[1,2]"'],
  ['an array of one', '{1}', { is: 'array', element: digits }, '[1]'],
  ['a document', '"text"', { is: 'json', mayBeInvalid: false }, '"""text"""'],
  ['a document that is null', 'null', { is: 'json', mayBeInvalid: false }, 'null'],
])('%s is a field without the quotes of JSON', (_, value, kind, field) => {
  expect(fieldOf(value, kind)).toBe(field);
});

const double = Buffer.alloc(11);
double[0] = 0x01;
double[1] = 0x61;
double.writeDoubleLE(-1.5, 3);
const text = Buffer.from('\u0002a\u0000\u0004\u0000\u0000\u00001.5\u0000', 'latin1');

test.each<[string, string | Buffer, ColumnKind, string]>([
  ['a decimal', '-12345678901234567890.125', { is: 'decimal' }, '-12345678901234567890,125'],
  ['a float', '1.5e-7', { is: 'float', bits: 64, bytes: 'digits' }, '1,5e-7'],
  ['no number', 'NaN', { is: 'float', bits: 64, bytes: 'digits' }, 'NaN'],
  ['a double of MongoDB', double, { is: 'bson' }, '-1,5'],
  ['a text of MongoDB', text, { is: 'bson' }, '1.5'],
  ['a text', '1.5', { is: 'text' }, '1.5'],
  ['a document', '{"a":1.5}', { is: 'json', mayBeInvalid: false }, '"{""a"":1.5}"'],
])('%s has a comma if the call asks for it', (_, value, kind, field) => {
  expect(fieldOf(value, kind, { delimiter: ';', decimal: ',' })).toBe(field);
});

test('a comma that is also the delimiter is in quotes', () => {
  expect(fieldOf('1.5', { is: 'decimal' }, { decimal: ',' })).toBe('"1,5"');
});
