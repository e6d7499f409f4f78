/** What SQL says and does in its session decides nothing about how the hub treats the session, and is run once. */

import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import { type Connection, NeverAnswered } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const url = process.env.POSTGRES_URL;

describe.skipIf(url === undefined)('SQL in a session at PostgreSQL (needs POSTGRES_URL)', () => {
  let connection: Connection;
  let operator: pg.Client;
  const open = () =>
    createPostgresEngine().connect(settingsOf('postgres', url as string), {
      dial,
      signal: AbortSignal.timeout(60_000),
    });
  const runs = async () =>
    Number((await operator.query('SELECT last_value AS n FROM hub_trust.runs')).rows[0].n);
  const written = async () =>
    (await operator.query('SELECT a FROM hub_trust.t ORDER BY a')).rows.map(({ a }) => a);
  const write = (text: string, asked: object = {}) => ask(connection, text, { kind: 'write', ...asked });

  beforeAll(async () => {
    operator = new pg.Client({ connectionString: url });
    await operator.connect();
    await operator.query(`
      DROP SCHEMA IF EXISTS hub_trust CASCADE;
      CREATE SCHEMA hub_trust;
      CREATE EXTENSION IF NOT EXISTS dblink; -- No other file uses this one.
      CREATE TABLE hub_trust.t (a int);
      CREATE SEQUENCE hub_trust.runs;
      CREATE FUNCTION hub_trust.says(state text) RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'said by SQL'; END $$;
      CREATE FUNCTION hub_trust.does(command text) RETURNS int LANGUAGE plpgsql AS
        $$ BEGIN EXECUTE command; RETURN 1; END $$;
      CREATE FUNCTION hub_trust.replaces(wanted text, other text) RETURNS int LANGUAGE plpgsql AS $$
        DECLARE one record; BEGIN
          FOR one IN SELECT name FROM pg_prepared_statements WHERE statement LIKE wanted LOOP
            EXECUTE 'DEALLOCATE ' || quote_ident(one.name);
            EXECUTE 'PREPARE ' || quote_ident(one.name) || ' AS ' || other;
          END LOOP; RETURN 1; END $$;
      CREATE PROCEDURE hub_trust.commits_and_says(state text) LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO hub_trust.t VALUES (7); COMMIT;
        RAISE EXCEPTION USING ERRCODE = state, MESSAGE = 'said by SQL'; END $$;`);
    connection = await open();
  });
  afterAll(async () => {
    connection.close();
    await operator.query('DROP SCHEMA hub_trust CASCADE; DROP EXTENSION dblink');
    await operator.end();
  });

  it.each([
    '26000',
    '08006',
    '08P01',
    '28P01',
    '3D000',
    '53300',
    '53200',
    '57P01',
    '57P03',
    '57014',
    '0A000',
  ])('that raises %s is refused, and has run once', async (state) => {
    await operator.query('TRUNCATE hub_trust.t');
    for (const [kind, text] of [
      ['read', `SELECT hub_trust.says('${state}')`],
      ['write', `INSERT INTO hub_trust.t SELECT hub_trust.says('${state}')`],
      ['standalone', `CALL hub_trust.commits_and_says('${state}')`],
    ] as const) {
      await expect(ask(connection, text, { kind })).rejects.toMatchObject({
        code: 'SQL_REJECTED',
        sql: { state },
      });
    }
    expect(await written()).toEqual([7]);
    expect(connection.broken).toBe(false);
    expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
  });

  it('that executes a prepared statement that is not there has run once', async () => {
    const { host, port, user, password, database } = settingsOf('postgres', url as string);
    const link = `dbname=${database} host=${host} port=${port} user=${user} password=${password}`;
    await operator.query("SELECT setval('hub_trust.runs', 10)");
    // A second session, whose sequence no rollback takes back, counts the runs.
    const counts = `SELECT n FROM dblink($1, 'SELECT nextval(''hub_trust.runs'')') AS d (n bigint)`;
    const text = `SELECT (${counts}), hub_trust.does('EXECUTE not_there')`;
    await expect(ask(connection, text, { params: [link] })).rejects.toMatchObject({
      sql: { state: '26000' },
    });
    expect(await runs()).toBe(11);
  });

  it('may drop every prepared statement: reads and writes go on', async () => {
    await ask(connection, 'SELECT 41 AS v');
    for (const kind of ['read', 'write'] as const) {
      const text =
        kind === 'read'
          ? "SELECT hub_trust.does('DEALLOCATE ALL')"
          : "INSERT INTO hub_trust.t SELECT hub_trust.does('DEALLOCATE ALL')";
      await ask(connection, text, { kind });
      expect((await ask(connection, 'SELECT 41 AS v')).data).toEqual([{ v: 41 }]);
      await ask(connection, text, { kind });
      expect((await write('INSERT INTO hub_trust.t VALUES (1) RETURNING a')).data).toEqual([{ a: 1 }]);
    }
    expect(connection.broken).toBe(false);
  });

  it('cannot make a read write by replacing what the hub prepared', async () => {
    await operator.query('TRUNCATE hub_trust.t');
    for (const wanted of ['BEGIN%', 'ROLLBACK%', 'SELECT pg_advisory%', '%']) {
      await ask(connection, `SELECT hub_trust.replaces('${wanted}', 'SELECT 1')`);
      await ask(connection, "SELECT hub_trust.does('INSERT INTO hub_trust.t VALUES (9)')").catch(() => {});
      await ask(connection, 'SELECT pg_advisory_lock(4715)');
    }
    expect(await written()).toEqual([]);
    const locks = await operator.query(
      "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND objid = 4715",
    );
    expect(locks.rows[0].n).toBe(0);
  });

  it('cannot replace a write', async () => {
    const insert = 'INSERT INTO hub_trust.t VALUES (1) RETURNING a';
    await operator.query('TRUNCATE hub_trust.t');
    await write(insert);
    await ask(connection, "SELECT hub_trust.replaces('INSERT%', 'DELETE FROM hub_trust.t RETURNING a')");
    await write(insert);
    expect(await written()).toEqual([1, 1]);
  });

  it('sees a table as it is now, in reads and in writes', async () => {
    await operator.query('CREATE TABLE hub_trust.changes (a int)');
    const insert = 'INSERT INTO hub_trust.changes VALUES (1) RETURNING *';
    const read = 'SELECT * FROM hub_trust.changes LIMIT 1';
    expect((await write(insert)).data).toEqual([{ a: 1 }]);
    expect((await ask(connection, read)).data).toEqual([{ a: 1 }]);
    for (const [change, row] of [
      ["ADD COLUMN b text DEFAULT 'b'", { a: 1, b: 'b' }],
      ['ALTER COLUMN a TYPE text', { a: '1', b: 'b' }],
      ['DROP COLUMN b', { a: '1' }],
    ] as const) {
      await operator.query(`ALTER TABLE hub_trust.changes ${change}`);
      expect((await write(insert)).data).toEqual([row]);
      expect((await ask(connection, read)).data).toEqual([row]);
      expect((await write(insert)).data).toEqual([row]);
    }
    expect((await operator.query('SELECT count(*)::int AS n FROM hub_trust.changes')).rows[0].n).toBe(7);
  });

  it('has what it touched counted, not what is in the answer', async () => {
    await operator.query('TRUNCATE hub_trust.t; INSERT INTO hub_trust.t SELECT generate_series(1, 10)');
    const remove = (asked: object) => write('DELETE FROM hub_trust.t RETURNING a', { maxRows: 1, ...asked });
    await expect(remove({ maxAffected: 5 })).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
    await expect(remove({ maxAffected: 9 })).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
    expect(await written()).toHaveLength(10);
    const { data, outcome } = await remove({ maxAffected: 10 });
    expect([data, outcome.truncated, await written()]).toEqual([[{ a: 1 }], true, []]);
  });

  it('that ends its own session is not run again', async () => {
    const own = await open();
    await ask(own, 'SELECT 1');
    const failure = await ask(own, 'SELECT pg_terminate_backend(pg_backend_pid())').catch((err) => err);
    expect(failure).toMatchObject({ code: 'SOURCE_BROKEN' });
    expect(failure).not.toBeInstanceOf(NeverAnswered);
  });
});
