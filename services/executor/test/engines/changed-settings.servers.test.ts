/**
 * What a function or trigger sets holds for its own statement: neither the next statement of the transaction nor a later
 * call reads or stores other values because of it.
 */

import { randomUUID } from 'node:crypto';
import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import type { Connection, ConnectSettings, Statement, Transactions } from '../../src/ports/engine.ts';
import { ask, dial, operateMysql, settingsOf } from '../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_TRANSACTION_URL, MARIADB_URL, MYSQL_URL } = process.env;
const pooled: Partial<ConnectSettings> = { pooling: 'transaction' };
const servers: [
  name: string,
  engine: EngineName,
  url: string | undefined,
  more?: Partial<ConnectSettings>,
][] = [
  ['PostgreSQL', 'postgres', POSTGRES_URL],
  ['PgBouncer in transaction mode', 'postgres', PGBOUNCER_TRANSACTION_URL, pooled],
  ['MariaDB', 'mariadb', MARIADB_URL],
  ['MySQL', 'mysql', MYSQL_URL],
];

describe.each(servers)('settings of a session at %s', (_name, engine, url, more) => {
  const isPostgres = engine === 'postgres';
  const name = `changed_${randomUUID().slice(0, 8)}`;
  const signal = () => AbortSignal.timeout(30_000);
  const options = { readOnly: false, statementTimeoutMs: 10_000 };
  const opened: Connection[] = [];
  const connect = async () => {
    const settings = { ...settingsOf(engine, url as string), ...more };
    const connection = await createEngines()[engine].connect(settings, { dial, signal: signal(), facts: {} });
    opened.push(connection);
    return connection;
  };
  const of = ({ transactions }: Connection) => transactions as Transactions;
  const operate = async (texts: string[]) => {
    if (!isPostgres) return operateMysql(url as string, texts);
    const connection = await connect();
    for (const text of texts) await ask(connection, text, { kind: 'standalone' });
  };

  beforeAll(async () => {
    if (url === undefined) return;
    const at = isPostgres ? "timestamptz '2020-01-01 12:00Z'" : "'2020-01-01 12:00:00'";
    const moves = isPostgres
      ? [
          `CREATE FUNCTION ${name}_f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN SET TimeZone = 'Asia/Tokyo'; RETURN 1; END $$`,
          `CREATE FUNCTION ${name}_g() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET TimeZone = 'Asia/Tokyo'; RETURN NULL; END $$`,
          `CREATE TRIGGER ${name}_t AFTER INSERT ON ${name}_moved FOR EACH ROW EXECUTE FUNCTION ${name}_g()`,
        ]
      : [
          `CREATE FUNCTION ${name}_f() RETURNS int NO SQL BEGIN SET SESSION time_zone = '+09:00', SESSION sql_select_limit = 1; RETURN 1; END`,
          `CREATE TRIGGER ${name}_t AFTER INSERT ON ${name}_moved FOR EACH ROW SET SESSION time_zone = '+09:00'`,
        ];
    await operate([
      `CREATE TABLE ${name} (id int, t ${isPostgres ? 'timestamptz' : 'timestamp'})`,
      `CREATE TABLE ${name}_moved (id int, t ${isPostgres ? 'timestamptz' : 'timestamp'})`,
      `INSERT INTO ${name} VALUES (1, ${at}), (2, ${at})`,
      ...moves,
    ]);
  });
  afterAll(async () => {
    if (url !== undefined)
      await operate([
        `DROP TABLE ${name}`,
        `DROP TABLE ${name}_moved`,
        `DROP FUNCTION ${name}_f`,
        ...(isPostgres ? [`DROP FUNCTION ${name}_g`] : []),
      ]);
    for (const connection of opened) connection.close();
  });

  const noon = '2020-01-01T12:00:00';
  const times = async (connection: Connection, asked = {}) => {
    const { data } = await ask(connection, `SELECT t FROM ${name} ORDER BY id`, asked);
    return data.map(({ t }) => String(t).slice(0, noon.length));
  };
  const calls = `SELECT ${name}_f() AS one`;
  const store = (id: number): Statement => ({
    key: 'store',
    text: isPostgres
      ? `INSERT INTO ${name}_moved VALUES ($1, $2)`
      : `INSERT INTO ${name}_moved VALUES (?, ?)`,
    params: [id, '2020-01-01 12:00:00'],
    kind: 'write',
  });
  const stored = async (connection: Connection) => {
    const { data } = await ask(connection, `SELECT t FROM ${name}_moved`);
    return [...new Set(data.map(({ t }) => String(t).slice(0, noon.length)))];
  };

  it.skipIf(url === undefined)(
    'are the own ones for the next read of a transaction, and after it',
    async () => {
      const connection = await connect();
      await of(connection).begin({ ...options, readOnly: true });
      await ask(connection, calls, { inTransaction: true });
      expect(await times(connection, { inTransaction: true })).toEqual([noon, noon]);
      await of(connection).commit();
      await of(connection).begin({ ...options, readOnly: true });
      await ask(connection, calls, { inTransaction: true });
      await of(connection).commit();
      expect(await times(connection)).toEqual([noon, noon]);
    },
  );

  it.skipIf(url === undefined)('are the own ones for the second read of a snapshot', async () => {
    const connection = await connect();
    const text = `SELECT t FROM ${name} ORDER BY id`;
    const next: Statement = { key: text, text, params: [], kind: 'read' };
    await ask(connection, calls, { snapshot: { next } });
    expect(await times(connection, { snapshot: 'last' })).toEqual([noon, noon]);
  });

  it.skipIf(url === undefined)('are the own ones for the next write of a transaction', async () => {
    const connection = await connect();
    await of(connection).begin(options);
    for (const id of [1, 2]) {
      const { text, ...statement } = store(id);
      await ask(connection, text, { ...statement, inTransaction: true });
    }
    await of(connection).runAll([store(3)], { statementTimeoutMs: 10_000, onFailure: () => {} });
    await of(connection).runAll([store(4)], { statementTimeoutMs: 10_000, onFailure: () => {} });
    await of(connection).commit();
    expect(await stored(connection)).toEqual([noon]);
  });

  it.skipIf(url === undefined)(
    'refuse records that a trigger between them lets be read otherwise',
    async () => {
      const connection = await connect();
      await of(connection).begin(options);
      const records = [5, 6, 7].map(store);
      const running = of(connection).runAll(records, { statementTimeoutMs: 10_000, onFailure: () => {} });
      await expect(running).rejects.toMatchObject({
        code: 'SQL_REJECTED',
        message: expect.stringMatching(/changed (TimeZone|time_zone),/),
      });
      await of(connection).rollBack();
      expect(await times(connection)).toEqual([noon, noon]);
    },
  );
});
