import { expect, it } from 'vitest';
import { formatStatement } from '../../../src/ui/editor/format.ts';

it.each([
  ['postgres', "select a::int, data->>'x' from t where id = :id and b = any(:ids::int[])"],
  ['postgres', 'select * from t where name = {{ name }} and x = :x'],
  ['mysql', 'select `a b` from t where id = :id limit :n'],
  ['mariadb', 'select * from t where id = {{id}} -- a remark'],
])('keeps the variables of a statement on %s', (engine, text) => {
  const formatted = formatStatement(text, engine);
  // Only spaces, line breaks and the case of keywords change.
  const plain = (one: string) => one.replaceAll(/\s+/g, '').toLowerCase();
  expect(plain(formatted)).toBe(plain(text));
  expect(formatted).toContain('\n');
  expect(formatted).toMatch(/^SELECT/);
});

it('refuses what it does not understand, and indents commands of MongoDB', () => {
  expect(() => formatStatement('select (', 'postgres')).toThrow();
  expect(formatStatement('{"find":"t","filter":{"a":":a"}}', 'mongodb')).toContain('\n  "find": "t"');
});
