/** How a transaction ended, asked over another connection. */

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection, TransactionName, Transactions } from '../../../src/ports/engine.ts';
import { ask, connect, dial, settingsOf } from '../../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_URL, PGBOUNCER_TRANSACTION_URL } = process.env;
const forms: [name: string, url: string | undefined, pooling: 'session' | 'transaction'][] = [
  ['without a pooler', POSTGRES_URL, 'session'],
  ['without a pooler, as if there were one', POSTGRES_URL, 'transaction'],
  ['through PgBouncer in session mode', PGBOUNCER_URL, 'session'],
  ['through PgBouncer in transaction mode', PGBOUNCER_TRANSACTION_URL, 'transaction'],
];

describe.each(forms)('transactions of PostgreSQL %s', (_, url, pooling) => {
  it.skipIf(url === undefined)('commit, roll back and read, one after another in one session', async () => {
    const table = `steps_${randomUUID().slice(0, 8)}`;
    const settings = { ...settingsOf('postgres', url as string), pooling };
    const deps = { dial, signal: AbortSignal.timeout(60_000), facts: {} };
    const connection = await createPostgresEngine().connect(settings, deps);
    const transactions = connection.transactions as Required<Transactions>;
    const inner = (text: string, kind: 'read' | 'write' = 'write') =>
      ask(connection, text, { key: text, kind, inTransaction: true });
    const count = `SELECT count(*)::int AS n FROM ${table}`;
    await ask(connection, `CREATE TABLE ${table} (id int PRIMARY KEY)`, { kind: 'standalone' });
    for (let i = 1; i <= 3; i++) {
      await transactions.begin({ readOnly: false, isolation: 'serializable', statementTimeoutMs: 10_000 });
      await inner(`INSERT INTO ${table} VALUES (${i})`);
      expect((await inner(count, 'read')).data).toEqual([{ n: i }]);
      await inner(`UPDATE ${table} SET id = id`);
      const name = (await transactions.name()) as TransactionName;
      await transactions.commit();
      expect(await transactions.endOf(name)).toBe('committed');
      await transactions.begin({ readOnly: false, statementTimeoutMs: 10_000 });
      await inner(`DELETE FROM ${table}`);
      await expect(inner(`INSERT INTO ${table} VALUES (1 / 0)`)).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
      await transactions.rollBack();
      await transactions.begin({ readOnly: false, statementTimeoutMs: 10_000 });
      await inner(`DELETE FROM ${table}`);
      await expect(inner(`SELECT * FROM no_${table}`, 'read')).rejects.toMatchObject({
        code: 'SQL_REJECTED',
      });
      await transactions.rollBack();
      expect(connection.broken).toBe(false);
      await transactions.begin({ readOnly: true, statementTimeoutMs: 10_000 });
      expect((await inner(count, 'read')).data).toEqual([{ n: i }]);
      await transactions.rollBack();
      expect(connection.broken).toBe(false);
      expect((await ask(connection, count, { key: count })).data).toEqual([{ n: i }]);
    }
    await ask(connection, `DROP TABLE ${table}`, { kind: 'standalone' });
    connection.close();
  });
});

describe.skipIf(POSTGRES_URL === undefined)('the end of a transaction of PostgreSQL', () => {
  const table = `ends_${randomUUID().slice(0, 8)}`;
  let observer: Connection;
  const of = ({ transactions }: Connection) => transactions as Required<Transactions>;
  const endOf = (name: TransactionName) => of(observer).endOf(name);

  const begin = async (): Promise<[Connection, TransactionName]> => {
    const connection = await connect('postgres', POSTGRES_URL as string);
    await of(connection).begin({ readOnly: false, statementTimeoutMs: 10_000 });
    await ask(connection, `INSERT INTO ${table} VALUES (1)`, { kind: 'write', inTransaction: true });
    const name = await of(connection).name();
    expect(name).toEqual({
      server: expect.stringMatching(/^\d+\/\d+\/\d+$/),
      id: expect.stringMatching(/^\d+$/),
    });
    return [connection, name as TransactionName];
  };

  beforeAll(async () => {
    observer = await connect('postgres', POSTGRES_URL as string);
    await ask(observer, `CREATE TABLE ${table} (id int)`, { kind: 'standalone' });
  });
  afterAll(async () => {
    await ask(observer, `DROP TABLE ${table}`, { kind: 'standalone' });
    observer.close();
  });

  it('is committed, rolled back, or still open until its session is ended', async () => {
    const [committed, first] = await begin();
    expect(await endOf(first)).toBe('running');
    await of(committed).commit();
    expect(await endOf(first)).toBe('committed');
    const [rolledBack, second] = await begin();
    await of(rolledBack).rollBack();
    expect(await endOf(second)).toBe('aborted');
    const [open, third] = await begin();
    await of(observer).stop(third);
    await expect.poll(() => endOf(third)).toBe('aborted');
    const [closed, fourth] = await begin();
    closed.close();
    await expect.poll(() => endOf(fourth)).toBe('aborted');
    const { data } = await ask(observer, `SELECT count(*)::int AS n FROM ${table}`);
    expect(data).toEqual([{ n: 1 }]);
    for (const connection of [committed, rolledBack, open]) connection.close();
  });

  it('is unknown at another server, and for a name that is none', async () => {
    const [connection, name] = await begin();
    await of(connection).commit();
    expect(await endOf({ ...name, server: '1/1' })).toBe('unknown');
    expect(await endOf({ ...name, id: '1); SELECT 1' })).toBe('unknown');
    connection.close();
  });
});
