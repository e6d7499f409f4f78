import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ask, connect } from '../../fixture.ts';

const { POSTGRES_URL } = process.env;

describe.skipIf(POSTGRES_URL === undefined)(
  'a prepared statement of a table that changes (needs POSTGRES_URL)',
  () => {
    it.each([false, true])(
      'is checked alone and behind another one in a snapshot: %s',
      async (inSnapshot) => {
        const connection = await connect('postgres', POSTGRES_URL as string);
        const table = `changes_${randomUUID().slice(0, 8)}`;
        const change = (text: string) => ask(connection, text, { kind: 'standalone' });
        await change(`CREATE TABLE ${table} (v real)`);
        const text = `SELECT count(*)::int AS n FROM ${table} WHERE v = $1`;
        const statement = { key: text, text, params: ['0.1'], infersTypes: true, kind: 'read' as const };
        const count = async () => {
          if (inSnapshot) await ask(connection, 'SELECT 1 AS first', { snapshot: { next: statement } });
          return (await ask(connection, text, { ...statement, ...(inSnapshot && { snapshot: 'last' }) }))
            .data;
        };
        await change(`INSERT INTO ${table} VALUES (0.1)`);
        expect(await count()).toEqual([{ n: 1 }]);
        await sleep(150);
        await change(`ALTER TABLE ${table} ALTER COLUMN v TYPE float8 USING v::text::float8`);
        expect(await count()).toEqual([{ n: 1 }]);
        await change(`DROP TABLE ${table}`);
        connection.close();
      },
    );

    it.each([
      ['date', 'timestamptz', '2020-01-01T12:00:00Z', '2020-01-01 08:00Z'],
      ['real', 'float8', '0.1', '0.1'],
      ['int', 'bigint', '5000000000', '5000000000'],
      ['int', 'text', 'x', 'x'],
    ])('from %s to %s compares with values of the new type', async (before, after, value, row) => {
      const connection = await connect('postgres', POSTGRES_URL as string);
      const table = `changes_${randomUUID().slice(0, 8)}`;
      const change = (text: string) => ask(connection, text, { kind: 'standalone' });
      await change(`CREATE TABLE ${table} (v ${before})`);
      const text = `SELECT count(*)::int AS n FROM ${table} WHERE v = $1`;
      const count = async (param: string) =>
        (await ask(connection, text, { params: [param], infersTypes: true })).data[0]?.n;
      expect(await count(before === 'date' ? '2020-01-01' : '7')).toBe(0);
      await sleep(150);
      await change(`ALTER TABLE ${table} ALTER COLUMN v TYPE ${after} USING v::${after}`);
      await change(`INSERT INTO ${table} VALUES ('${row}')`);
      expect(await count(value)).toBe(value === row ? 1 : 0);
      await change(`DROP TABLE ${table}`);
      connection.close();
    });
  },
);
