/** Two reads in one snapshot see the same data, cannot write, and leave no transaction open. */

import { randomUUID } from 'node:crypto';
import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import type { Connection, ConnectSettings, Statement } from '../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../fixture.ts';

const { POSTGRES_URL, PGBOUNCER_TRANSACTION_URL, MARIADB_URL, MYSQL_URL } = process.env;
const pooled: Partial<ConnectSettings> = { pooling: 'transaction' };
const servers: [
  name: string,
  engine: EngineName,
  url: string | undefined,
  more?: Partial<ConnectSettings>,
][] = [
  ['postgres', 'postgres', POSTGRES_URL],
  ['a pooler in transaction mode', 'postgres', PGBOUNCER_TRANSACTION_URL, pooled],
  ['mariadb', 'mariadb', MARIADB_URL],
  ['mysql', 'mysql', MYSQL_URL],
];

describe.each(servers)('a snapshot of %s', (_name, engine, url, more) => {
  const here = url !== undefined;
  const engines = createEngines();
  const table = `snapshot_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const read = (text: string): Statement => ({ key: text, text, params: [], kind: 'read' });
  const first = `SELECT count(*) AS n FROM ${table}`;
  const second = `SELECT count(*) AS n, 2 AS second FROM ${table}`;
  const opened: Connection[] = [];
  let reader: Connection;
  let writer: Connection;

  const connect = async () => {
    const settings = { ...settingsOf(engine, url as string), ...more };
    const connection = await engines[engine].connect(settings, { dial, signal: AbortSignal.timeout(20_000) });
    opened.push(connection);
    return connection;
  };
  const insert = () => ask(writer, `INSERT INTO ${table} VALUES (1)`, { kind: 'write' });
  const count = async () => Number((await ask(writer, first)).data[0]?.n);

  beforeAll(async () => {
    if (!here) return;
    writer = await connect();
    await ask(writer, `CREATE TABLE ${table} (a int)`, { kind: 'standalone' });
  });
  beforeEach(async () => {
    if (here) reader = await connect();
  });
  afterAll(async () => {
    if (here) await ask(writer, `DROP TABLE ${table}`, { kind: 'standalone' });
    for (const connection of opened) connection.close();
  });

  it.skipIf(!here)('shows both statements the same data, repeatedly', async () => {
    for (let turn = 0; turn < 3; turn++) {
      const before = await count();
      const one = await ask(reader, first, { snapshot: { next: read(second) } });
      await insert();
      const two = await ask(reader, second, { snapshot: 'last' });
      expect([one.data, two.data]).toEqual([[{ n: before }], [{ n: before, second: 2 }]]);
      expect((await ask(reader, first)).data).toEqual([{ n: before + 1 }]);
    }
    expect(reader.broken).toBe(false);
  });

  it.skipIf(!here)('ends without its second statement', async () => {
    await ask(reader, first, { snapshot: { next: read(second) } });
    await reader.endSnapshot?.();
    await insert();
    expect((await ask(reader, first)).data).toEqual([{ n: await count() }]);
    expect(reader.broken).toBe(false);
  });

  it.skipIf(!here)('leaves nothing open after a failure', async () => {
    const missing = `SELECT a FROM no_${table}`;
    await expect(ask(reader, missing, { snapshot: { next: read(second) } })).rejects.toMatchObject({
      code: 'SQL_REJECTED',
    });
    await reader.endSnapshot?.();
    const failing = `SELECT (SELECT a FROM ${table} UNION ALL SELECT a FROM ${table}) AS x`;
    await insert();
    await ask(reader, first, { snapshot: { next: read(failing) } });
    await expect(ask(reader, failing, { snapshot: 'last' })).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    await insert();
    expect((await ask(reader, first)).data).toEqual([{ n: await count() }]);
    expect(reader.broken).toBe(false);
  });

  it.skipIf(!here)('leaves nothing open if its second statement cannot be sent', async () => {
    const refused: [Statement, object] =
      engine === 'postgres'
        ? [read(`SELECT 1 AS one WHERE 1 = $1`), { untyped: [{ index: 0, name: 'x', value: [1] }] }]
        : [read('SELECT ? AS x'), { params: ['x'.repeat(17_000_000)] }];
    const [{ text }, values] = refused;
    await ask(reader, first);
    await ask(reader, first, { snapshot: { next: refused[0] } });
    await insert();
    const failed = ask(reader, text, { snapshot: 'last', params: ['[1]'], ...values });
    await expect(failed).rejects.toMatchObject({
      code: engine === 'postgres' ? 'CONTEXT_INVALID' : 'TOO_LARGE',
    });
    expect((await ask(reader, first)).data).toEqual([{ n: await count() }]);
    await ask(reader, `INSERT INTO ${table} VALUES (3)`, { kind: 'write' });
    expect(reader.broken).toBe(false);
  });

  it.skipIf(!here)('does not write', async () => {
    const before = await count();
    const writing = `INSERT INTO ${table} VALUES (2)`;
    await expect(ask(reader, writing, { snapshot: { next: read(first) } })).rejects.toMatchObject({
      code: 'SQL_REJECTED',
    });
    await reader.endSnapshot?.();
    const both = async () => {
      // MySQL and MariaDB refuse to prepare the write.
      await ask(reader, first, { snapshot: { next: read(writing) } });
      await ask(reader, writing, { snapshot: 'last' });
    };
    await expect(both()).rejects.toMatchObject({ code: 'SQL_REJECTED' });
    expect(await count()).toBe(before);
  });
});
