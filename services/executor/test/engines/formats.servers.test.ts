/** No answer has values that were written in other formats than those that the hub reads, even if a function hides it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import { ask, connect } from '../fixture.ts';

const { POSTGRES_URL, POSTGRES18_URL, PGBOUNCER_URL, PGBOUNCER_TRANSACTION_URL, PGPOOL_URL } = process.env;

const settings: [name: string, value: string, wrong: string][] = [
  ['TimeZone', 'Asia/Tokyo', "'2026-11-20 13:04:05+00'::timestamptz"],
  ['TimeZone', 'Asia/Tokyo', "ARRAY['2026-11-20 13:04:05+00'::timestamptz]"],
  ['DateStyle', 'German', "'2026-11-20'::date"],
  ['IntervalStyle', 'postgres', "'1 day 2 hours'::interval"],
  ['client_encoding', 'LATIN1', "'é'::text"],
  ['bytea_output', 'escape', "'\\x00ff'::bytea"],
  ['extra_float_digits', '0', '0.1::float8 + 0.2'],
];

describe.each([
  ['PostgreSQL 15', POSTGRES_URL],
  ['PostgreSQL 18', POSTGRES18_URL],
  ['PgBouncer with sessions', PGBOUNCER_URL],
  ['PgBouncer with transactions', PGBOUNCER_TRANSACTION_URL],
  ['Pgpool-II', PGPOOL_URL],
])('%s', (name, url) => {
  const schema = `hub_formats_${name.replace(/\W/g, '_').toLowerCase()}`;
  let connection: Connection;

  const run = (text: string, kind: Statement['kind'] = 'read', options = {}) =>
    ask(connection, text, { kind, ...options });
  const failure = (setting: string) => ({
    code: 'SQL_REJECTED',
    retryable: false,
    message: expect.stringContaining(`changed the setting ${setting}`),
  });

  beforeAll(async () => {
    connection = await connect('postgres', url as string);
    await run(`DROP SCHEMA IF EXISTS ${schema} CASCADE`, 'standalone');
    for (const text of [
      `CREATE SCHEMA ${schema}`,
      `CREATE TABLE ${schema}.written (note text)`,
      ...[true, false].map(
        (
          isLocal,
        ) => `CREATE FUNCTION ${schema}.sets_${isLocal}(name text, value text) RETURNS int LANGUAGE plpgsql
          AS $$ BEGIN PERFORM set_config(name, value, ${isLocal}); RETURN 1; END $$`,
      ),
      `CREATE PROCEDURE ${schema}.tells(OUT at timestamptz) LANGUAGE plpgsql
        AS $$ BEGIN SET TimeZone = 'Asia/Tokyo'; at := '2026-11-20 13:04:05+00'; END $$`,
      `CREATE FUNCTION ${schema}.keeps() RETURNS text LANGUAGE sql SET TimeZone = 'Asia/Tokyo'
        AS $$ SELECT to_char('2026-11-20 13:04:05+00'::timestamptz, 'HH24:MI TZ') $$`,
    ])
      await run(text, 'standalone');
  });
  afterAll(async () => {
    await run(`DROP SCHEMA ${schema} CASCADE`, 'standalone');
    connection.close();
  });

  it.each(settings)('fails if a function changed %s to %s and the result is %s', async (...one) => {
    const [setting, value, shown] = one;
    const right = (await run(`SELECT ${shown} AS shown`)).data;
    for (const isLocal of [true, false]) {
      const change = `${schema}.sets_${isLocal}('${setting}', '${value}')`;
      await expect(run(`SELECT ${change}, ${shown} AS shown`)).rejects.toMatchObject(failure(setting));
      const insert = `INSERT INTO ${schema}.written VALUES (${change}) RETURNING note, ${shown} AS shown`;
      await expect(run(insert, 'write')).rejects.toMatchObject(failure(setting));
      await expect(run(insert, 'write', { dryRun: true })).rejects.toMatchObject(failure(setting));
      expect((await run(`SELECT ${shown} AS shown`)).data).toEqual(right);
    }
    // The writes were undone.
    expect((await run(`SELECT note FROM ${schema}.written`)).data).toEqual([]);
  });

  it('fails for the OUT parameter of a procedure, which may have made a part of its changes', async () => {
    await expect(run(`CALL ${schema}.tells(NULL)`, 'standalone')).rejects.toMatchObject({
      ...failure('TimeZone'),
      partial: true,
    });
  });

  it('answers if no value depends on the setting, or if the function restores it', async () => {
    const change = `${schema}.sets_false('TimeZone', 'Asia/Tokyo')`;
    const text = `SELECT ${change} AS n, to_char('2026-11-20 13:04:05+00'::timestamptz, 'HH24:MI') AS t`;
    expect((await run(text)).data).toEqual([{ n: 1, t: '22:04' }]);
    expect((await run(`SELECT ${change} AS n, true AS b, 1.50 AS d`)).data).toEqual([
      { n: 1, b: true, d: 1.5 },
    ]);
    await run(`INSERT INTO ${schema}.written VALUES (${change})`, 'write');
    expect((await run(`SELECT ${schema}.keeps() AS kept`)).data).toEqual([{ kept: '22:04 JST' }]);
    await run(`DELETE FROM ${schema}.written`, 'write');
  });

  it('recovers from SQL that drops the check', async () => {
    await run(
      `CREATE OR REPLACE FUNCTION ${schema}.drops() RETURNS int LANGUAGE plpgsql
      AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$`,
      'standalone',
    );
    for (const text of [
      `SELECT ${schema}.drops() AS n`,
      "SELECT 'next' AS n",
      `SELECT ${schema}.drops(), 'x' AS n`,
    ])
      expect((await run(text)).data).toHaveLength(1);
    expect((await run("SELECT 'last' AS n")).data).toEqual([{ n: 'last' }]);
  });
});
