/** What SQL says and does in its session decides nothing about how the hub treats the session. */

import type { EngineName } from '@datahub/contract/engines';
import mysql from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';

const servers: [EngineName, string | undefined][] = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
];
const routines = ['PROCEDURE hub_trust_leaves', 'FUNCTION hub_trust_says', 'PROCEDURE hub_trust_commits'];

describe.each(servers)('SQL in a session at %s', (name, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    let operator: mysql.Connection;
    const written = async () => {
      const [rows] = await operator.query({ sql: 'SELECT a FROM hub_trust ORDER BY a', rowsAsArray: true });
      return (rows as unknown as number[][]).flat();
    };
    const says = (number: number) =>
      `CASE n WHEN ${number} THEN SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${number}, MESSAGE_TEXT = 'said by SQL'; ELSE SET n = n; END CASE;`;
    const numbers = [1044, 1045, 1040, 1053, 1203, 1226, 1461, 1927, 1152, 1158];

    beforeAll(async () => {
      operator = await mysql.createConnection(url as string);
      await operator.query('DROP TABLE IF EXISTS hub_trust');
      await operator.query('CREATE TABLE hub_trust (a INT) ENGINE = InnoDB');
      for (const routine of routines) await operator.query(`DROP ${routine.replace(' ', ' IF EXISTS ')}`);
      await operator.query(
        'CREATE PROCEDURE hub_trust_leaves() BEGIN INSERT INTO hub_trust VALUES (7); START TRANSACTION; INSERT INTO hub_trust VALUES (1); SELECT 1 AS a; END',
      );
      await operator.query(
        `CREATE FUNCTION hub_trust_says(n INT) RETURNS INT DETERMINISTIC BEGIN ${numbers.map(says).join(' ')} RETURN 1; END`,
      );
      await operator.query(
        `CREATE PROCEDURE hub_trust_commits(n INT) BEGIN INSERT INTO hub_trust VALUES (7); COMMIT; ${numbers.map(says).join(' ')} END`,
      );
      connection = await createMysqlEngine().connect(settingsOf(name, url as string), {
        dial,
        signal: AbortSignal.timeout(60_000),
      });
    });
    afterAll(async () => {
      connection.close();
      for (const routine of routines) await operator.query(`DROP ${routine}`);
      await operator.query('DROP TABLE hub_trust');
      await operator.end();
    });

    it.each(numbers)('that raises %i is refused, and has run once', async (number) => {
      await operator.query('DELETE FROM hub_trust');
      for (const [kind, text] of [
        ['read', `SELECT hub_trust_says(${number})`],
        ['write', `INSERT INTO hub_trust SELECT hub_trust_says(${number})`],
        ['standalone', `CALL hub_trust_commits(${number})`],
      ] as const) {
        await expect(ask(connection, text, { kind })).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      }
      expect(await written()).toEqual([7]);
      expect(connection.broken).toBe(false);
      expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
    });

    it('that leaves a transaction open is rolled back, and the answer says so', async () => {
      await operator.query('DELETE FROM hub_trust');
      for (let i = 1; i <= 2; i++) {
        await expect(
          ask(connection, 'CALL hub_trust_leaves()', { kind: 'standalone' }),
        ).rejects.toMatchObject({
          code: 'SQL_REJECTED',
          message: expect.stringContaining('left a transaction open'),
          retryable: false,
          partial: true,
        });
        expect([connection.broken, await written()]).toEqual([false, Array(i).fill(7)]);
        expect((await ask(connection, 'SELECT 1 AS one')).data).toEqual([{ one: 1 }]);
      }
    });
  });
});
