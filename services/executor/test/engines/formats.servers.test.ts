/** No answer has values that were written in other formats than those that the hub reads, even if a function hides it. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../fixture.ts';

const {
  POSTGRES_URL,
  POSTGRES18_URL,
  PGBOUNCER_URL,
  PGBOUNCER_TRANSACTION_URL,
  PGPOOL_URL,
  MARIADB_URL,
  MYSQL_URL,
} = process.env;

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
    message: expect.stringContaining(`changed ${setting}`),
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

describe.each([
  ['mariadb', MARIADB_URL],
  ['mysql', MYSQL_URL],
] as const)('%s', (engine, url) => {
  const names = ['zone', 'texts', 'restores', 'hints', 'names'];
  const dropAll = [
    ...['zone', 'texts'].map((name) => `DROP FUNCTION IF EXISTS hub_formats_${name}`),
    ...names.slice(2).map((name) => `DROP PROCEDURE IF EXISTS hub_formats_${name}`),
    'DROP TABLE IF EXISTS hub_formats',
  ];
  const shown = 'SELECT at FROM hub_formats';
  const hinted =
    engine === 'mysql'
      ? "SELECT /*+ SET_VAR(time_zone='+09:00') */ at FROM hub_formats"
      : `SET STATEMENT time_zone='+09:00' FOR ${shown}`;
  let connection: Connection;

  const run = (text: string, kind: Statement['kind'] = 'read', options = {}) =>
    ask(connection, text, { kind, ...options });
  const failure = (setting: string, code = 'SQL_REJECTED') => ({
    code,
    retryable: false,
    message: expect.stringContaining(`changed ${setting}`),
  });
  const right = { at: '2026-11-20T13:04:05.000Z', note: 'é' };

  beforeAll(async () => {
    await operateMysql(url as string, [
      ...dropAll,
      'CREATE TABLE hub_formats (at TIMESTAMP NULL, note VARCHAR(9) CHARACTER SET latin1) ENGINE = InnoDB',
      "INSERT INTO hub_formats VALUES ('2026-11-20 13:04:05', 'é')",
      `CREATE FUNCTION hub_formats_zone() RETURNS INT NO SQL BEGIN SET time_zone = '+09:00'; RETURN 1; END`,
      `CREATE FUNCTION hub_formats_texts() RETURNS INT NO SQL BEGIN SET character_set_results = latin1; RETURN 1; END`,
      `CREATE PROCEDURE hub_formats_restores() BEGIN SET time_zone = '+09:00'; ${shown}; SET time_zone = '+00:00'; END`,
      `CREATE PROCEDURE hub_formats_hints() BEGIN ${hinted}; END`,
      `CREATE PROCEDURE hub_formats_names() BEGIN SET NAMES utf8mb4; SELECT * FROM hub_formats; END`,
    ]);
    connection = await connect(engine, url as string);
  });
  afterAll(async () => {
    connection.close();
    await operateMysql(url as string, dropAll);
  });

  it.each([
    ['time_zone', 'hub_formats_zone()', 'at'],
    ['character_set_results', 'hub_formats_texts()', 'note'],
  ])('fails if a function changed %s', async (setting, change, column) => {
    await expect(run(`SELECT ${change}, ${column} FROM hub_formats`)).rejects.toMatchObject(failure(setting));
    expect((await run('SELECT * FROM hub_formats')).data).toEqual([right]);
    expect((await run(`SELECT ${change} AS n, 1.50 AS d`)).data).toEqual([{ n: 1, d: 1.5 }]);
    expect((await run('SELECT * FROM hub_formats')).data).toEqual([right]);
    if (engine === 'mysql') return;
    const insert = `INSERT INTO hub_formats VALUES ('2020-01-01', ${change}) RETURNING ${column}`;
    await expect(run(insert, 'write', { dryRun: true })).rejects.toMatchObject(failure(setting));
    expect((await run('SELECT * FROM hub_formats')).data).toEqual([right]);
    await expect(run(insert, 'write')).rejects.toMatchObject(failure(setting, 'OUTCOME_UNKNOWN'));
    await run("DELETE FROM hub_formats WHERE at = '2020-01-01'", 'write');
  });

  it('fails for a procedure that restores the setting behind its rows', async () => {
    for (const name of ['restores', 'hints'])
      await expect(run(`CALL hub_formats_${name}()`, 'standalone')).rejects.toMatchObject(
        failure('time_zone', 'OUTCOME_UNKNOWN'),
      );
    if (engine === 'mysql') await expect(run(hinted)).rejects.toMatchObject(failure('time_zone'));
    expect((await run(shown)).data).toEqual([{ at: right.at }]);
  });

  it('answers a procedure that sets the formats of the hub', async () => {
    expect((await run('CALL hub_formats_names()', 'standalone')).data).toEqual([right]);
  });
});
