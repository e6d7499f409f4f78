import { expect, it } from 'vitest';
import { expectLinear } from '../../../../../tests/support/growth.ts';
import { usesSession, wordsOf } from '../../../src/engines/mysql/text.ts';

it.each([
  'SELECT @x',
  'SELECT @@sql_mode',
  "SELECT 1 --\u0001'\n, @x := 1 -- '",
  "SELECT 1 --\u007f'\n, @x := 1 -- '",
  'SELECT LAST_INSERT_ID ()',
  'SELECT `last_insert_id`()',
  'SELECT `FOUND_ROWS` ()',
  'SELECT LASTVAL(s)',
  'SELECT PREVIOUS VALUE FOR s',
  'SELECT PREVIOUS/**/VALUE FOR s',
  'SHOW WARNINGS',
])('%j uses the session', (text) => expect(usesSession(text)).toBe(true));

it.each([
  'SELECT \'@x\', "LASTVAL(s)"',
  'SELECT 1 -- @x',
  'SELECT 1 --\n',
  'SELECT 1 # @x',
  'SELECT /* @x */ 1',
  'SELECT previous, value FROM t',
  'SELECT found_rows FROM t',
])('%j does not use the session', (text) => expect(usesSession(text)).toBe(false));

it.each(["'", "\\'", "''", '`', '/*', ' '])('a text that repeats %j is read in linear time', (piece) =>
  expectLinear((size) => usesSession(`SELECT '${piece.repeat(size / piece.length)}`), 262_144),
);

it('names have no characters above U+FFFF', () => {
  expect([...wordsOf('SELECT `a😀`, `b` AS `😀`, ü FROM c')]).toEqual(
    expect.arrayContaining(['SELECT', 'b', 'ü', 'c']),
  );
  expect([...wordsOf('SELECT `a😀`, `b` AS `😀`')].join('')).not.toContain('😀');
});
