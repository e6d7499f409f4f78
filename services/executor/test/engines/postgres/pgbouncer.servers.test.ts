/** Sources behind PgBouncer in session mode: what users rely on, and that nothing of the hub harms the pooler. */

import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, ConnectSettings, SourceFacts } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const { PGBOUNCER_URL: url, POSTGRES_URL: serverUrl } = process.env;
const here = url !== undefined && serverUrl !== undefined;
const plain: ConnectSettings['tls'] = { mode: 'disable' };

describe.skipIf(!here)('a source behind PgBouncer (needs PGBOUNCER_URL and POSTGRES_URL)', () => {
  const settings = settingsOf('postgres', url ?? 'postgres://none');
  const engine = createPostgresEngine();
  const opened: Connection[] = [];
  let dials = 0;
  const connect = async (more: Partial<ConnectSettings> = {}, facts: SourceFacts = {}) => {
    const counted = (host: string, port: number) => {
      dials++;
      return dial(host, port);
    };
    const deps = { dial: counted, signal: AbortSignal.timeout(60_000), facts };
    const connection = await engine.connect({ ...settings, ...more }, deps);
    opened.push(connection);
    return connection;
  };
  afterEach(() => {
    for (const connection of opened.splice(0)) connection.close();
  });

  it('is logged in without options, and the second connection knows', async () => {
    const facts: SourceFacts = {};
    dials = 0;
    await connect({}, facts);
    // The third is a second client, which shows that the pooler gives each a session of its own.
    expect([dials, facts]).toEqual([3, { refusesOptions: true, sharesSessions: false }]);
    await connect({}, facts);
    expect(dials).toBe(4);
  });

  it.each(['disable', 'require'] as const)('answers with TLS %s', async (mode) => {
    const connection = await connect({ tls: { mode } });
    expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
  });

  const values =
    "SELECT '\\x00ff'::bytea AS b, interval '1 day 2 hours' AS i, timestamptz '2026-01-02 03:04:05+02' AS t, 0.1::float8 + 0.2 AS f, 9007199254740993 AS n";

  it('gives values in the forms they have without a pooler, also after writes and other settings', async () => {
    const connection = await connect();
    const direct = await engine.connect(settingsOf('postgres', serverUrl as string), {
      dial,
      signal: AbortSignal.timeout(60_000),
    });
    opened.push(direct);
    const expected = (await ask(direct, values)).text;
    expect((await ask(connection, values)).text).toBe(expected);
    const change =
      "DO $$ BEGIN PERFORM set_config('bytea_output', 'escape', false), set_config('TimeZone', 'Asia/Tokyo', false); RESET ALL; END $$";
    await ask(connection, change, { kind: 'write' });
    expect((await ask(connection, values)).text).toBe(expected);
  });

  it('writes, counts, rolls back and keeps reads from writing', async () => {
    const connection = await connect();
    const table = `pooled_${randomUUID().replaceAll('-', '')}`;
    await ask(connection, `CREATE TABLE ${table} (id int)`, { kind: 'standalone' });
    const insert = `INSERT INTO ${table} SELECT generate_series(1, 3)`;
    expect((await ask(connection, insert, { kind: 'write' })).outcome.affectedRows).toBe(3);
    await ask(connection, insert, { kind: 'write', dryRun: true });
    await expect(ask(connection, insert, { kind: 'write', maxAffected: 2 })).rejects.toMatchObject({
      code: 'MAX_AFFECTED',
    });
    await expect(ask(connection, insert)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    const other = await connect();
    expect((await ask(other, `SELECT count(*)::int AS n FROM ${table}`)).data).toEqual([{ n: 3 }]);
    await ask(connection, `DROP TABLE ${table}`, { kind: 'standalone' });
  });

  it('stops at the statement time-out', async () => {
    const connection = await connect();
    const asleep = ask(connection, 'SELECT pg_sleep(20)', { statementTimeoutMs: 300 });
    await expect(asleep).rejects.toMatchObject({ code: 'STATEMENT_TIMEOUT' });
    expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
  });

  it.each(['disable', 'require'] as const)(
    'stops when asked, TLS %s, and the pooler lives on for everybody',
    async (mode) => {
      const bystander = await connect();
      const connections = await Promise.all(Array.from({ length: 5 }, () => connect({ tls: { mode } })));
      for (let round = 0; round < 3; round++) {
        const asleep = connections.map((connection) => ask(connection, 'SELECT pg_sleep(20)'));
        for (const one of asleep) one.catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 100));
        await Promise.all(connections.map((connection) => connection.cancel(AbortSignal.timeout(60_000))));
        for (const one of asleep) await expect(one).rejects.toMatchObject({ code: 'CANCELLED' });
        expect((await ask(bystander, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
      }
      expect(bystander.broken).toBe(false);
      expect((await ask(await connect({ tls: plain }), 'SELECT 2 AS two')).data).toEqual([{ two: 2 }]);
    },
  );

  it('reports a refused log-in if password, user or database are wrong', async () => {
    const wrong = [{ password: 'wrong' }, { user: 'nobody_here' }, { database: 'not_here' }];
    for (const one of wrong) {
      await expect(connect(one), JSON.stringify(one)).rejects.toMatchObject({
        code: 'SOURCE_AUTH',
        message: 'The source refuses the log-in. Check user, password and database.',
        retryable: false,
      });
    }
  });
});

const { PGBOUNCER_STATEMENT_URL: statementUrl } = process.env;

describe.skipIf(statementUrl === undefined)(
  'a source behind PgBouncer in statement mode (needs PGBOUNCER_STATEMENT_URL)',
  () => {
    it.each(['session', 'transaction'] as const)(
      'is refused with the reason, pooling %s',
      async (pooling) => {
        const settings = { ...settingsOf('postgres', statementUrl ?? ''), pooling };
        const signal = AbortSignal.timeout(60_000);
        await expect(
          createPostgresEngine().connect(settings, { dial, signal, facts: {} }),
        ).rejects.toMatchObject({
          code: 'SOURCE_UNREACHABLE',
          retryable: false,
          message: expect.stringContaining('pools by statement'),
        });
      },
    );
  },
);
