/** What a rollback cannot undo is refused, or reported; and what counts as touched. */

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

describe.each(servers)('a rollback at %s', (name, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let connection: Connection;
    const engines = name === 'mariadb' ? ['MyISAM', 'MEMORY', 'Aria'] : ['MyISAM', 'MEMORY'];
    const tables = [...engines, 'InnoDB'].map((engine) => `hub_back_${engine.toLowerCase()}`);
    const write = (text: string, options: object = {}) =>
      ask(connection, text, { kind: 'write', ...options });
    const count = async (table: string) =>
      (await ask(connection, `SELECT COUNT(*) AS n FROM ${table}`)).data[0]?.n;
    const held = [{ dryRun: true }, { maxAffected: 0 }];

    beforeAll(async () => {
      const settings = settingsOf(name, url as string);
      const client = await mysql.createConnection(url as string);
      await client.query(`DROP TABLE IF EXISTS ${tables}, hub_back_log`);
      for (const [i, engine] of [...engines, 'InnoDB'].entries())
        await client.query(`CREATE TABLE ${tables[i]} (id INT PRIMARY KEY, v INT) ENGINE = ${engine}`);
      await client.query('CREATE TABLE hub_back_log (id INT) ENGINE = MyISAM');
      await client.query('CREATE OR REPLACE VIEW hub_back_view AS SELECT id, v FROM hub_back_myisam');
      await client.query('CREATE OR REPLACE VIEW hub_back_outer AS SELECT id, v FROM hub_back_view');
      await client.query('DROP FUNCTION IF EXISTS hub_back_logs');
      await client.query(
        'CREATE FUNCTION hub_back_logs() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN INSERT INTO hub_back_log VALUES (1); RETURN 1; END',
      );
      await client.end();
      connection = await createMysqlEngine().connect(settings, { dial, signal: AbortSignal.timeout(60_000) });
    });
    afterAll(async () => {
      connection.close();
      const client = await mysql.createConnection(url as string);
      await client.query(`DROP TABLE ${tables}, hub_back_log`);
      await client.query('DROP VIEW hub_back_view, hub_back_outer');
      await client.query('DROP FUNCTION hub_back_logs');
      await client.end();
    });

    it.each(engines)('is refused beforehand for %s', async (engine) => {
      const table = `hub_back_${engine.toLowerCase()}`;
      for (const options of held) {
        await expect(write(`INSERT INTO ${table} VALUES (1, 1)`, options)).rejects.toMatchObject({
          code: 'OPTION_REFUSED',
          message: expect.stringContaining(engine),
        });
      }
      expect(await count(table)).toBe(0);
      expect(connection.broken).toBe(false);
    });

    it.each([
      'INSERT INTO hub_back_view VALUES (1, 1)',
      'INSERT INTO hub_back_outer VALUES (1, 1)',
      'INSERT INTO `hub_back_innodb` VALUES (hub_back_logs(), 1)',
    ])('is refused beforehand for %s', async (text) => {
      for (const options of held)
        await expect(write(text, options)).rejects.toMatchObject({ code: 'OPTION_REFUSED' });
      expect([await count('hub_back_myisam'), await count('hub_back_log')]).toEqual([0, 0]);
    });

    it('is refused beforehand if a trigger writes such a table', async () => {
      const client = await mysql.createConnection(url as string);
      const insert = 'INSERT INTO hub_back_innodb VALUES (9, 9)';
      expect((await write(insert, { dryRun: true })).data).toMatchObject([{ affectedRows: 1 }]);
      await client.query(
        'CREATE TRIGGER hub_back_after AFTER INSERT ON hub_back_innodb FOR EACH ROW INSERT INTO hub_back_log VALUES (NEW.id)',
      );
      for (const options of held)
        await expect(write(insert, options)).rejects.toMatchObject({ code: 'OPTION_REFUSED' });
      await client.query('DROP TRIGGER hub_back_after');
      await client.end();
      expect([await count('hub_back_innodb'), await count('hub_back_log')]).toEqual([0, 0]);
    });

    it('does not take words in quotes and comments for tables', async () => {
      const text =
        "INSERT /* hub_back_log */ INTO hub_back_innodb SELECT 1, LENGTH('hub_back_log') -- hub_back_myisam";
      expect((await write(text, { dryRun: true })).data).toMatchObject([{ affectedRows: 1 }]);
      expect(await count('hub_back_innodb')).toBe(0);
    });

    // The test needs a user that may make users.
    if (name === 'mariadb')
      it('reports what it could not undo if that could not be known beforehand', async () => {
        const settings = settingsOf(name, url as string);
        const client = await mysql.createConnection(url as string);
        await client.query("DROP USER IF EXISTS 'hub_back'@'%'");
        await client.query("CREATE USER 'hub_back'@'%' IDENTIFIED BY 'Hub_back-4711'");
        // It may run the function, and neither read its definition nor see its table.
        await client.query(
          `GRANT SELECT, INSERT, DELETE ON ${settings.database}.hub_back_innodb TO 'hub_back'@'%'`,
        );
        await client.query(`GRANT EXECUTE ON FUNCTION ${settings.database}.hub_back_logs TO 'hub_back'@'%'`);
        const own = { ...settings, user: 'hub_back', password: 'Hub_back-4711' };
        const narrow = await createMysqlEngine().connect(own, { dial, signal: AbortSignal.timeout(60_000) });
        const text = 'INSERT INTO hub_back_innodb VALUES (hub_back_logs(), 1)';
        for (const options of held) {
          await expect(ask(narrow, text, { kind: 'write', ...options })).rejects.toMatchObject({
            code: 'ROLLBACK_INCOMPLETE',
            retryable: false,
          });
        }
        const fails = 'INSERT INTO hub_back_innodb VALUES (hub_back_logs(), 1), (1, 1)';
        const failed = ask(narrow, fails, { kind: 'write', dryRun: true });
        await expect(failed).rejects.toMatchObject({ code: 'ROLLBACK_INCOMPLETE', sql: { state: '23000' } });
        narrow.close();
        await client.query("DROP USER 'hub_back'@'%'");
        expect([await count('hub_back_innodb'), await count('hub_back_log')]).toEqual([0, 3]);
        await client.query('DELETE FROM hub_back_log');
        await client.end();
      });

    it.each(engines)('reports what a failed write left in %s', async (engine) => {
      const table = `hub_back_${engine.toLowerCase()}`;
      await expect(write(`INSERT INTO ${table} VALUES (1, 1), (2, 1), (1, 1)`)).rejects.toMatchObject({
        code: 'ROLLBACK_INCOMPLETE',
        retryable: false,
        sql: { state: '23000' },
      });
      expect(await count(table)).toBe(2);
      await write(`DELETE FROM ${table}`);
      const undone = write('INSERT INTO hub_back_innodb VALUES (1, 1), (2, 1), (1, 1)');
      await expect(undone).rejects.toMatchObject({ code: 'CONSTRAINT' });
      expect(await count('hub_back_innodb')).toBe(0);
    });

    if (name === 'mariadb')
      it('counts the rows that a write returns, not those of the answer', async () => {
        await write('DELETE FROM hub_back_innodb');
        await write('INSERT INTO hub_back_innodb VALUES (1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (6, 1)');
        const remove = (options: object) =>
          write('DELETE FROM hub_back_innodb RETURNING id', { maxRows: 1, ...options });
        const message = expect.stringContaining('would affect 6 rows');
        await expect(remove({ maxAffected: 5 })).rejects.toMatchObject({ code: 'MAX_AFFECTED', message });
        expect(await count('hub_back_innodb')).toBe(6);
        const { data, outcome } = await remove({ maxAffected: 6 });
        expect([data, outcome.truncated]).toEqual([[{ id: 1 }], true]);
        expect(await count('hub_back_innodb')).toBe(0);
      });
  });
});
