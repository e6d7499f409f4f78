import { expect, it } from 'vitest';
import { compileStatement } from '../../src/compile.ts';

const compile = (text: string, pooling: string | undefined) =>
  compileStatement(text, {
    dialect: 'postgres',
    command: text.slice(0, text.indexOf(' ')),
    variables: [],
    pooling,
  });

it.each([
  ['SELECT 1, pg_advisory_lock(1)', 'pg_advisory_lock', 11],
  ['SELECT pg_try_advisory_lock_shared(1)', 'pg_try_advisory_lock_shared', 8],
  ['SELECT pg_advisory_unlock_all()', 'pg_advisory_unlock_all', 8],
  ['CREATE TEMP TABLE t (a int)', 'CREATE TEMPORARY', 8],
  ['CREATE LOCAL TEMPORARY TABLE t (a int)', 'CREATE TEMPORARY', 14],
  ['CREATE UNIQUE INDEX CONCURRENTLY i ON t (a)', 'CONCURRENTLY', 21],
  ['DROP INDEX CONCURRENTLY i', 'CONCURRENTLY', 12],
  ['REINDEX TABLE CONCURRENTLY t', 'CONCURRENTLY', 15],
  ['VACUUM t', 'VACUUM', 1],
  ['CREATE DATABASE d', 'CREATE', 1],
  ['DROP TABLESPACE s', 'DROP', 1],
  ['ALTER SYSTEM RESET ALL', 'ALTER', 1],
  ['REINDEX DATABASE d', 'REINDEX', 1],
])('%s is refused only at a source that shares its sessions', (text, what, column) => {
  expect(() => compile(text, 'transaction')).toThrow(
    expect.objectContaining({
      code: 'SQL_REJECTED',
      message: expect.stringContaining(`${what} is refused, because the source uses pooling "transaction"`),
      sql: expect.objectContaining({ line: 1, column }),
    }),
  );
  for (const pooling of [undefined, 'session']) expect(() => compile(text, pooling)).not.toThrow();
});

it.each([
  'SELECT pg_advisory_xact_lock(1)',
  'SELECT pg_advisory_lock FROM t',
  "SELECT 'pg_advisory_lock(1)'",
  'CREATE TABLE temp_a (a int)',
  'CREATE INDEX i ON t (a)',
  'DROP TABLE t',
  'ALTER TABLE t ADD b int',
])('%s is not', (text) => {
  expect(() => compile(text, 'transaction')).not.toThrow();
});

it.each(['TimeZone', 'datestyle', 'INTERVALSTYLE', 'bytea_output', 'extra_float_digits', 'client_encoding'])(
  'set_config of %s is refused at each source, because the values of the result would be read wrongly',
  (name) => {
    for (const text of [
      `SELECT set_config('${name}', 'x', true)`,
      `SELECT 1, pg_catalog.set_config ( '${name}', 'x', false)`,
    ])
      expect(() => compile(text, undefined)).toThrow(
        expect.objectContaining({ code: 'SQL_REJECTED', message: expect.stringContaining('AT TIME ZONE') }),
      );
  },
);

it.each([
  "SELECT set_config('app.user_id', '1', true)",
  "SELECT set_config('search_path', 'a', true)",
  "SELECT 'set_config(''TimeZone'''",
])('%s is not', (text) => expect(() => compile(text, undefined)).not.toThrow());
