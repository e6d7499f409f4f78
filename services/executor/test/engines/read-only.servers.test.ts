/** Tests what reads cannot do, what is rolled back after them, and the one exception that docs/security.md names. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../src/ports/engine.ts';
import { ask, connect, operateMysql, settingsOf } from '../fixture.ts';

interface Server {
  engine: EngineName;
  url: string | undefined;
  setUp: string[];
  refused: string[];
  /** Statements that the database runs, but whose effects are rolled back. */
  undone: string[];
  /** A query for everything that a read could have changed, in one row. */
  look: string;
  tearDown: string[];
}

const postgres: Server = {
  engine: 'postgres',
  url: process.env.POSTGRES_URL,
  setUp: [
    'DROP SCHEMA IF EXISTS hub_read CASCADE',
    'CREATE SCHEMA hub_read',
    'CREATE TABLE hub_read.t (a int)',
    'INSERT INTO hub_read.t VALUES (1)',
    'CREATE SEQUENCE hub_read.s',
    'CREATE MATERIALIZED VIEW hub_read.m AS SELECT count(*) AS n FROM hub_read.t',
    `CREATE FUNCTION hub_read.write() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO hub_read.t VALUES (2); RETURN 1; END $$`,
    `CREATE FUNCTION hub_read.unlock() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN SET transaction_read_only = off; INSERT INTO hub_read.t VALUES (2); RETURN 1; END $$`,
    `CREATE FUNCTION hub_read.ends() RETURNS int LANGUAGE plpgsql AS
      $$ BEGIN COMMIT; INSERT INTO hub_read.t VALUES (2); RETURN 1; END $$`,
  ],
  refused: [
    'INSERT INTO hub_read.t VALUES (2)',
    'WITH w AS (DELETE FROM hub_read.t RETURNING a) SELECT a FROM w',
    'EXPLAIN ANALYZE DELETE FROM hub_read.t',
    'SELECT hub_read.write()',
    'SELECT hub_read.unlock()',
    'SELECT hub_read.ends()',
    "SELECT set_config('transaction_read_only', 'off', false), hub_read.write()",
    "SELECT set_config('default_transaction_read_only', 'off', false), hub_read.write()",
    "SELECT nextval('hub_read.s')",
    "SELECT setval('hub_read.s', 9)",
    'SELECT a FROM hub_read.t FOR UPDATE',
    'SELECT a FROM hub_read.t FOR SHARE',
    'REFRESH MATERIALIZED VIEW hub_read.m',
    'CREATE TABLE hub_read.u AS SELECT 1',
    'CREATE TEMP TABLE hub_read_temp AS SELECT 1',
    'TRUNCATE hub_read.t',
  ],
  undone: [
    'SELECT lo_create(4711)',
    "SELECT lo_from_bytea(4711, 'a')",
    "SELECT pg_notify('hub_read', 'x')",
    'SELECT pg_advisory_lock(4716)',
    "SELECT set_config('search_path', 'hub_read', false)",
  ],
  look: `SELECT (SELECT array_agg(a) FROM hub_read.t) AS rows, (SELECT last_value FROM hub_read.s) AS next,
    (SELECT count(*) FROM pg_largeobject_metadata WHERE oid = 4711) AS objects, to_regclass('hub_read_temp') AS temp,
    (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()) AS locks,
    current_setting('search_path') AS path`,
  tearDown: ['DROP SCHEMA hub_read CASCADE'],
};

const functionOf = (name: string, body: string) => [
  `DROP FUNCTION IF EXISTS hub_read_${name}`,
  `CREATE FUNCTION hub_read_${name}() RETURNS INT MODIFIES SQL DATA BEGIN ${body}; RETURN 1; END`,
];

const mysql = (engine: 'mariadb' | 'mysql', url: string | undefined): Server => ({
  engine,
  url,
  // In MySQL and MariaDB, DDL ends a transaction. The check of commands ensures that no read contains DDL.
  setUp: [
    'DROP TABLE IF EXISTS hub_read, hub_read_plain',
    'CREATE TABLE hub_read (a INT) ENGINE = InnoDB',
    'CREATE TABLE hub_read_plain (a INT) ENGINE = MyISAM',
    'INSERT INTO hub_read VALUES (1)',
    ...functionOf('write', 'INSERT INTO hub_read VALUES (2)'),
    ...functionOf('write_plain', 'INSERT INTO hub_read_plain VALUES (2)'),
    ...functionOf('next', 'SET TRANSACTION READ WRITE'),
    'DROP FUNCTION IF EXISTS hub_read_early',
    `CREATE FUNCTION hub_read_early() RETURNS INT DETERMINISTIC MODIFIES SQL DATA
      BEGIN INSERT INTO hub_read VALUES (3); SET @hub_read = 1; RETURN GET_LOCK('hub_read', 0); END`,
    ...(engine === 'mariadb'
      ? [
          'CREATE OR REPLACE SEQUENCE hub_read_next',
          ...functionOf('unlock', 'SET SESSION tx_read_only = 0; INSERT INTO hub_read VALUES (2)'),
        ]
      : []),
  ],
  refused: [
    'INSERT INTO hub_read VALUES (2)',
    'INSERT INTO hub_read_plain VALUES (2)',
    'WITH w AS (DELETE FROM hub_read) SELECT 1',
    'SELECT hub_read_write()',
    'SELECT hub_read_write_plain()',
    // At MariaDB, outside of a transaction, this would change the next read's transaction, and the server would not
    // report it.
    'SELECT hub_read_next()',
    // The server calls the function before it runs the statement, to know the number of digits.
    'SELECT ROUND(1.5, hub_read_early())',
    ...(engine === 'mariadb'
      ? [
          'ANALYZE DELETE FROM hub_read',
          'SELECT hub_read_unlock()',
          'SELECT a FROM hub_read FOR UPDATE',
          'SELECT NEXTVAL(hub_read_next)',
          'SELECT SETVAL(hub_read_next, 9)',
        ]
      : []),
  ],
  undone: ["SELECT GET_LOCK('hub_read', 0)", 'SELECT LAST_INSERT_ID(42)'],
  look: `SELECT (SELECT GROUP_CONCAT(a) FROM hub_read) AS a, (SELECT COUNT(*) FROM hub_read_plain) AS plain,
    IS_FREE_LOCK('hub_read') AS free, LAST_INSERT_ID() AS id, @hub_read AS left_over`,
  tearDown: [
    'DROP TABLE hub_read, hub_read_plain',
    'DROP FUNCTION hub_read_write',
    'DROP FUNCTION hub_read_early',
    'DROP FUNCTION hub_read_write_plain',
    'DROP FUNCTION hub_read_next',
    ...(engine === 'mariadb' ? ['DROP SEQUENCE hub_read_next', 'DROP FUNCTION hub_read_unlock'] : []),
  ],
});

const servers = [postgres, mysql('mariadb', process.env.MARIADB_URL), mysql('mysql', process.env.MYSQL_URL)];

describe.each(servers)('a read at $engine', (server) => {
  describe.skipIf(server.url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    let before: string;
    const command = async (text: string) => {
      if (server.engine === 'postgres') await ask(connection, text, { kind: 'standalone' });
      else await operateMysql(server.url as string, [text]);
    };
    const look = async () => (await ask(connection, server.look)).text;

    beforeAll(async () => {
      connection = await connect(server.engine, server.url as string);
      for (const text of server.setUp) await command(text);
      before = await look();
    });
    afterAll(async () => {
      for (const text of server.tearDown) await command(text);
      connection.close();
    });

    it.each(server.refused)('cannot %s', async (text) => {
      await expect(ask(connection, text)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      expect(await look()).toBe(before);
      expect(connection.broken).toBe(false);
      const described = connection.describe({ key: 'd', text, params: [], kind: 'write' });
      await described.catch((err) => expect(err.code).toBe('SQL_REJECTED'));
      expect(await look()).toBe(before);
    });

    it.each(server.undone)('leaves nothing of %s', async (text) => {
      await ask(connection, text);
      expect(await look()).toBe(before);
      expect(connection.broken).toBe(false);
    });
  });
});

describe.skipIf(postgres.url === undefined)('a read at PostgreSQL over a second connection', () => {
  it('can write with the rights of the source’s user, so the database must deny dblink', async () => {
    const { host, port, user, password } = settingsOf('postgres', postgres.url as string);
    // A database of its own: an extension is there for all files that use a database, or for none.
    const database = 'hub_linked';
    const outer = await connect('postgres', postgres.url as string);
    await ask(outer, `DROP DATABASE IF EXISTS ${database}`, { kind: 'standalone' });
    await ask(outer, `CREATE DATABASE ${database}`, { kind: 'standalone' });
    const url = Object.assign(new URL(postgres.url as string), { pathname: database }).href;
    const connection = await connect('postgres', url);
    await ask(connection, 'CREATE EXTENSION dblink', { kind: 'standalone' });
    await ask(connection, 'CREATE TABLE t (a int)', { kind: 'standalone' });
    const link = `host=${host} port=${port} user=${user} password=${password} dbname=${database}`;
    await ask(connection, "SELECT dblink_exec($1, 'INSERT INTO t VALUES (1)')", { params: [link] });
    expect((await ask(connection, 'SELECT a FROM t')).data).toEqual([{ a: 1 }]);
    connection.close();
    await ask(outer, `DROP DATABASE ${database} WITH (FORCE)`, { kind: 'standalone' });
    outer.close();
  });
});
