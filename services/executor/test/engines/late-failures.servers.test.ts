/** A statement that fails behind its few rows is answered with its error: nothing was sent before. */

import { randomUUID } from 'node:crypto';
import type { EngineName } from '@datahub/contract/engines';
import { expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import type { Connection, RunOptions, Statement } from '../../src/ports/engine.ts';
import type { RowSink } from '../../src/ports/row-sink.ts';
import { createResponseWriter } from '../../src/result/response-writer.ts';
import { ask, dial, operateMysql, settingsOf } from '../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_TRANSACTION_URL, MARIADB_URL } = process.env;

const connect = async (engine: EngineName, url: string) => {
  const pooling = url === PGBOUNCER_TRANSACTION_URL ? 'transaction' : 'session';
  const deps = { dial, signal: AbortSignal.timeout(60_000) };
  const settings = { ...settingsOf(engine, url), pooling } as const;
  return (await createEngines()[engine].connect(settings, deps)) as Connection;
};

/** Longer than rows wait for others. */
const lateMs = 60;

/** Resolves to the error, and the number of pieces that were sent. */
async function fail(
  [engine, url]: [EngineName, string],
  {
    text,
    kind,
    onRow,
    ...options
  }: Pick<Statement, 'text' | 'kind'> & Partial<RunOptions> & { onRow?: () => void },
) {
  const connection = await connect(engine, url);
  let pieces = 0;
  const reply = { chunk: () => ++pieces > 0, onDrain: () => {} };
  const writer = createResponseWriter({ format: 'json', numbers: 'auto', meta: false, reply });
  const row: RowSink['row'] = (...values) => {
    writer.row(...values);
    onRow?.();
  };
  const sink = new Proxy<RowSink>(writer, {
    get: (target, name) => {
      if (name === 'row') return row;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const run = connection.run({ key: text, text, params: [], kind }, sink, {
    statementTimeoutMs: 10_000,
    ...options,
  });
  const err = await run.then(
    () => undefined,
    (caught) => caught,
  );
  writer.abandon();
  connection.close();
  return { err, pieces };
}

it.each([
  ['PostgreSQL', POSTGRES_URL],
  ['PgBouncer with transactions', PGBOUNCER_TRANSACTION_URL],
])('by a trigger that waits for the end, at %s', async (_, url) => {
  const name = `late_${randomUUID().slice(0, 8)}`;
  const connection = await connect('postgres', url as string);
  const change = (text: string) => ask(connection, text, { kind: 'standalone' });
  await change(`CREATE TABLE ${name} (id int)`);
  await change(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN PERFORM pg_sleep(${lateMs / 1_000}); RAISE 'late' USING ERRCODE = '23505'; END $$`);
  await change(`CREATE CONSTRAINT TRIGGER ${name} AFTER INSERT ON ${name}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION ${name}()`);
  const text = `INSERT INTO ${name} VALUES (1) RETURNING id`;
  for (const options of [{ maxAffected: 9 }, { dryRun: true }]) {
    const { err, pieces } = await fail(['postgres', url as string], { text, kind: 'write', ...options });
    expect(err).toMatchObject({ code: 'CONSTRAINT' });
    expect(pieces).toBe(0);
  }
  const inner = connection.transactions;
  await inner?.begin({ readOnly: false, statementTimeoutMs: 10_000 });
  await ask(connection, text, { kind: 'write', inTransaction: true });
  await expect(inner?.rehearseCommit?.()).rejects.toMatchObject({ code: 'CONSTRAINT' });
  await inner?.rollBack();
  expect((await ask(connection, `SELECT count(*)::int AS n FROM ${name}`)).data).toEqual([{ n: 0 }]);
  await change(`DROP TABLE ${name}`);
  await change(`DROP FUNCTION ${name}`);
  connection.close();
});

it.skipIf(MARIADB_URL === undefined)('by a function that changed a format, at MariaDB', async () => {
  const name = `late_${randomUUID().slice(0, 8)}`;
  const url = MARIADB_URL as string;
  await operateMysql(url, [
    `CREATE FUNCTION ${name}() RETURNS int BEGIN SET time_zone = '+09:00'; RETURN 1; END`,
    `CREATE TABLE ${name} AS SELECT TIMESTAMP '2026-11-20 13:04:05' AS t`,
    `ALTER TABLE ${name} MODIFY t timestamp`,
  ]);
  // A busy process reads the server's next answer late.
  let turns = 0;
  const block = () => {
    const until = performance.now() + lateMs / 2;
    while (performance.now() < until);
    if (++turns < 8) setImmediate(block);
  };
  const onRow = () => void setImmediate(block);
  const text = `SELECT ${name}() AS x, t FROM ${name}`;
  const { err, pieces } = await fail(['mariadb', url], { text, kind: 'read', onRow });
  await operateMysql(url, [`DROP FUNCTION ${name}`, `DROP TABLE ${name}`]);
  expect(err).toMatchObject({ code: 'SQL_REJECTED' });
  expect(pieces).toBe(0);
});
