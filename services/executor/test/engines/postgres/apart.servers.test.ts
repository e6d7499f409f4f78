import { randomUUID } from 'node:crypto';
import { compileStatement } from '@datahub/statement/compile';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect } from '../../fixture.ts';

const { POSTGRES_URL } = process.env;

describe.skipIf(POSTGRES_URL === undefined)('one value beside several types (needs POSTGRES_URL)', () => {
  const table = `apart_${randomUUID().slice(0, 8)}`;
  let connection: Connection;

  beforeAll(async () => {
    connection = await connect('postgres', POSTGRES_URL as string);
    await ask(
      connection,
      `CREATE TABLE ${table} (d date, ts timestamp, r real, f float8, c char(5), t text)`,
      {
        kind: 'standalone',
      },
    );
    const row = "('2026-01-02', '2026-01-02 10:00', '0.1', '0.1', 'ab', 'ab')";
    await ask(connection, `INSERT INTO ${table} VALUES ${row}`, { kind: 'write' });
  });

  afterAll(async () => {
    await ask(connection, `DROP TABLE ${table}`, { kind: 'standalone' });
    connection.close();
  });

  const bound = (
    text: string,
    value: unknown,
    { type, command = 'SELECT' }: { type?: string; command?: string },
  ) =>
    compileStatement(text, {
      dialect: 'postgres',
      command,
      variables: [{ key: 'v', type }],
    }).bind({ pinnedJson: '', contextJson: JSON.stringify({ v: value, ...(/:w/.test(text) && { w: 9 }) }) });

  const read = async (condition: string, value: unknown, type?: string) => {
    const { key, ...statement } = bound(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`, value, {
      ...(type && { type }),
    });
    const { data } = await ask(connection, statement.text, { ...statement, key: condition + type + key });
    return data[0]?.n;
  };

  it.each([
    ['d = :v AND ts = :v', '2026-01-02 10:00'],
    ['ts = :v AND d = :v', '2026-01-02 10:00'],
    ['r = :v AND f = :v', '0.1'],
    ['r = :v AND f = :v', 0.1],
    ['c = :v AND t <> :v', 'ab  '],
    ['d IN (:v) AND ts IN (:v)', ['2026-01-02 10:00']],
    ['(d = :v OR :v IS NULL) AND (ts = :v OR :v IS NULL)', '2026-01-02 10:00'],
    ['(d = :v OR :v IS NULL) AND (ts = :v OR :v IS NULL)', null],
    // The server cannot infer the type of the first use alone, and takes that of the second.
    ["ts >= :v AND d = :v AND ts < :v + interval '1 hour'", '2026-01-02 10:00'],
  ])('is read as each: %s', async (condition, value) => {
    expect(await read(condition, value)).toBe(1);
    expect(await read(condition, value)).toBe(1);
  });

  it.each([
    ['c = :v', 'ab  ', 1],
    ['c IN (:v)', 'ab  ', 1],
    ['t = :v', 'ab  ', 0],
    [':v IS NULL OR (:v = c AND COALESCE(:v, c) = c)', 'ab ', 1],
  ])('declared as string, is compared as the column is: %s with %s', async (condition, value, rows) => {
    expect(await read(condition, value, 'string')).toBe(rows);
  });

  it('declared as string, is refused beside what is no text', async () => {
    await expect(read('d = :v', '2026-01-02', 'string')).rejects.toMatchObject({ code: 'SQL_REJECTED' });
  });

  it.each([
    ["SELECT '[7, 8]'::jsonb -> :v AS x", 1, { x: 8 }],
    ["SELECT '[7, 8]'::jsonb - :v AS x", 0, { x: [8] }],
    ["SELECT substring('abcd', :v) AS x", 2, { x: 'bcd' }],
    ['SELECT :v > 9::text::int AS x', 10, { x: true }],
    ['SELECT (:v < :w) AS x', 10, { x: false }],
    ['SELECT (:v = :w) AS x', 9.0, { x: true }],
    // The columns stay what the signature says.
    ['SELECT :v AS x', 5, { x: '5' }],
    ['SELECT GREATEST(:v, :w) AS x', 10, { x: '9' }],
    ["SELECT 'a' || :v AS x", true, { x: 'atrue' }],
    [`SELECT c AS x FROM ${table} WHERE t <> :v`, 5, { x: 'ab   ' }],
  ])('of a number without a type is that of the number in the text: %s', async (text, value, row) => {
    const { key, ...statement } = bound(text, value, {});
    for (let i = 0; i < 2; i++) {
      const { data } = await ask(connection, statement.text, { ...statement, key: text + key });
      expect(data).toEqual([row]);
    }
    await connection.transactions?.begin({ readOnly: true, statementTimeoutMs: 5_000 });
    const inside = await ask(connection, statement.text, {
      ...statement,
      key: `${text} in`,
      inTransaction: true,
    });
    expect(inside.data).toEqual([row]);
    await connection.transactions?.commit();
  });

  it.each([
    ['date(:v)', '2026-01-02T01:00:00+02:00', '2026-01-02'],
    ['"timestamp"(:v)::text', '2026-01-02T01:00:00+02:00', '2026-01-02 01:00:00'],
    ['int4(:v)', '7', 7],
  ])('is cast by the name of a type: %s', async (expression, value, x) => {
    const { key, ...statement } = bound(`SELECT ${expression} AS x`, value, {});
    const { data } = await ask(connection, statement.text, { ...statement, key: expression + key });
    expect(data).toEqual([{ x }]);
  });

  it('has a type in the signature if all places expect the same', async () => {
    const describeOf = async (condition: string) => {
      const { key, ...statement } = bound(`SELECT 1 FROM ${table} WHERE ${condition}`, null, {});
      return (await connection.describe({ ...statement, key, kind: 'read' })).parameters;
    };
    expect(await describeOf('d = :v AND ts = :v')).toEqual([undefined]);
    expect(await describeOf('d = :v AND d < COALESCE(:v, d)')).toEqual(['date']);
  });

  it('is stored as each', async () => {
    const text = `UPDATE ${table} SET ts = :v WHERE d = :v RETURNING ts`;
    const { key, ...statement } = bound(text, '2026-01-02 11:00', { command: 'UPDATE' });
    const { data } = await ask(connection, statement.text, {
      ...statement,
      key,
      kind: 'write',
      dryRun: true,
    });
    expect(data).toEqual([{ ts: '2026-01-02T11:00:00.000' }]);
  });

  it.each([false, true])(
    'runs as one parameter if the server needs it, in a transaction: %s',
    async (inTransaction) => {
      // The server takes both for one expression, but only with one parameter.
      const text = `SELECT d = :v AS is_day, count(*)::int AS n FROM ${table} GROUP BY (d) = :v`;
      const { key, ...statement } = bound(text, '2026-01-02', {});
      expect(statement.apart).toBeDefined();
      if (inTransaction) await connection.transactions?.begin({ readOnly: true, statementTimeoutMs: 5_000 });
      const { data } = await ask(connection, statement.text, {
        ...statement,
        key: `${key}${inTransaction}`,
        inTransaction,
      });
      expect(data).toEqual([{ is_day: true, n: 1 }]);
      if (inTransaction) await connection.transactions?.commit();
    },
  );

  it('names the variable whose value is rejected', async () => {
    const { key, ...statement } = bound(`SELECT 1 FROM ${table} WHERE t = :v AND d = :v`, 'x', {});
    await expect(ask(connection, statement.text, { ...statement, key })).rejects.toThrow(
      'value of parameter $1',
    );
  });
});
