/** No execution leaves state for the next one on the same connection, even if a function hides the change. */

import type { EngineName } from '@datahub/contract/engines';
import { Deadlines } from '@datahub/service-kit/call/call';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scaled } from '../../../../tests/support/scale.ts';
import { withCancellation } from '../../src/execution/cancellation.ts';
import type { Connection, Statement } from '../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../fixture.ts';

interface Server {
  engine: EngineName;
  url: string | undefined;
  setUp: string[];
  /** Statements that change their session, most of them in a function, so that the text does not show it. */
  leavers: [kind: Statement['kind'], text: string][];
  /** Queries for the state of the session. At MySQL, their texts do not show that they use the session. */
  observers: string[];
  /** Queries whose texts show that they use the session. At MySQL, the hub resets the session for them. */
  namers: string[];
  /** Statements that change their session after this many milliseconds. */
  slow: (ms: number) => [kind: Statement['kind'], text: string][];
  /** A statement that works only if another one has changed the session. */
  refused: string;
  tearDown: string[];
}

const hides = (name: string, body: string) =>
  `CREATE FUNCTION hub_state.${name}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN ${body}; RETURN 1; END $$`;

const write = (name: string) => `INSERT INTO hub_state.written VALUES (hub_state.${name}())`;

const postgres: Server = {
  engine: 'postgres',
  url: process.env.POSTGRES_URL,
  setUp: [
    'DROP SCHEMA IF EXISTS hub_state CASCADE',
    'DROP ROLE IF EXISTS hub_state_role',
    'CREATE SCHEMA hub_state',
    'CREATE ROLE hub_state_role',
    'CREATE TABLE hub_state.written (a int)',
    'CREATE TABLE hub_state.numbered (id serial)',
    hides('sets', "PERFORM set_config('search_path', 'hub_state', false)"),
    hides('names', "PERFORM set_config('hub.secret', 'seen', false)"),
    hides('shifts', "SET TimeZone = 'Asia/Tokyo'"),
    hides('slows', "SET statement_timeout = '1ms'"),
    hides('becomes', 'SET ROLE hub_state_role'),
    hides('locks', 'PERFORM pg_advisory_lock(4711)'),
    hides('keeps', 'CREATE TEMP TABLE IF NOT EXISTS hub_temp AS SELECT 1 AS a'),
    hides('listens', "EXECUTE 'LISTEN hub_channel'"),
    hides('holds', "EXECUTE 'DECLARE hub_cursor CURSOR WITH HOLD FOR SELECT 1'"),
    hides('forgets', "EXECUTE 'DEALLOCATE ALL'"),
  ],
  leavers: [
    ...['sets', 'names', 'shifts', 'slows', 'locks', 'keeps', 'listens', 'holds', 'forgets', 'becomes'].map(
      (name): [Statement['kind'], string] => ['write', write(name)],
    ),
    ...['sets', 'names', 'shifts', 'locks', 'listens'].map((name): [Statement['kind'], string] => [
      'read',
      `SELECT hub_state.${name}()`,
    ]),
    ['read', 'SELECT hub_state.locks(), 1 / 0'],
    ['write', 'INSERT INTO hub_state.written SELECT hub_state.sets() / 0'],
    ['write', 'INSERT INTO hub_state.numbered DEFAULT VALUES'],
    ['standalone', 'CREATE TEMP TABLE hub_temp (a int)'],
  ],
  observers: [
    `SELECT current_setting('search_path') AS path, nullif(current_setting('hub.secret', true), '') AS secret,
    current_setting('TimeZone') AS zone, current_setting('IntervalStyle') AS style, current_user = session_user AS own,
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
    to_regclass('hub_temp') AS temp, (SELECT count(*) FROM pg_listening_channels()) AS channels,
    (SELECT count(*) FROM pg_cursors WHERE name = 'hub_cursor') AS cursors`,
  ],
  namers: [],
  slow: (ms) => [
    ['read', `SELECT pg_sleep(${ms / 1_000}), hub_state.locks(), hub_state.sets()`],
    ['write', `INSERT INTO hub_state.written SELECT hub_state.sets() FROM pg_sleep(${ms / 1_000})`],
    ['write', `INSERT INTO hub_state.written SELECT hub_state.locks() FROM pg_sleep(${ms / 1_000})`],
  ],
  refused: 'SELECT lastval()',
  tearDown: ['DROP SCHEMA hub_state CASCADE', 'DROP ROLE hub_state_role'],
};

const functionOf = (name: string, body: string) => [
  `DROP FUNCTION IF EXISTS hub_state_${name}`,
  `CREATE FUNCTION hub_state_${name}() RETURNS INT MODIFIES SQL DATA BEGIN ${body}; RETURN 1; END`,
];

const mysql = (engine: 'mariadb' | 'mysql', url: string | undefined): Server => ({
  engine,
  url,
  setUp: [
    'DROP TABLE IF EXISTS hub_state_written',
    'CREATE TABLE hub_state_written (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT)',
    ...(engine === 'mariadb' ? ['CREATE OR REPLACE SEQUENCE hub_state_next'] : []),
    ...(engine === 'mariadb'
      ? [
          'DROP FUNCTION IF EXISTS hub_state_lastval',
          'CREATE FUNCTION hub_state_lastval() RETURNS BIGINT READS SQL DATA RETURN LASTVAL(hub_state_next)',
        ]
      : []),
    ...functionOf('sets', 'SET @hub_seen = 42'),
    ...functionOf('takes', 'SELECT 42 INTO @hub_taken'),
    'DROP FUNCTION IF EXISTS hub_state_reads',
    'CREATE FUNCTION hub_state_reads() RETURNS INT NO SQL RETURN @hub_seen',
    'DROP FUNCTION IF EXISTS hub_state_last',
    'CREATE FUNCTION hub_state_last() RETURNS BIGINT NO SQL RETURN LAST_INSERT_ID()',
    ...functionOf('modes', "SET SESSION sql_mode = 'ANSI_QUOTES'"),
    ...functionOf('shifts', "SET SESSION time_zone = '+09:00'"),
    ...functionOf('locks', "DO GET_LOCK('hub_state', 0)"),
    ...functionOf('fails', "SIGNAL SQLSTATE '45000'"),
    ...functionOf('keeps', 'CREATE TEMPORARY TABLE IF NOT EXISTS hub_state_temp (a INT)'),
  ],
  leavers: [
    ...['sets', 'takes', 'modes', 'shifts', 'locks', 'keeps'].map((name): [Statement['kind'], string] => [
      'write',
      `INSERT INTO hub_state_written (a) VALUES (hub_state_${name}())`,
    ]),
    ...['sets', 'takes', 'modes', 'shifts', 'locks'].map((name): [Statement['kind'], string] => [
      'read',
      `SELECT hub_state_${name}()`,
    ]),
    ['read', 'SELECT @hub_seen := 42'],
    ['read', "SELECT /* it's */ @hub_seen := 42 /* ' */"],
    ['read', "SELECT GET_LOCK('hub_state', 0)"],
    ['read', "SELECT 1 --\u0001'\n, @hub_seen := 42 -- '"],
    ['read', 'SELECT LAST_INSERT_ID(42)'],
    ['write', 'INSERT INTO hub_state_written (a) VALUES (1)'],
    ...(engine === 'mariadb'
      ? ([['write', 'INSERT INTO hub_state_written (a) VALUES (NEXTVAL(hub_state_next))']] as [
          Statement['kind'],
          string,
        ][])
      : []),
    ['read', 'SELECT hub_state_sets(), hub_state_locks(), hub_state_fails()'],
    ['write', 'INSERT INTO hub_state_written (a) SELECT hub_state_sets() + hub_state_fails()'],
    ['standalone', 'CREATE TEMPORARY TABLE hub_state_temp (a INT)'],
  ],
  observers: [
    'SELECT hub_state_last() AS id, hub_state_reads() AS seen, IS_FREE_LOCK(\'hub_state\') AS free, FROM_UNIXTIME(0) AS zone, "a" AS quoted',
    ...(engine === 'mariadb' ? ['SELECT hub_state_lastval() AS last'] : []),
  ],
  namers: [
    'SELECT @hub_seen AS seen, @hub_taken AS taken, @@sql_mode AS mode, @@time_zone AS zone, LAST_INSERT_ID() AS id',
    'SELECT `last_insert_id`() AS id, `found_rows`() AS found',
    ...(engine === 'mariadb' ? ['SELECT LASTVAL(hub_state_next) AS last'] : []),
  ],
  slow: (ms) => [
    ['read', `SELECT SLEEP(${ms / 1_000}), hub_state_locks(), hub_state_sets()`],
    ['write', `INSERT INTO hub_state_written (a) SELECT SLEEP(${ms / 1_000}) + hub_state_sets()`],
    ['write', `INSERT INTO hub_state_written (a) SELECT SLEEP(${ms / 1_000}) + hub_state_locks()`],
  ],
  refused: 'SELECT * FROM hub_state_temp',
  tearDown: [
    'DROP TABLE hub_state_written',
    ...(engine === 'mariadb' ? ['DROP FUNCTION hub_state_lastval', 'DROP SEQUENCE hub_state_next'] : []),
    ...['sets', 'takes', 'modes', 'shifts', 'locks', 'keeps', 'reads', 'fails', 'last'].map(
      (name) => `DROP FUNCTION hub_state_${name}`,
    ),
  ],
});

const servers = [postgres, mysql('mariadb', process.env.MARIADB_URL), mysql('mysql', process.env.MYSQL_URL)];

describe.each(servers)('a session at $engine', (server) => {
  describe.skipIf(server.url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const open = () => connect(server.engine, server.url as string);
    const reopen = async () => {
      if (connection.broken) connection = await open();
    };
    const command = async (text: string) => {
      if (server.engine !== 'postgres') return operateMysql(server.url as string, [text]);
      await ask(connection, text, { kind: 'standalone' });
      await reopen();
    };
    const leave = async ([kind, text]: [Statement['kind'], string], options: object = {}) => {
      await ask(connection, text, { kind, ...options }).catch((err) =>
        expect(['SQL_REJECTED', 'MAX_AFFECTED']).toContain(err.code),
      );
      await reopen();
    };
    const seen = async () => {
      let all = '';
      for (const text of server.observers) all += (await ask(connection, text)).text;
      // This comes after the observers, because MySQL's sessions are reset after an error.
      await expect(ask(connection, server.refused)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      for (const text of server.namers) all += (await ask(connection, text)).text;
      await reopen();
      return all;
    };
    let clean: string;

    beforeAll(async () => {
      connection = await open();
      for (const text of server.setUp) await command(text);
      connection.close();
      connection = await open();
      clean = await seen();
    });
    afterAll(async () => {
      for (const text of server.tearDown) await command(text);
      connection.close();
    });

    it.each(server.leavers)('is clean after the %s %s', async (kind, text) => {
      await leave([kind, text]);
      expect(await seen()).toBe(clean);
      if (kind !== 'write') return;
      await leave([kind, text], { dryRun: true });
      expect(await seen()).toBe(clean);
      await leave([kind, text], { maxAffected: 0 });
      expect(await seen()).toBe(clean);
    });

    it('is clean or closed when stopped at any moment', async () => {
      const now = () => performance.now();
      const deadlines = new Deadlines();
      const endings = { ended: 0, stopped: 0 };
      for (let i = 0; i < scaled(40, 1_000); i++) {
        // With these times, some statements end before the cancel and some do not, on any machine.
        const statements = server.slow(i % 5 === 1 ? 1_000 : (i * 7) % 10);
        const [kind, text] = statements[i % statements.length] as (typeof statements)[number];
        const { signal } = new AbortController();
        const allowedMs = i % 5 === 0 ? 5_000 : (i * 3) % 11;
        const bounds = { connection, signal, deadlineAt: now() + allowedMs, now, deadlines };
        await withCancellation(ask(connection, text, { kind }), bounds).then(
          () => endings.ended++,
          (err) => {
            expect(err.code).toBe('STATEMENT_TIMEOUT');
            endings.stopped++;
          },
        );
        await reopen();
        expect(await seen()).toBe(clean);
      }
      expect(Math.min(endings.ended, endings.stopped)).toBeGreaterThan(5);
    });

    it('is clean over many executions in any order', async () => {
      let turn = 7;
      for (let i = 0; i < scaled(150, 10_000); i++) {
        turn = (turn * 1_103_515_245 + 12_345) % 2_147_483_648;
        await leave(server.leavers[turn % server.leavers.length] as [Statement['kind'], string]);
        expect(await seen()).toBe(clean);
      }
    }, 600_000);
  });
});
