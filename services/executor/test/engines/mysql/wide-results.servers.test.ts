/** A table of MySQL and MariaDB has 4,096 columns at most, and a result has more. */

import type { EngineName } from '@datahub/contract/engines';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, connect, operateMysql } from '../../fixture.ts';

const servers: [EngineName, string | undefined][] = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
];

const columns = (count: number) => new Array(count).fill('1').join(', ');
const tooWide = 'more than 4096 columns';

describe.each(servers)('%s', (engine, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const drops = ['DROP PROCEDURE IF EXISTS hub_wide', 'DROP TABLE IF EXISTS hub_wide_rows'];

    beforeAll(async () => {
      await operateMysql(url as string, [
        ...drops,
        'CREATE TABLE hub_wide_rows (n INT)',
        `CREATE PROCEDURE hub_wide() BEGIN INSERT INTO hub_wide_rows VALUES (1); SELECT ${columns(4_097)}; SELECT 2 AS a; END`,
      ]);
      connection = await connect(engine, url as string);
    });
    afterAll(async () => {
      connection.close();
      await operateMysql(url as string, drops);
    });

    const count = async () =>
      Number((await ask(connection, 'SELECT COUNT(*) AS n FROM hub_wide_rows')).data[0]?.n);

    it('answers 4,096 columns', async () => {
      const { data } = await ask(connection, `SELECT ${columns(4_096)}`);
      expect(Object.keys(data[0] as object)).toHaveLength(4_096);
    });

    it.each([4_097, 65_535, 65_537])(
      'refuses %d columns as a fault of the statement, and goes on',
      async (wide) => {
        const refused = { code: 'SQL_REJECTED', message: expect.stringContaining(tooWide), retryable: false };
        const text = `SELECT ${columns(wide)}`;
        await expect(ask(connection, text)).rejects.toMatchObject(refused);
        const statement = { kind: 'read', text, params: [], untyped: [] } as const;
        await expect(connection.describe?.({ ...statement, key: 'wide' } as never)).rejects.toMatchObject(
          refused,
        );
        expect(connection.broken).toBe(false);
        expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
      },
    );

    const writes = [
      ['standalone', 'CALL hub_wide()'],
      ['write', `INSERT INTO hub_wide_rows VALUES (2) RETURNING ${columns(4_097)}`],
    ] as const;
    it.each(engine === 'mariadb' ? writes : writes.slice(0, 1))(
      'says of a %s statement whose result is too wide that it was carried out',
      async (kind, text) => {
        const before = await count();
        await expect(ask(connection, text, { kind })).rejects.toMatchObject({
          code: 'OUTCOME_UNKNOWN',
          message: expect.stringMatching(`carried out the statement.*${tooWide}`),
          retryable: false,
        });
        expect(await count()).toBe(before + 1);
        expect(connection.broken).toBe(false);
      },
    );
  });
});
