/** A read of which no more rows are taken ends at its server, which would send all of them. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../../fixture.ts';

const servers: [EngineName, string | undefined][] = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
];

/** 100,000 rows of 10 kB, for each of which the server takes some 20 ms. */
const from = (() => {
  const ten = `(SELECT 0 AS n${' UNION ALL SELECT 0'.repeat(9)})`;
  return ['hub_cut', ...['a', 'b', 'c', 'd', 'e'].map((name) => `${ten} AS ${name}`)].join(', ');
})();
const takesTime = { mariadb: 'SLEEP(0.02)', mysql: "BENCHMARK(20000, SHA2('a', 512))" };

describe.each(servers)('%s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const drops = [
      'DROP TABLE IF EXISTS hub_cut',
      ...['zone', 'counts'].map((name) => `DROP FUNCTION IF EXISTS hub_cut_${name}`),
    ];

    beforeAll(async () => {
      await operateMysql(url as string, [
        ...drops,
        'CREATE TABLE hub_cut (at TIMESTAMP NULL)',
        "INSERT INTO hub_cut VALUES ('2026-11-20 13:04:05')",
        "CREATE FUNCTION hub_cut_zone() RETURNS INT NO SQL BEGIN SET time_zone = '+09:00'; RETURN 1; END",
        'CREATE FUNCTION hub_cut_counts() RETURNS INT NO SQL BEGIN SET @n = COALESCE(@n, 0) + 1; RETURN @n; END',
      ]);
      connection = await connect(engine, url as string);
    });
    afterAll(async () => {
      connection.close();
      await operateMysql(url as string, drops);
    });

    const slow = (columns: string, hint = '') =>
      `SELECT ${hint} ${columns}, ${takesTime[engine as 'mysql']} AS s, REPEAT('x', 10000) AS t FROM ${from}`;
    const cut = (columns: string, hint?: string) =>
      ask(connection, slow(columns, hint), { maxRows: 2, statementTimeoutMs: 60_000 });

    it('answers the rows that are taken, and goes on', async () => {
      for (let n = 0; n < 3; n++) {
        const { data, outcome } = await cut('7 AS a');
        expect(data.map(({ a }) => a)).toEqual([7, 7]);
        expect(outcome).toMatchObject({ truncated: true, rowCount: 2 });
        expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
      }
      expect(connection.broken).toBe(false);
    });

    it('leaves nothing of what its rows changed in the session', async () => {
      expect((await cut('hub_cut_counts() AS n')).data.map(({ n }) => n)).toEqual([1, 2]);
      expect((await ask(connection, 'SELECT @n AS n')).data).toEqual([{ n: null }]);
    });

    it.each([
      ['a function', 'hub_cut_zone() AS z, at', ''],
      ['a hint', 'at', "/*+ SET_VAR(time_zone = '+09:00') */"],
    ])('fails if %s changed the formats of its values', async (_what, columns, hint) => {
      if (engine === 'mariadb' && hint !== '') return;
      const failure = await cut(columns, hint).then(
        ({ outcome }) => outcome,
        (err) => [err.code, err.message],
      );
      expect(failure).toEqual(['SQL_REJECTED', expect.stringContaining('changed time_zone')]);
      expect((await ask(connection, 'SELECT at FROM hub_cut')).data).toEqual([
        { at: '2026-11-20T13:04:05.000Z' },
      ]);
    });

    it('stays in the transaction, whose next step finds the settings of the hub', async () => {
      const inside = { inTransaction: true, maxRows: 2, statementTimeoutMs: 60_000 };
      await connection.transactions?.begin({ readOnly: false, statementTimeoutMs: 60_000 });
      expect((await ask(connection, slow('hub_cut_zone() AS z'), inside)).outcome.rowCount).toBe(2);
      expect((await ask(connection, 'SELECT at FROM hub_cut', inside)).data).toEqual([
        { at: '2026-11-20T13:04:05.000Z' },
      ]);
      await connection.transactions?.rollBack();
    });
  });
});
