/** Settings of a statement's transaction: they feed row-level security, and nothing of them is left. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings, Statement } from '../../../src/ports/engine.ts';
import { ask, connect, dial, settingsOf } from '../../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_URL, PGBOUNCER_TRANSACTION_URL } = process.env;
const forms: [name: string, url: string | undefined, pooling: 'session' | 'transaction'][] = [
  ['without a pooler', POSTGRES_URL, 'session'],
  ['without a pooler, as if there were one', POSTGRES_URL, 'transaction'],
  ['through PgBouncer in session mode', PGBOUNCER_URL, 'session'],
  ['through PgBouncer in transaction mode', PGBOUNCER_TRANSACTION_URL, 'transaction'],
];
const usersMax = 50;
const callsPerUser = 20;
const connectionsMax = 4;

describe.each(forms)('settings of a transaction %s', (_, url, pooling) => {
  describe.skipIf(url === undefined || POSTGRES_URL === undefined)('(needs its URL)', () => {
    const mark = `rls_${randomUUID().slice(0, 8)}`;
    let operator: Connection;
    let connections: Connection[];
    const operate = async (texts: string[]) => {
      for (const text of texts) await ask(operator, text, { kind: 'standalone' });
    };
    const sessionOf = (user: number): NonNullable<Statement['session']> => [
      ['search_path', mark],
      ['app.user_id', String(user)],
      ['role', mark],
    ];

    beforeAll(async () => {
      operator = await connect('postgres', POSTGRES_URL as string);
      await operate([
        `CREATE ROLE ${mark}`,
        `CREATE SCHEMA ${mark}`,
        `CREATE TABLE ${mark}.notes (owner int NOT NULL, body text)`,
        `INSERT INTO ${mark}.notes SELECT n, 'note' FROM generate_series(1, ${usersMax}) n, generate_series(1, 3)`,
        `ALTER TABLE ${mark}.notes ENABLE ROW LEVEL SECURITY`,
        `CREATE POLICY own ON ${mark}.notes USING (owner = nullif(current_setting('app.user_id', true), '')::int)`,
        `GRANT USAGE ON SCHEMA ${mark} TO ${mark}`,
        `GRANT ALL ON ${mark}.notes TO ${mark}`,
      ]);
      const settings: ConnectSettings = { ...settingsOf('postgres', url as string), pooling };
      const deps = { dial, signal: AbortSignal.timeout(60_000), facts: {} };
      const engine = createPostgresEngine();
      connections = [];
      for (let i = 0; i < connectionsMax; i++) connections.push(await engine.connect(settings, deps));
    });
    afterAll(async () => {
      await operate([`DROP SCHEMA ${mark} CASCADE`, `DROP ROLE ${mark}`]);
      for (const connection of [operator, ...connections]) connection.close();
    });

    const expectNothingLeft = async (connection: Connection) => {
      const left =
        "SELECT nullif(current_setting('app.user_id', true), '') AS u, current_user = session_user AS own, current_setting('search_path') AS path";
      const [row] = (await ask(connection, left)).data;
      expect(row).toMatchObject({ u: null, own: true });
      expect(row?.path).not.toContain(mark);
    };

    it('show each of many users only the own rows, in any order and after errors', async () => {
      const calls = Array.from({ length: usersMax * callsPerUser }, (_, i) => i);
      await Promise.all(
        connections.map(async (connection) => {
          for (let i = calls.shift(); i !== undefined; i = calls.shift()) {
            const user = 1 + ((i * 7) % usersMax);
            const session = sessionOf(user);
            const { data } = await ask(connection, 'SELECT DISTINCT owner FROM notes', { session });
            expect(data).toEqual([{ owner: user }]);
            const foreign = "INSERT INTO notes VALUES (0, 'x')";
            if (i % 5 === 0)
              await expect(ask(connection, foreign, { session, kind: 'write' })).rejects.toThrow();
            if (i % 7 === 0)
              await expect(
                ask(connection, 'SELECT 1 / (owner - owner) FROM notes', { session }),
              ).rejects.toThrow();
            if (i % 11 === 0) await expectNothingLeft(connection);
          }
        }),
      );
      for (const connection of connections) await expectNothingLeft(connection);
    });

    it('hold for writes, dry runs and checks of the number of rows', async () => {
      const [connection] = connections as [Connection];
      const update = "UPDATE notes SET body = 'mine'";
      const run = (options: object) =>
        ask(connection, update, { session: sessionOf(3), kind: 'write', ...options });
      for (const options of [{}, { dryRun: true }, { maxAffected: 3 }])
        expect((await run(options)).outcome.affectedRows).toBe(3);
      await expect(run({ maxAffected: 2 })).rejects.toMatchObject({ code: 'MAX_AFFECTED' });
      await expectNothingLeft(connection);
      const { data } = await ask(operator, `SELECT DISTINCT owner FROM ${mark}.notes WHERE body = 'mine'`);
      expect(data).toEqual([{ owner: 3 }]);
    });

    it('end with a statement that is cancelled', async () => {
      const [connection] = connections as [Connection];
      const running = ask(connection, 'SELECT pg_sleep(1000) FROM notes', { session: sessionOf(4) });
      const failed = expect(running).rejects.toMatchObject({ code: 'CANCELLED' });
      const seen = `SELECT count(*) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%FROM notes%'`;
      await expect.poll(async () => Number((await ask(operator, seen)).data[0]?.n)).toBe(1);
      await connection.cancel(AbortSignal.timeout(20_000));
      await failed;
      if (!connection.broken) await expectNothingLeft(connection);
    });

    it('end with a session that is killed', async () => {
      const [connection] = connections as [Connection];
      const running = ask(connection, 'SELECT pg_sleep(1000), 7 AS killed FROM notes', {
        session: sessionOf(5),
      });
      const failed = expect(running).rejects.toThrow();
      const kill =
        "SELECT count(pg_terminate_backend(pid)) AS n FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%7 AS killed FROM notes%'";
      await expect.poll(async () => Number((await ask(operator, kill)).data[0]?.n)).toBe(1);
      await failed;
      for (const other of connections) if (!other.broken) await expectNothingLeft(other);
      const settings: ConnectSettings = { ...settingsOf('postgres', url as string), pooling };
      const deps = { dial, signal: AbortSignal.timeout(60_000), facts: {} };
      connection.close();
      connections[0] = await createPostgresEngine().connect(settings, deps);
      await expectNothingLeft(connections[0] as Connection);
    });

    it('are values, not SQL', async () => {
      const [connection] = connections as [Connection];
      const value = "1', true), set_config('role', 'none', true); --";
      const session = [['app.user_id', value]] as const;
      const { data } = await ask(connection, "SELECT current_setting('app.user_id') AS u", { session });
      expect(data).toEqual([{ u: value }]);
      await expectNothingLeft(connection);
    });
  });
});

describe.each(['session', 'transaction'] as const)('settings of the role, pooling %s', (pooling) => {
  it.skipIf(POSTGRES_URL === undefined)(
    'change neither how values are read nor how they are written (needs POSTGRES_URL)',
    async () => {
      const role = `odd_${randomUUID().slice(0, 8)}`;
      const operator = await connect('postgres', POSTGRES_URL as string);
      const operate = (text: string) => ask(operator, text, { kind: 'standalone' });
      await operate(`CREATE ROLE ${role} LOGIN PASSWORD 'odd'`);
      await operate(`ALTER ROLE ${role} SET array_nulls = off`);
      await operate(`ALTER ROLE ${role} SET DateStyle = 'German, DMY'`);
      await operate(`ALTER ROLE ${role} SET xmlbinary = hex`);
      try {
        const settings = settingsOf('postgres', POSTGRES_URL as string);
        const connection = await createPostgresEngine().connect(
          { ...settings, user: role, password: 'odd', pooling },
          { dial, signal: AbortSignal.timeout(60_000), facts: {} },
        );
        const text = `SELECT $1::text[] AS list, '04/03/2026'::date AS day,
          xmlelement(name x, '\\x41ff'::bytea)::text AS xml`;
        const { data } = await ask(connection, text, { params: ['{"a",NULL}'] });
        expect(data).toEqual([{ list: ['a', null], day: '2026-04-03', xml: '<x>Qf8=</x>' }]);
        connection.close();
      } finally {
        await operate(`DROP ROLE ${role}`);
        operator.close();
      }
    },
  );
});
