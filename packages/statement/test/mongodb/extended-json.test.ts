import { describe, expect, it } from 'vitest';
import {
  type ExtendedType,
  extendedTypes,
  type Form,
  numberText,
  valueText as textOf,
  ValueFault,
} from '../../src/mongodb/extended-json.ts';
import { ExactNumber, parseValue, type Value } from '../../src/values.ts';

const isType = (form: Form | ExtendedType): form is ExtendedType => form.startsWith('$');
/** `form` can be a type of the command. */
const valueText = (value: Value, form: Form | ExtendedType, type?: string) =>
  textOf(value, isType(form) ? { form: 'plain', type: form } : { form }, type);

/** What stands in the place of a value, read back; or what is wrong with it. */
function written(value: Value, form: Form | ExtendedType, type?: string): unknown {
  const text = valueText(value, form, type);
  return text instanceof ValueFault ? text : JSON.parse(text);
}

const must: Record<ExtendedType, string> = {
  $oid: 'must be an ObjectId: 24 hexadecimal digits',
  $date: 'must be a date or a timestamp such as 2026-11-20T13:04:05.123Z',
  $uuid: 'must be a UUID',
  $numberInt: 'must be a whole number from -2147483648 to 2147483647',
  $numberLong: 'must be a whole number of 64 bits',
  $numberDouble: 'must be a number',
  $numberDecimal: 'must be a decimal number of at most 34 digits, from 1e-6176 to below 1e6145',
};

const good: Record<Exclude<ExtendedType, '$date' | '$numberLong'>, Value[]> = {
  $oid: ['64b7f0c2a1b2c3d4e5f60718', '64B7F0C2A1B2C3D4E5F60718', '000000000000000000000000'],
  $uuid: ['12345678-9abc-def0-1234-56789abcdef0', '12345678-9ABC-DEF0-1234-56789ABCDEF0'],
  $numberInt: [0, 5, '5', '-1', -2_147_483_648, 2_147_483_647, '2147483647', new ExactNumber('7')],
  $numberDouble: [0.5, 5, '5.', '.25', '-1.50', '1e5', '1E+05', '-1e-9999', '1e308', new ExactNumber('1.10')],
  $numberDecimal: [
    ...['0', '0.10', '.25', '5.', '-12.5e-10', '1e6144', '9E+6144', '1e-6176', '-0.01', '12.34E+3', '1e0'],
    ...[
      '1234567890123456789012345678901234',
      '-0.1234567890123456789012345678901234',
      '12e6143',
      '0.1e-6175',
    ],
    ...['00000000000000000000000000000000000001', `0.${'0'.repeat(50)}1`, new ExactNumber('1.10'), 5],
  ],
};

const noText: Value[] = [
  { toString: 1, valueOf: 1 },
  '',
  ' ',
  'x',
  true,
  false,
  {},
  { $oid: '64b7f0c2a1b2c3d4e5f60718' },
  'null',
  'NaN',
];
const bad: Record<ExtendedType, Value[]> = {
  $oid: [
    ...noText,
    ...['64b7f0c2a1b2c3d4e5f6071', '64b7f0c2a1b2c3d4e5f607180', '064b7f0c2a1b2c3d4e5f60718'],
    ...['g4b7f0c2a1b2c3d4e5f60718', '64b7f0c2a1b2c3d4e5f60718\n', '64b7f0c2a1b2c3d4e5f6071"', 5],
  ],
  $date: [
    ...[...noText, 5, '2026', '2026-11', '2026-1-01', '26-11-20', '2026-00-10', '2026-13-01', '2026-11-00'],
    ...['2026-02-29', '2026-02-30', '2026-04-31', '2026-12-32', '1900-02-29', '2026-02-30T10:00:00Z'],
    ...['x2026-11-20', '2026-11-20x', '2026-11-20 ', '2026-11-20T', '2026-11-20T13', '2026-11-20T1304'],
    ...[
      '2026-11-20T13:04:05x',
      '2026-11-20T13:04Zx',
      '2026-11-20T25:00',
      '2026-11-20T13:60',
      '2026-11-20T13:04.5Z',
      '2026-11-20Z',
    ],
    ...['2026-11-20T13:04:60Z', '2026-11-20T13:04:05.Z', '2026-11-20T13:04:05.1234567891Z'],
    ...[
      '2026-11-20T13:04:05+1',
      '2026-11-20T13:04:05+24:00',
      '2026-11-20T13:04:05+01:60',
      '2026-11-20T13:04:05z',
    ],
    ...['2026-11-20t13:04:05Z', '2026-11-20T13:04:05 Z', '2026-11-20T13:04:05+01:0', '+002026-11-20'],
  ],
  $uuid: [
    ...noText,
    ...[
      '12345678-9abc-def0-1234-56789abcdef',
      '12345678-9abc-def0-1234-56789abcdef00',
      'x2345678-9abc-def0-1234-56789abcdef0',
    ],
    ...[
      '012345678-9abc-def0-1234-56789abcdef0',
      '123456789abcdef0123456789abcdef0',
      '12345678-9abc-def0-123456789abcdef0',
    ],
    ...['12345678-9abc-def0-1234-56789abcdef0"', '{12345678-9abc-def0-1234-56789abcdef0}'],
  ],
  $numberInt: [
    ...noText,
    ...[2_147_483_648, -2_147_483_649, '2147483648', 1.5, '1.0', '1e3', '+5', '5 ', '0x5', 'x5', '--5', '5-'],
  ],
  $numberLong: [
    ...noText,
    ...['9223372036854775808', '-9223372036854775809', '12345678901234567890', 1.5, '1e3', '+1', '0x1', '1n'],
  ],
  $numberDouble: [
    ...noText,
    ...[
      '1e400',
      '-1e309',
      'Infinity',
      '-Infinity',
      '+1',
      '.',
      '-',
      '1e',
      '1e+',
      'e5',
      '1e12345',
      '1.2.3',
      '0x10',
    ],
    ...['1,5', '5 ', '- 5', '1"', '$1', new ExactNumber('1e400')],
  ],
  $numberDecimal: [
    ...noText,
    ...['12345678901234567890123456789012345', '0.12345678901234567890123456789012345', '1e6145', '12e6144'],
    ...[
      `${'9'.repeat(34)}e6112`,
      '1e-6177',
      '0.1e-6176',
      '1.0e-6176',
      '1e9999',
      '1e-9999',
      '1e12345',
      '.',
      '-',
    ],
    ...['1e', 'Infinity', '+1', '1,5', '5 ', 'x5', '5x', '1.2.3', '1e5e5', new ExactNumber('1e6145')],
  ],
};

describe.each(extendedTypes)('%s', (type) => {
  it('refuses what it is not, and says what it must be', () => {
    for (const value of bad[type]) {
      const misfit = new ValueFault(must[type]);
      expect([value, written(value, type)]).toEqual([value, misfit]);
      expect(written([null, value], type)).toEqual(misfit);
    }
  });

  it('may be null, a list, and empty', () => {
    expect(written(null, type)).toBe(null);
    expect(written([], type)).toEqual([]);
    expect(written([null, [null]], type)).toEqual([null, [null]]);
  });
});

it.each(Object.entries(good))('%s is as it was given', (type, values) => {
  const texts = values.map((value) => ({
    [type]: value instanceof ExactNumber ? value.text : String(value),
  }));
  expect(written(values, type as Form)).toEqual(texts);
});

it.each<[Value, string]>([
  ['9223372036854775807', '9223372036854775807'],
  ['-9223372036854775808', '-9223372036854775808'],
  [new ExactNumber('9007199254740993'), '9007199254740993'],
  [5, '5'],
  ['0', '0'],
  ['0012', '12'],
  ['-007', '-7'],
  ['-0', '0'],
])('a long of %j is %s, as BSON’s reader wants it', (value, text) => {
  expect(written(value, '$numberLong')).toEqual({ $numberLong: text });
  expect(written([value], 'plain', 'bigint[]')).toEqual([{ $numberLong: text }]);
});

it.each([
  ['2026-11-20', '2026-11-20T00:00:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  ['2000-02-29', '2000-02-29T00:00:00.000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
  ['1969-12-31 23:59:59.9', '1969-12-31T23:59:59.900Z'],
  ['2026-11-20T13:04', '2026-11-20T13:04:00.000Z'],
  ['2026-11-20 13:04Z', '2026-11-20T13:04:00.000Z'],
  ['2026-11-20T13:04:05', '2026-11-20T13:04:05.000Z'],
  ['2026-11-20T13:04:05.12', '2026-11-20T13:04:05.120Z'],
  ['2026-11-20T13:04:05.1239Z', '2026-11-20T13:04:05.123Z'],
  ['2026-11-20T13:04:05+01', '2026-11-20T12:04:05.000Z'],
  ['2026-11-20T13:04:05-01', '2026-11-20T14:04:05.000Z'],
  ['2026-11-20T13:04:05+0130', '2026-11-20T11:34:05.000Z'],
  ['2026-11-20T13:04:05+01:30', '2026-11-20T11:34:05.000Z'],
  ['2026-03-01T00:30:00+01:00', '2026-02-28T23:30:00.000Z'],
])('the date %s is %s', (text, instant) => {
  const date = { $date: { $numberLong: String(Date.parse(instant)) } };
  expect(written(text, '$date')).toEqual(date);
  expect(written([text, null], '$date')).toEqual([date, null]);
  expect(written(text, 'literal', 'timestamp')).toEqual({ $literal: date });
});

describe('a declared type', () => {
  it.each<[string, Value, unknown]>([
    ['bigint', '1', { $numberLong: '1' }],
    ['decimal', 5, { $numberDecimal: '5' }],
    ['number', 5, { $numberDouble: '5' }],
    ['integer', 5, { $numberInt: '5' }],
    ['date', '2026-11-20', { $date: { $numberLong: '1795132800000' } }],
    ['uuid', '12345678-1234-1234-1234-123456789012', { $uuid: '12345678-1234-1234-1234-123456789012' }],
    ['string', 'x', 'x'],
    ['boolean', true, true],
    ['json', { a: [1, null] }, { a: [1, null] }],
  ])('%s is that of the value, alone, in a list and in an expression', (type, value, bson) => {
    for (const [form, wrap] of [
      ['plain', (of: unknown) => of],
      ['literal', (of: unknown) => ({ $literal: of })],
    ] as const) {
      expect(written(value, form, type)).toEqual(wrap(bson));
      expect(written(null, form, type)).toEqual(wrap(null));
      expect(written([value, null], form, `${type}[]`)).toEqual(wrap([bson, null]));
      expect(written([], form, `${type}[]`)).toEqual(wrap([]));
    }
  });

  it('that the value is not of is said in either form', () => {
    for (const form of ['plain', 'literal'] as const) {
      expect(written('2026-02-30', form, 'date')).toEqual(new ValueFault(must.$date));
      expect(written(['1', 'x'], form, 'bigint[]')).toEqual(new ValueFault(must.$numberLong));
    }
  });

  it('that the place says goes before it', () => {
    expect(written('5', '$numberInt', 'bigint')).toEqual({ $numberInt: '5' });
  });
});

const nines = (count: number) => '9'.repeat(count);

it.each([
  ['0', '{"$numberLong":"0"}'],
  ['9223372036854775807', '{"$numberLong":"9223372036854775807"}'],
  ['-9223372036854775808', '{"$numberLong":"-9223372036854775808"}'],
  ['9223372036854775808', '{"$numberDecimal":"9223372036854775808"}'],
  ['-9223372036854775809', '{"$numberDecimal":"-9223372036854775809"}'],
  ['1.10', '{"$numberDouble":"1.10"}'],
  ['1e3', '{"$numberDouble":"1e3"}'],
  ['-0.0', '{"$numberDouble":"-0.0"}'],
  ['0.123456789012345', '{"$numberDouble":"0.123456789012345"}'],
  ['0.1234567890123456', '{"$numberDouble":"0.1234567890123456"}'],
  ['48.85837009999999', '{"$numberDouble":"48.85837009999999"}'],
  ['0.30000000000000004', '{"$numberDouble":"0.30000000000000004"}'],
  ['0.30000000000000001', '{"$numberDecimal":"0.30000000000000001"}'],
  ['1.7976931348623157e+308', '{"$numberDouble":"1.7976931348623157e+308"}'],
  ['12345678901234567000', '{"$numberDecimal":"12345678901234567000"}'],
  ['123456789012345e-3', '{"$numberDouble":"123456789012345e-3"}'],
  ['100000000000000.5E-3', '{"$numberDecimal":"100000000000000.5E-3"}'],
  ['1e308', '{"$numberDouble":"1e308"}'],
  ['1e309', '{"$numberDecimal":"1e309"}'],
  ['-1e6144', '{"$numberDecimal":"-1e6144"}'],
  [`0.${nines(34)}`, `{"$numberDecimal":"0.${nines(34)}"}`],
  [nines(34), `{"$numberDecimal":"${nines(34)}"}`],
  [nines(35), undefined],
  [`0.${nines(35)}`, undefined],
  ['1e6145', undefined],
])('the number %s of JSON is %s', (text, written) => {
  expect(numberText(new ExactNumber(text))).toBe(written);
});

describe('JSON', () => {
  it.each([
    'null',
    '"$a"',
    '[]',
    '{}',
    '[[],{"a":[null,true,"x"]}]',
    '{"a":{"b":[1,{"c":"$d"}]},"e":2}',
    '{"":1,"a$":2}',
  ])('%s is as it was given', (text) => {
    expect(valueText(parseValue(text), 'plain', undefined)).toBe(text);
    expect(valueText(parseValue(text), 'literal', 'json')).toBe(`{"$literal":${text}}`);
  });

  it.each([
    ['{"$gt": 1}', 'must not contain a name that begins with $'],
    ['[[{"a": [{"$oid": "x"}]}]]', 'must not contain a name that begins with $'],
    ['{"a": {"\\u0024where": 1}}', 'must not contain a name that begins with $'],
    ['{"a": {"b\\u0000": 1}}', 'must not contain a name with a NUL character'],
    ['{"a": [{"_bsontype": "Long"}]}', 'must not contain a member _bsontype'],
    ['[{"a": 1e9999}]', 'has more digits than any number type of MongoDB'],
    [nines(35), 'has more digits than any number type of MongoDB'],
  ])('%s is refused in every place of a value', (text, detail) => {
    for (const type of [undefined, 'json', 'json[]', 'string', 'boolean[]']) {
      expect(written(parseValue(text), 'plain', type)).toEqual(new ValueFault(detail));
      expect(written(parseValue(text), 'literal', type)).toEqual(new ValueFault(detail));
    }
  });
});
