import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exactMember, JsonBody } from '../../src/http/json-body.ts';

/** The body in chunks of so many bytes. */
const parse = (text: string, chunkBytes = Number.POSITIVE_INFINITY) => {
  const bytes = Buffer.from(text);
  const body = new JsonBody();
  for (let at = 0; at < bytes.length; at += chunkBytes) body.push(bytes.subarray(at, at + chunkBytes));
  return body.end();
};

describe('a body', () => {
  it('gives back any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        expect(parse(text).value).toEqual(JSON.parse(text));
      }),
    );
  });

  it.each([
    ['{"n":9007199254740993}', '9007199254740993'],
    ['{"n":1.10}', '1.10'],
    ['{"n":50000000000.000006}', '50000000000.000006'],
    ['{"n":-0}', '-0'],
    ['{"n":1e400}', '1e400'],
    ['{"n":12345678.12345678901}', '12345678.12345678901'],
    ['{"n": [ 0.1234567890123456789 ]}', '[0.1234567890123456789]'],
    ['{"n":"8,1e5"}', '"8,1e5"'],
    ['{"n":123456789012345678901234567890.5}', '123456789012345678901234567890.5'],
    ['{"n":[1,{"deep":12345678901234567}]}', '[1,{"deep":12345678901234567}]'],
    ['{"n":12}', '12'],
    ['{"n":"9007199254740993"}', '"9007199254740993"'],
  ])('keeps the digits of %s', (text, member) => {
    expect(exactMember(parse(text), ['n'])).toBe(member);
  });

  it('keeps the digits of any number', () => {
    const digits = fc.tuple(fc.bigInt(), fc.nat(), fc.integer({ min: -9, max: 9 }));
    fc.assert(
      fc.property(digits, ([whole, part, exponent]) => {
        for (const number of [
          `${whole}`,
          `${part}.${whole < 0n ? -whole : whole}`,
          `${whole}.${part}`,
          `${whole}.${part}e${exponent}`,
        ]) {
          expect(exactMember(parse(`{"n":${number}}`), ['n'])).toBe(number);
        }
      }),
    );
  });

  it('is read once if its ids contain digits and its numbers are plain', () => {
    expect(
      parse('{"queryId":"dh.q.06d1234567890123456789e5","context":{"id":7,"at":1.5}}').exactText,
    ).toBeUndefined();
  });

  it.each([
    ['{"context":{"a":1.10}}', '{"a":1.10}'],
    [
      '{"queryId":"q","context": {"b":[1,{"context":2}]} ,"options":{"context":3}}',
      ' {"b":[1,{"context":2}]} ',
    ],
    ['{"options":{"context":3},"con\\u0074ext":{"a":"},\\",:"}}', '{"a":"},\\",:"}'],
    ['{"context":null}', 'null'],
    ['{"options":{"context":3},"a":"context"}', undefined],
    ['[{"context":3}]', undefined],
    ['{"é":1,"context":{}}', undefined],
  ])('has the text of the context: %s', (text, context) => {
    for (const chunkBytes of [1, 7, 1_000]) expect(parse(text, chunkBytes).contextText).toBe(context);
  });

  it('has the text of any context, or none', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue(), fc.nat(20), (context, other, chunkBytes) => {
        const text = JSON.stringify({ a: other, context, b: other }, null, chunkBytes % 3);
        const written = parse(text, chunkBytes + 1).contextText;
        const isAscii = Buffer.byteLength(text) === text.length;
        expect(written === undefined ? undefined : JSON.parse(written)).toEqual(
          isAscii ? JSON.parse(JSON.stringify(context)) : undefined,
        );
      }),
    );
  });

  it('has no member that it only inherits', () => {
    expect(exactMember(parse('{}'), ['constructor'])).toBeUndefined();
    expect(exactMember(parse('{"__proto__":{"a":1}}'), ['a'])).toBeUndefined();
  });

  it.each(['', '{', '{"a":}', '{]"a":1}', 'nul', '[1,]', `${'['.repeat(65)}${']'.repeat(65)}`])(
    'of %j is refused',
    (text) => {
      expect(() => parse(text)).toThrow(expect.objectContaining({ code: 'VALIDATION' }));
    },
  );

  it.each([
    ['{"a":1,"a":2}', '/a'],
    ['{"a":1,"b":{"a":1},"a":2}', '/a'],
    ['{"context":{"x":[1,{"y":1},{"y":[],"z":"y\\"","\\u0079":2}]}}', '/context/x/2/y'],
    ['{"a/b~":null , "a/b~" :null}', '/a~1b~0'],
    ['{"":{},"":{}}', '/'],
    ['{"__proto__":1,"__proto__":2}', '/__proto__'],
  ])('is refused where a member stands twice: %s', (text, pointer) => {
    const faults = [{ pointer, detail: 'is a duplicate member' }];
    for (const bytes of [Number.POSITIVE_INFINITY, 1, 3])
      expect(() => parse(text, bytes)).toThrow(expect.objectContaining({ code: 'VALIDATION', faults }));
  });

  it.each([
    ['nested deeper than 64 levels', '['.repeat(65)],
    ['more than 100000 objects and arrays', `[${'{},'.repeat(100_000)}`],
    ['more than 1000000 members and elements', `[${'0,'.repeat(1_000_001)}`],
    ['more than 10000 members', `{${Array.from({ length: 10_001 }, (_, i) => `"${i}":0`).join()}`],
    ['more than 100000 members in all objects', `[${'{"a":0,"b":0,"c":0},'.repeat(33_400)}`],
    ['is a duplicate member', '{"schlüssel":1,"schl\\u00fcssel":'],
  ])('is refused before it is whole: %s', (why, text) => {
    const body = new JsonBody();
    expect(() => body.push(Buffer.from(text))).toThrow(why);
  });

  it('may hold a name again elsewhere', () => {
    const value = { a: { a: [{ a: 'a' }, { a: ',"a":1' }, 'a', 'a'] }, b: '{"a":1,"a":2}', '"a': 1, '\\': 2 };
    expect(parse(JSON.stringify(value)).value).toEqual(value);
  });

  it('may hold brackets in its strings', () => {
    expect(parse(JSON.stringify({ a: '[{'.repeat(500) })).value).toEqual({ a: '[{'.repeat(500) });
  });
});
