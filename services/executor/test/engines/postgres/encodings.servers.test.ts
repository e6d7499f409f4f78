/** Databases whose texts are not UTF-8: the answer always is, or it fails. */

import { tableFromIPC } from 'apache-arrow';
import { describe, expect, it } from 'vitest';
import { createPostgresEngine } from '../../../src/engines/postgres/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const deps = () => ({ dial, signal: AbortSignal.timeout(60_000) });

describe.skipIf(process.env.POSTGRES_URL === undefined)('databases of PostgreSQL in other encodings', () => {
  const url = new URL(process.env.POSTGRES_URL ?? 'postgres://localhost/');
  const open = (database: string) =>
    createPostgresEngine().connect({ ...settingsOf('postgres', url.href), database }, deps());
  const inNew = async (encoding: string, test: (connection: Connection) => Promise<void>) => {
    const outer = await open(url.pathname.slice(1));
    const name = `hub_${encoding.toLowerCase()}`;
    const command = (text: string) => ask(outer, text, { kind: 'standalone' });
    await command(`DROP DATABASE IF EXISTS ${name}`);
    await command(
      `CREATE DATABASE ${name} ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
    );
    const inner = await open(name);
    try {
      await test(inner);
    } finally {
      inner.close();
      await command(`DROP DATABASE ${name} WITH (FORCE)`);
      outer.close();
    }
  };

  it('are read and written as they are in LATIN1, which refuses what it does not have', () =>
    inNew('LATIN1', async (connection) => {
      const text = 'SELECT $1::text AS v, length($1) AS n, chr(252) AS u';
      expect((await ask(connection, text, { params: ['für'] })).data).toEqual([{ v: 'für', n: 3, u: 'ü' }]);
      await expect(ask(connection, text, { params: ['日本'] })).rejects.toMatchObject({
        code: 'SQL_REJECTED',
        sql: { state: '22P05' },
      });
    }));

  it('are never changed in silence in SQL_ASCII, which knows no characters', () =>
    inNew('SQL_ASCII', async (connection) => {
      const own = (await ask(connection, 'SELECT $1::text AS v', { params: ['für 日本'] })).data;
      expect(own).toEqual([{ v: 'für 日本' }]);
      const latin1 = "convert_from('\\x66fc72'::bytea, 'SQL_ASCII')";
      for (const select of [`SELECT ${latin1} AS v`, `SELECT ARRAY[${latin1}] AS v`]) {
        await expect(ask(connection, select)).rejects.toMatchObject({
          code: 'SQL_REJECTED',
          sql: { state: '22021' },
        });
      }
      expect(connection.broken).toBe(false);
      // Bytes of numbers are no texts.
      const { bytes } = await ask(connection, 'SELECT 200 AS n', { format: 'arrow' });
      expect(String(tableFromIPC(bytes).toArray())).toBe('{"n": 200}');
      const told = `convert_from(convert(convert_to(${latin1}, 'SQL_ASCII'), 'LATIN1', 'UTF8'), 'SQL_ASCII')`;
      expect((await ask(connection, `SELECT ${told} AS v`)).data).toEqual([{ v: 'für' }]);
    }));
});
