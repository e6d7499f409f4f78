/**
 * A source behind PgBouncer in transaction mode, whose server connections it shares with another application that has
 * set them up differently: values stay right, and neither application sees anything of the other.
 */

import { randomInt, randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings, SourceFacts } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const { PGBOUNCER_TRANSACTION_URL: url, POSTGRES_URL: serverUrl } = process.env;
const here = url !== undefined && serverUrl !== undefined;
const callers = Number(process.env.POOLER_CALLERS ?? 60);
const connectionCount = 30;
const roundsPerCaller = 3;
const engine = createPostgresEngine();

const otherSettings: Record<string, string> = {
  bytea_output: 'escape',
  IntervalStyle: 'postgres_verbose',
  DateStyle: 'SQL, DMY',
  extra_float_digits: '-5',
  TimeZone: 'Asia/Tokyo',
  statement_timeout: '31s',
  idle_in_transaction_session_timeout: '32s',
};

const values = `SELECT '\\x00ff5c41'::bytea AS b, interval '1 day 2 hours' AS i, timestamptz '2026-01-02 03:04:05+02' AS t,
  date '2026-02-01' AS d, 0.1::float8 + 0.2 AS f, 1.1::real AS r, 9007199254740993 AS n,
  ARRAY['\\x00ff'::bytea, NULL] AS bs, ARRAY[interval '90 minutes'] AS is, $1::text AS v`;

describe.skipIf(!here)(
  'a source behind a pooler in transaction mode (needs PGBOUNCER_TRANSACTION_URL)',
  () => {
    let settings: ConnectSettings;
    const opened: Connection[] = [];
    const connect = async (more: Partial<ConnectSettings> = {}) => {
      const connection = await engine.connect(
        { ...settings, ...more },
        { dial, signal: AbortSignal.timeout(20_000), facts: {} },
      );
      opened.push(connection);
      return connection;
    };
    let other: pg.Client;
    const direct = new pg.Client({ connectionString: serverUrl });
    const suffix = randomUUID().replaceAll('-', '').slice(0, 12);
    const table = `tp_${suffix}`;
    const role = `user_${suffix}`;
    const [lock, lockReading] = [randomInt(2 ** 31), randomInt(2 ** 31)];
    const setOtherwise = Object.entries(otherSettings)
      .map(([name, value]) => `SET ${name} = '${value}'`)
      .join(';');
    const show = async (client: pg.Client, names: string[]) => {
      const calls = names.map((name) => `current_setting('${name}', true) AS "${name}"`);
      return (await client.query(`SELECT ${calls.join(', ')}`)).rows[0];
    };

    /** A role has a pool of its own, which other tests do not use, if the pooler lets in all roles of the server. */
    const openPool = async () => {
      await direct.query(`CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD '${suffix}'`);
      const own = new URL(url as string);
      own.username = role;
      own.password = suffix;
      for (const address of [own.href, url as string]) {
        const client = new pg.Client({ connectionString: address });
        const isOpen = await client.connect().then(
          () => true,
          () => false,
        );
        if (isOpen) return { client, address };
      }
      throw new Error('The pooler cannot be reached.');
    };
    beforeAll(async () => {
      await direct.connect();
      const { client, address } = await openPool();
      other = client;
      settings = { ...settingsOf('postgres', address), pooling: 'transaction' };
      await direct.query(`CREATE TABLE ${table} (id int, b bytea);
      CREATE FUNCTION leave_${suffix}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('app.secret', 'left', false), set_config('bytea_output', 'escape', false);
        PERFORM set_config('search_path', 'pg_catalog', false), pg_advisory_lock(${lock});
        CREATE TEMP TABLE left_${suffix} (id int);
        RETURN 1; END $$;
      CREATE FUNCTION leave_reading_${suffix}() RETURNS int LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('app.secret', 'left', false), pg_advisory_lock(${lockReading}); RETURN 1; END $$;
      CREATE FUNCTION leave_late_${suffix}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM set_config('app.late', 'left', false); RETURN NULL; END $$;
      CREATE TABLE late_${table} (id int);
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON late_${table} DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION leave_late_${suffix}();`);
    });
    afterEach(() => {
      for (const connection of opened.splice(0)) connection.close();
    });
    afterAll(async () => {
      await direct.query(`DROP TABLE ${table}, late_${table};
      DROP FUNCTION leave_${suffix}, leave_reading_${suffix}, leave_late_${suffix};
      DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await Promise.all([other.end(), direct.end()]);
    });

    it(`gives ${callers} callers right values while another application sets the connections otherwise`, async () => {
      const plain = await engine.connect(settingsOf('postgres', serverUrl as string), {
        dial,
        signal: AbortSignal.timeout(60_000),
      });
      opened.push(plain);
      const connections = await Promise.all(Array.from({ length: connectionCount }, () => connect()));
      let busy = true;
      let seen = 0;
      const foreign: Record<string, string>[] = [];
      const disturb = async () => {
        while (busy) {
          // In one transaction, whose settings stay on the pooler's connection after it.
          await other.query('BEGIN');
          foreign.push(
            await show(other, ['application_name', 'statement_timeout', 'xmloption', 'app.secret']),
          );
          await other.query(setOtherwise);
          await other.query('COMMIT');
          seen++;
        }
      };
      await other.query("SELECT set_config('app.secret', '', false)");
      const disturbing = disturb();
      const wrong: string[] = [];
      const call = async (connection: Connection, caller: number) => {
        for (let round = 0; round < roundsPerCaller; round++) {
          const v = `caller ${caller} round ${round}`;
          const { data } = await ask(connection, values, { params: [v] });
          const { text } = await ask(connection, values, { params: [v], format: 'csv' });
          if (JSON.stringify(data[0]) !== expected(v) || !text.includes(v))
            wrong.push(JSON.stringify(data[0]));
          if (caller % 4 === 0) {
            const insert = `INSERT INTO ${table} VALUES (${caller}, '\\x005c') RETURNING b, leave_reading_${suffix}()`;
            const written = await ask(connection, insert, { kind: 'write', dryRun: round === 2 });
            if (written.data[0]?.b !== 'AFw=') wrong.push(JSON.stringify(written.data[0]));
          }
        }
      };
      const model = (await ask(plain, values, { params: ['?'] })).data[0];
      const expected = (v: string) => JSON.stringify({ ...model, v });
      let nextCaller = 0;
      const serve = async (connection: Connection) => {
        while (nextCaller < callers) await call(connection, nextCaller++);
      };
      await Promise.all(connections.map(serve));
      busy = false;
      await disturbing;
      expect(wrong).toEqual([]);
      expect(seen).toBeGreaterThan(3);
      for (const shown of foreign) {
        expect(shown.application_name).not.toBe('datahub');
        expect(shown.xmloption).toBe('content');
        expect(shown['app.secret'] ?? '').toBe('');
        expect(['0', '31s']).toContain(shown.statement_timeout);
      }
      const { rows } = await direct.query(`SELECT count(*)::int AS n FROM ${table}`);
      expect(rows[0].n).toBe(Math.ceil(callers / 4) * 2);
      const { rows: locks } = await direct.query(
        `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid IN (${lock}, ${lockReading})`,
      );
      expect(locks).toEqual([]);
    });

    it('leaves nothing of a statement behind, nor of functions and triggers that it calls', async () => {
      const connection = await connect();
      await ask(connection, `SELECT leave_reading_${suffix}() AS one`);
      await ask(connection, `INSERT INTO ${table} SELECT leave_${suffix}()`, { kind: 'write' });
      await ask(connection, `INSERT INTO ${table} SELECT leave_${suffix}()`, { kind: 'write', dryRun: true });
      await ask(connection, `INSERT INTO late_${table} VALUES (1)`, { kind: 'write', maxAffected: 3 });
      await ask(connection, `INSERT INTO late_${table} VALUES (1)`, { kind: 'write' });
      await expect(ask(connection, `SELECT leave_reading_${suffix}() / 0`)).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
      await expect(
        ask(connection, `INSERT INTO ${table} SELECT leave_reading_${suffix}() / 0`, { kind: 'write' }),
      ).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      // Every connection that the pooler has to the server.
      for (let i = 0; i < 5; i++) {
        const { rows } = await other.query(
          `SELECT coalesce(current_setting('app.secret', true), '') AS secret, coalesce(current_setting('app.late', true), '') AS late,
          current_setting('search_path') AS path, to_regclass('pg_temp.left_${suffix}') AS temporary`,
        );
        expect(rows[0]).toEqual({ secret: '', late: '', path: '"$user", public', temporary: null });
      }
      expect(
        (
          await direct.query(
            `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid IN (${lock}, ${lockReading})`,
          )
        ).rows,
      ).toEqual([]);
    });

    it('names no statement, and keeps reads from writing', async () => {
      const connection = await connect();
      const named = "SELECT count(*)::int AS n FROM pg_prepared_statements WHERE name <> ''";
      for (let i = 0; i < 3; i++) expect((await ask(connection, named)).data).toEqual([{ n: 0 }]);
      await expect(ask(connection, `INSERT INTO ${table} VALUES (1)`)).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
      await expect(
        ask(connection, `INSERT INTO ${table} SELECT generate_series(1, 3)`, {
          kind: 'write',
          maxAffected: 2,
        }),
      ).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
      expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    });

    it('runs definitions in a transaction, and learns of columns that changed', async () => {
      const connection = await connect();
      const changing = `changing_${suffix}`;
      await ask(connection, `CREATE TABLE ${changing} (a int)`, { kind: 'standalone' });
      const select = `SELECT * FROM ${changing}`;
      await ask(connection, `INSERT INTO ${changing} VALUES (1)`, { kind: 'write' });
      expect((await ask(connection, select)).data).toEqual([{ a: 1 }]);
      await ask(connection, `ALTER TABLE ${changing} ADD COLUMN b text DEFAULT 'x'`, { kind: 'standalone' });
      expect((await ask(connection, select)).data).toEqual([{ a: 1, b: 'x' }]);
      await ask(connection, `DROP TABLE ${changing}`, { kind: 'standalone' });
    });

    it('names the reason of a write that fails, also before its transaction would end', async () => {
      const connection = await connect();
      const insert = `INSERT INTO ${table} (id) VALUES (1 / $1::int)`;
      const zero = { kind: 'write' as const, params: ['0'] };
      for (const more of [{}, { dryRun: true }, { maxAffected: 1 }]) {
        const failed = ask(connection, insert, { ...zero, ...more });
        await expect(failed).rejects.toMatchObject({ sql: { state: '22012' } });
      }
      expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    });

    it('stops at the time-out, and when asked, and stops nothing else', async () => {
      const connection = await connect();
      const bystander = await connect();
      const slow = ask(connection, 'SELECT pg_sleep(20)', { statementTimeoutMs: 300 });
      await expect(slow).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
      for (let round = 0; round < 5; round++) {
        const asleep = ask(connection, 'SELECT pg_sleep(20)');
        asleep.catch(() => {});
        const beside = ask(bystander, 'SELECT pg_sleep(0.4), 1 AS one');
        const foreign = other.query('SELECT pg_sleep(0.4), 1 AS one');
        await new Promise((resolve) => setTimeout(resolve, 100));
        await connection.cancel(AbortSignal.timeout(60_000));
        await expect(asleep).rejects.toMatchObject({ code: 'CANCELLED' });
        expect((await beside).data[0]?.one).toBe(1);
        expect((await foreign).rows[0].one).toBe(1);
      }
      // A cancel that comes too late reaches nobody.
      await ask(bystander, 'SELECT 1 AS one');
      await bystander.cancel(AbortSignal.timeout(60_000));
      expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    });

    it('is detected and suggested if the setting says session, and only then', async () => {
      const pooled = await connect({ pooling: 'session' });
      const text = "SELECT current_setting('application_name') AS name";
      expect((await ask(pooled, text)).data).toEqual([{ name: 'datahub' }]);
      for (let i = 0; i < 5; i++)
        expect((await show(other, ['application_name'])).application_name).not.toBe('datahub');
      expect(await pooled.suggestPooling?.(AbortSignal.timeout(60_000))).toBe('transaction');
      const alone = await connect(settingsOf('postgres', serverUrl as string));
      expect(await alone.suggestPooling?.(AbortSignal.timeout(60_000))).toBeUndefined();
      if (process.env.PGBOUNCER_URL === undefined) return;
      const session = await connect({
        ...settingsOf('postgres', process.env.PGBOUNCER_URL),
        pooling: 'session',
      });
      expect(await session.suggestPooling?.(AbortSignal.timeout(60_000))).toBeUndefined();
    });

    it('is detected by a later connection if the pooler had no room for the client that shows it', async () => {
      const facts: SourceFacts = {};
      let dials = 0;
      const dialTwice: typeof dial = (host, port) =>
        ++dials === 3 ? Promise.reject(new Error('no room')) : dial(host, port);
      const deps = { dial: dialTwice, signal: AbortSignal.timeout(20_000), facts };
      opened.push(await engine.connect({ ...settings, pooling: 'session' }, deps));
      expect(facts.sharesSessions).toBeUndefined();
      opened.push(await engine.connect({ ...settings, pooling: 'session' }, deps));
      expect(facts.sharesSessions).toBe(true);
    });
  },
);
