import { rawJSON } from '@datahub/contract/exact-json';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import { compileStatement } from '../../src/compile.ts';
import { bind, find } from '../command-fixture.ts';

describe('a variable', () => {
  it.each<[unknown, unknown]>([
    ['north', 'north'],
    ['$secret', '$secret'],
    [':other', ':other'],
    ['{{other}}', '{{other}}'],
    [null, null],
    [5, 5],
    [
      [1, 'x'],
      [1, 'x'],
    ],
    [{ a: { b: 1 } }, { a: { b: 1 } }],
  ])('%j in a filter is a value', (value, written) => {
    expect(bind(find({ region: ':r', other: { $in: '{{ r }}' } }), { r: value }).filter).toEqual({
      region: written,
      other: { $in: written },
    });
  });

  it('in an expression is a literal, so that no text reads another field', () => {
    const pipeline = [
      { $match: { $expr: { $eq: ['$owner', ':x'] } } },
      { $set: { note: ':x' } },
      { $limit: ':n' },
    ];
    expect(bind({ aggregate: 'o', pipeline }, { x: '$password', n: 3 }).pipeline).toEqual([
      { $match: { $expr: { $eq: ['$owner', { $literal: '$password' }] } } },
      { $set: { note: { $literal: '$password' } } },
      { $limit: 3 },
    ]);
  });

  it.each([{ $gt: '' }, { a: { $ne: 1 } }, [{ $where: 'x' }], { $oid: '64b7f0c2a1b2c3d4e5f60718' }])(
    'that holds an operator, as %j does, is refused',
    (value) => {
      const places = [
        find({ a: ':x' }),
        { insert: 'o', documents: [':x'] },
        { aggregate: 'o', pipeline: [{ $set: { a: ':x' } }] },
      ];
      for (const command of places) {
        expect(() => bind(command, { x: value })).toThrow(
          expect.objectContaining({
            code: 'CONTEXT_INVALID',
            message: 'context.x must not contain a name that begins with $.',
          }),
        );
      }
    },
  );

  it.each<[string, unknown, unknown]>([
    ['bigint', '9007199254740993', { $numberLong: '9007199254740993' }],
    ['decimal', '0.10', { $numberDecimal: '0.10' }],
    ['number', 5, { $numberDouble: '5' }],
    ['integer', 5, { $numberInt: '5' }],
    ['integer', rawJSON('1.0'), { $numberInt: '1' }],
    ['integer', rawJSON('1e3'), { $numberInt: '1000' }],
    ['date', '2026-11-20', { $date: { $numberLong: '1795132800000' } }],
    ['timestamp', '2026-11-20T13:04:05.123456+01:30', { $date: { $numberLong: '1795174445123' } }],
    ['timestamp', '2026-11-20 13:04', { $date: { $numberLong: '1795179840000' } }],
    ['uuid', '12345678-1234-1234-1234-123456789012', { $uuid: '12345678-1234-1234-1234-123456789012' }],
    ['string', 'x', 'x'],
    ['json', { a: [1] }, { a: [1] }],
    ['bigint[]', ['1', null], [{ $numberLong: '1' }, null]],
  ])('declared as %s is that type of BSON: %j', (type, value, written) => {
    expect(bind(find({ a: ':x' }), { x: value }, { variables: [{ key: 'x', type }] }).filter.a).toEqual(
      written,
    );
  });

  it('stands in the types of Extended JSON', () => {
    const filter = {
      _id: { $oid: ':id' },
      at: { $gte: { $date: ':from' } },
      n: { $in: { $numberLong: ':ns' } },
    };
    const context = { id: '64b7f0c2a1b2c3d4e5f60718', from: '2026-11-20T00:00:00Z', ns: [1, '2'] };
    expect(bind(find(filter), context).filter).toEqual({
      _id: { $oid: context.id },
      at: { $gte: { $date: { $numberLong: '1795132800000' } } },
      n: { $in: [{ $numberLong: '1' }, { $numberLong: '2' }] },
    });
  });

  it.each<[object, unknown, string]>([
    [{ $oid: ':x' }, 'no', 'must be an ObjectId: 24 hexadecimal digits'],
    [{ $oid: ':x' }, { $oid: 'x' }, 'must be an ObjectId: 24 hexadecimal digits'],
    [{ $date: ':x' }, '2026-13-45', 'must be a date or a timestamp such as 2026-11-20T13:04:05.123Z'],
    [{ $numberLong: ':x' }, '9223372036854775808', 'must be a whole number of 64 bits'],
  ])('that does not fit %j is named, not shown', (place, value, detail) => {
    expect(() => bind(find({ a: place }), { x: value })).toThrow(
      expect.objectContaining({ code: 'CONTEXT_INVALID', message: `context.x ${detail}.` }),
    );
  });

  it('keeps every digit', () => {
    const compiled = compileStatement(
      '{"insert": "o", "documents": [{"a": ":x", "b": 12345678901234567890123}]}',
      {
        dialect: 'mongodb',
        command: 'INSERT',
        variables: [],
      },
    );
    const { text } = compiled.bind({
      pinnedJson: '',
      contextJson: '{"x": [9007199254740993, 1.10, 0.12345678901234567890]}',
    });
    expect(JSON.parse(text).documents).toEqual([
      {
        a: [
          { $numberLong: '9007199254740993' },
          { $numberDouble: '1.10' },
          { $numberDecimal: '0.12345678901234567890' },
        ],
        b: { $numberDecimal: '12345678901234567890123' },
      },
    ]);
  });

  it('is written with one more colon if the text itself is meant', () => {
    expect(bind(find({ a: '::name', b: '::1', c: 'at 12:30' })).filter).toEqual({
      a: ':name',
      b: '::1',
      c: 'at 12:30',
    });
  });
});

test('no value ever becomes more than a value', () => {
  const values = fc.anything({
    key: fc.oneof(fc.string(), fc.constantFrom('$gt', '$where', '$oid', '__proto__', 'a"b')),
    values: [
      fc.string({ unit: 'binary' }),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom('$a', ':x', '"}', '\\"'),
    ],
    maxDepth: 4,
  });
  const holdsOperator = (value: unknown): boolean =>
    typeof value === 'object' &&
    value !== null &&
    Object.entries(value).some(([key, member]) => key.startsWith('$') || holdsOperator(member));
  const property = fc.property(values, (generated) => {
    const json = JSON.stringify(generated) ?? 'null';
    if (json.includes('\\u0000')) return;
    const value = JSON.parse(json);
    const run = () => bind({ find: 'o', filter: { a: ':x', b: 1 } }, { x: value }).filter;
    if (holdsOperator(value)) expect(run).toThrow('must not contain a name that begins with $');
    else expect(plainNumbers(run())).toEqual(plainNumbers({ a: value, b: 1 }));
  });
  fc.assert(property, { numRuns: Number(process.env.PROPERTY_RUNS ?? scaled(500, 50_000)) });
});

/** Numbers of either form as doubles. */
function plainNumbers(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const [first] = Object.entries(value);
  if (first?.[0].startsWith('$number')) return Number(first[1]);
  if (Array.isArray(value)) return value.map(plainNumbers);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plainNumbers(member)]));
}
