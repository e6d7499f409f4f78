import fc from 'fast-check';
import { expect, it } from 'vitest';
import { parseExact } from '../src/exact-json.ts';
import {
  countValues,
  elementsOf,
  excessOf,
  lossyPart,
  membersOf,
  parseWith,
  withoutSpaces,
} from '../src/json-text.ts';

/**
 * Names and strings with what the scan must skip, such as brackets, quotes and escapes. Not the name of one backslash: once
 * V8 has parsed an object with it, its parser reads the name of one quote as a backslash.
 */
const string = fc.oneof(
  fc.string(),
  fc.constantFrom('[{"', '\\', '"', '\\"', ',', '}]', ':', '__proto__', ' '),
);
const name = string.filter((text) => text !== '\\');
const { json } = fc.letrec((tie) => ({
  json: fc.oneof(
    { maxDepth: 4 },
    string,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('json'), { maxLength: 4 }),
    fc
      .uniqueArray(fc.tuple(name, tie('json')), { selector: ([name]) => name, maxLength: 4 })
      .map((members) => {
        const object = Object.create(null);
        for (const [name, value] of members) object[name] = value;
        return object;
      }),
  ),
}));
/** The value and its text, with white space or without. */
const written = fc
  .tuple(json, fc.constantFrom(undefined, 1, '\t'))
  .map(([value, space]) => ({ value, text: JSON.stringify(value, null, space) }));

const count = (value: unknown): number =>
  1 +
  (typeof value === 'object' && value !== null ? Object.values(value) : []).reduce<number>(
    (sum, one) => sum + count(one),
    0,
  );

it('reads the parts of any JSON as the parser does', () => {
  fc.assert(
    fc.property(written, ({ value, text }) => {
      const parsed = JSON.parse(text);
      expect(countValues(text)).toBe(count(parsed));
      expect(withoutSpaces(text)).toBe(JSON.stringify(value));
      expect(parseWith(text, Number)).toEqual(parsed);
      expect(lossyPart(text)).toBeUndefined();
      if (Array.isArray(parsed)) expect(elementsOf(text).map((part) => JSON.parse(part))).toEqual(parsed);
      else if (typeof parsed === 'object' && parsed !== null)
        expect([...membersOf(text)].map(([name, part]) => [name, JSON.parse(part)])).toEqual(
          expect.arrayContaining(Object.entries(parsed)),
        );
    }),
    { numRuns: 1_000 },
  );
});

it('finds what a parser would change in silence', () => {
  const found = (text: string) => {
    const { path, detail } = lossyPart(text) ?? { path: [], detail: '' };
    return [path.join('/'), /duplicate|surrogate/.exec(detail)?.[0]];
  };
  expect(found('{"a": 1, "b": {"a": 2}, "c": ["a", "a"], "\\u0061": 3}')).toEqual(['a', 'duplicate']);
  expect(found('[{"x": 1}, {"y": [{"x": 1, "x": 1}]}]')).toEqual(['1/y/0/x', 'duplicate']);
  expect(found('{"a": "\\ud83d\\ude00", "b": ["ok", "x\\ud800y"]}')).toEqual(['b/1', 'surrogate']);
  expect(found('{"a": "\\\\ud800"}')).toEqual(['', undefined]);
});

it('finds what is too much for one turn', () => {
  const deep = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  const objects = (count: number) => `[${Array.from({ length: count }, () => '{}')}]`;
  const members = (count: number) => `{${Array.from({ length: count }, (_, i) => `"${i}:,":1`)}}`;
  const numbers = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
  for (const text of [deep(64), objects(19_999), members(20_000), numbers(100_000), '"["', 'not [JSON'])
    expect(excessOf(text)).toBeUndefined();
  expect(excessOf(deep(65))).toBe('is nested deeper than 64 levels');
  expect(excessOf(objects(20_000))).toBe('has more than 20000 objects and arrays');
  expect(excessOf(members(20_001))).toBe('has more than 20000 members in all its objects');
  expect(excessOf(numbers(100_001))).toBe('has more than 100000 members and elements');
});

it('reads no more parts than it is told to', () => {
  expect(elementsOf('[1, [2, 3], 4]', { max: 2 })).toEqual(['1', '[2, 3]']);
  expect([...membersOf('{"a": 1, "b": {"c": 2}, "d": 3}', { max: 2 })]).toEqual([
    ['a', '1'],
    ['b', '{"c": 2}'],
  ]);
});

it('refuses what the parser refuses', () => {
  for (const text of ['', '[1,]', '{"a" 1}', '01', '[1 2]', '"\n"', '[1.10'])
    expect(() => parseWith(text, Number), text).toThrow(SyntaxError);
});

it('keeps every digit', () => {
  const text = '{"a":[1.10,-0,1E+2,12345678901234567890,1],"__proto__":0.50}';
  expect(JSON.stringify(parseExact(text))).toBe(text);
});

it('takes time in proportion to the text', () => {
  const timeOf = (elements: number): number => {
    const text = `[${'1.10,{},'.repeat(elements)}1]`;
    const { user } = process.cpuUsage();
    for (let i = 0; i < 5; i++) parseExact(text);
    return process.cpuUsage().user - user;
  };
  timeOf(10_000);
  expect(timeOf(80_000)).toBeLessThan(64 * Math.max(timeOf(10_000), 1_000));
});
