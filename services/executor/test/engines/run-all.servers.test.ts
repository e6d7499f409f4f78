/** Many statements that are sent together in one transaction. */

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../src/engines/postgres/index.ts';
import type { Connection, Statement, Transactions } from '../../src/ports/engine.ts';
import { ask, connect, dial, settingsOf } from '../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_TRANSACTION_URL, MYSQL_URL, MARIADB_URL } = process.env;
const signal = () => AbortSignal.timeout(60_000);
const overPostgres = (url: string, pooling: 'session' | 'transaction') =>
  createPostgresEngine().connect(
    { ...settingsOf('postgres', url), pooling },
    { dial, signal: signal(), facts: {} },
  );
const forms: [name: string, url: string | undefined, open: (url: string) => Promise<Connection>][] = [
  ['PostgreSQL', POSTGRES_URL, (url) => overPostgres(url, 'session')],
  ['PostgreSQL, as if behind a pooler', POSTGRES_URL, (url) => overPostgres(url, 'transaction')],
  ['PgBouncer in transaction mode', PGBOUNCER_TRANSACTION_URL, (url) => overPostgres(url, 'transaction')],
  ['MySQL', MYSQL_URL, (url) => connect('mysql', url)],
  ['MariaDB', MARIADB_URL, (url) => connect('mariadb', url)],
];
const options = { readOnly: false, statementTimeoutMs: 10_000 };
const ignore = { statementTimeoutMs: 10_000, onFailure: () => {} };
const of = ({ transactions }: Connection) => transactions as Transactions;

describe.each(forms)('statements that are sent together over %s', (name, url, open) => {
  const isPostgres = !['MySQL', 'MariaDB'].includes(name);
  const write = (text: string, params: Statement['params'] = []): Statement => {
    let place = 0;
    return {
      key: text,
      text: isPostgres ? text.replaceAll('?', () => `$${++place}`) : text,
      params,
      kind: 'write',
    };
  };
  const setUp = async () => {
    const connection = await open(url as string);
    const table = `many_${randomUUID().slice(0, 8)}`;
    await ask(connection, `CREATE TABLE ${table} (id INT PRIMARY KEY, n VARCHAR(20))`, {
      kind: 'standalone',
    });
    const count = async () => {
      const text = `SELECT COUNT(*) AS n FROM ${table}`;
      return Number(((await ask(connection, text, { key: `${table}.count` })).data[0] as { n: number }).n);
    };
    const insert = (id: number, n: string | null = 'x') =>
      write(`INSERT INTO ${table} VALUES (?, ?)`, [id, n]);
    const end = async () => {
      await ask(connection, `DROP TABLE ${table}`, { kind: 'standalone' });
      connection.close();
    };
    return { connection, table, count, insert, end };
  };

  it.skipIf(url === undefined)('are committed or rolled back together, by any number of texts', async () => {
    const { connection, table, count, insert, end } = await setUp();
    await of(connection).begin(options);
    const values = Array.from({ length: 1_500 }, (_, i) => insert(i, i % 3 === 0 ? null : `n${i}`));
    expect(await of(connection).runAll(values, ignore)).toBe(1_500);
    // More than a connection keeps prepared.
    const texts = Array.from({ length: 120 }, (_, i) =>
      write(`UPDATE ${table} SET n = ? WHERE id < ${i % 60}`, ['y']),
    );
    const sum = texts.reduce((all, _, i) => all + (i % 60), 0);
    const affected = await of(connection).runAll(texts, ignore);
    // MySQL and MariaDB count only the rows that differ afterwards, unless they are asked for those that were found.
    expect([sum, 59]).toContain(affected);
    await of(connection).commit();
    expect(await count()).toBe(1_500);

    await of(connection).begin(options);
    const failures: number[] = [];
    const onFailure = (index: number) => failures.push(index);
    const more = [...Array.from({ length: 700 }, (_, i) => insert(2_000 + i)), insert(3), insert(9_000)];
    await expect(of(connection).runAll(more, { ...ignore, onFailure })).rejects.toMatchObject({
      code: 'CONSTRAINT',
    });
    expect(failures).toEqual([700]);
    await of(connection).rollBack();
    expect([connection.broken, await count()]).toEqual([false, 1_500]);
    await end();
  });

  it.skipIf(url === undefined)('change nothing behind a deadlock', async () => {
    const { connection, table, count, insert, end } = await setUp();
    const other = await open(url as string);
    await of(connection).begin(options);
    const ids = Array.from({ length: 500 }, (_, i) => insert(i));
    await of(connection).runAll(ids, ignore);
    await of(connection).commit();
    // The server ends the transaction that changed less.
    const touch = (id: number) => write(`UPDATE ${table} SET n = 'z' WHERE id = ?`, [id]);
    await of(other).begin(options);
    await of(other).runAll([write(`UPDATE ${table} SET n = 'o' WHERE id > 10`), touch(2)], ignore);
    await of(connection).begin(options);
    await of(connection).runAll([touch(1)], ignore);
    const waiting = of(other).runAll([touch(1)], ignore);
    const failures: number[] = [];
    const onFailure = (index: number) => failures.push(index);
    const late = [touch(2), insert(-1), insert(-2)];
    const [mine, theirs] = await Promise.allSettled([
      of(connection).runAll(late, { ...ignore, onFailure }),
      waiting,
    ]);
    if (mine.status === 'rejected') expect(failures).toEqual([0]);
    await (theirs.status === 'rejected' ? of(other).rollBack() : of(other).commit());
    await (mine.status === 'rejected' ? of(connection).rollBack() : of(connection).commit());
    expect(await count()).toBe(mine.status === 'rejected' ? 500 : 502);
    expect([mine.status, theirs.status]).toContain('rejected');
    if (!isPostgres) expect(mine.status).toBe('rejected');
    other.close();
    await end();
  });
});
