import { expect, it } from 'vitest';
import { parseExact, writeExact } from '../src/exact-numbers.ts';

it.each([
  '{"price":1.10,"big":12345678901234567890,"list":[-0,1e400,{"n":0.30}]}',
  '{"text":"1.10, \\"2.20\\" and \\\\","n":1.10}',
  '["\\\\",1.0,"\\\\\\"",2.0]',
  '{"a":1,"b":null}',
])('keeps the digits of %s', (text) => expect(writeExact(parseExact(text))).toBe(text));

it('reads a text of 20 MB beside a number', () => {
  const text = `["${'x\\n'.repeat(5_000_000)}",1.10]`;
  const [long, number] = parseExact(text) as [string, unknown];
  expect(long).toHaveLength(10_000_000);
  expect(writeExact(number)).toBe('1.10');
});

it.each(['{"a":1.10', '["1.10', '"', '{"a":1.10}}', '"\\'])('refuses %s', (text) =>
  expect(() => parseExact(text)).toThrow(SyntaxError),
);
