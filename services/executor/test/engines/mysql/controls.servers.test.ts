/** Tests the hub's own commands around a statement: if one of them fails, the statement changes nothing. */

import type { AddressInfo, Server } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import type { Connection } from '../../../src/ports/engine.ts';
import { ask, dial, operateMysql, settingsOf } from '../../fixture.ts';
import { startTamperer } from '../../hostile/tamperer.ts';

const servers = [
  ['mariadb', process.env.MARIADB_URL],
  ['mysql', process.env.MYSQL_URL],
] as const;

describe.each(servers)('commands around a statement at %s', (name, url) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    let proxy: Server;
    let tamper: (text: string) => string;
    let connection: Connection;
    const operate = (...texts: string[]) => operateMysql(url as string, texts);

    beforeAll(async () => {
      await operate(
        'DROP TABLE IF EXISTS hub_controls',
        'CREATE TABLE hub_controls (a INT)',
        'DROP FUNCTION IF EXISTS hub_controls_write',
        `CREATE FUNCTION hub_controls_write() RETURNS INT MODIFIES SQL DATA
          BEGIN INSERT INTO hub_controls VALUES (1); RETURN 1; END`,
      );
      proxy = await startTamperer(Number(new URL(url as string).port), (text) => tamper(text));
    });
    afterAll(async () => {
      proxy.close();
      await operate('DROP TABLE hub_controls', 'DROP FUNCTION hub_controls_write');
    });
    beforeEach(async () => {
      tamper = (text) => text;
      const settings = { ...settingsOf(name, url as string), tls: { mode: 'disable' } as const };
      connection = await createMysqlEngine().connect(
        { ...settings, port: (proxy.address() as AddressInfo).port },
        { dial, signal: AbortSignal.timeout(60_000) },
      );
    });
    afterEach(() => connection.close());

    const written = async () => {
      const direct = await createMysqlEngine().connect(settingsOf(name, url as string), {
        dial,
        signal: AbortSignal.timeout(60_000),
      });
      const { data } = await ask(direct, 'SELECT COUNT(*) AS n FROM hub_controls');
      direct.close();
      return data[0]?.n;
    };
    const insert = 'INSERT INTO hub_controls VALUES (1)';

    it.each([
      ['a time-out', 'SET max_', 'SET mbx_', 'write', insert],
      ['write access', 'read_only = 0', 'read_onlx = 0', 'write', insert],
      ['write access', 'read_only = 0', 'read_onlx = 0', 'standalone', insert],
      ['a time-out', 'SET max_', 'SET mbx_', 'read', 'SELECT 1'],
      ['a transaction', 'TRANSACTION READ', 'TRANSACTIOM READ', 'read', 'SELECT hub_controls_write()'],
      ['a transaction', 'TRANSACTION READ', 'TRANSACTIOM READ', 'write', insert],
    ] as const)(
      'if %s cannot be set (%s as %s), a %s changes nothing',
      async (_what, sent, changed, kind, text) => {
        tamper = (bytes) => bytes.replaceAll(sent, changed);
        await expect(ask(connection, text, { kind })).rejects.toMatchObject({
          code: 'SOURCE_UNREACHABLE',
          message: 'The source refused a command that the hub runs before a statement.',
        });
        expect(connection.broken).toBe(true);
        expect(await written()).toBe(0);
      },
    );

    it('a write succeeds even if its session cannot be made read-only again, and the session is closed', async () => {
      tamper = (bytes) => bytes.replaceAll('read_only = 1', 'read_onlx = 1');
      expect((await ask(connection, insert, { kind: 'write' })).data).toEqual([{ affectedRows: 1 }]);
      expect(connection.broken).toBe(true);
      expect(await written()).toBe(1);
      await operate('DELETE FROM hub_controls');
    });

    it('a session that cannot be set up again after its reset is closed', async () => {
      tamper = (bytes) => bytes.replaceAll('SET sql_mode', 'SET sql_modx');
      expect((await ask(connection, insert, { kind: 'standalone' })).data).toEqual([{ affectedRows: 1 }]);
      expect(connection.broken).toBe(true);
      await operate('DELETE FROM hub_controls');
    });

    it('a session is reset and set up again in one write', async () => {
      const sent: string[] = [];
      tamper = (bytes) => {
        sent.push(bytes);
        return bytes;
      };
      await ask(connection, insert, { kind: 'standalone' });
      expect(sent.filter((bytes) => /SET session_track|SET NAMES|SET sql_mode/.test(bytes))).toHaveLength(1);
      expect(connection.broken).toBe(false);
      await operate('DELETE FROM hub_controls');
    });

    it('a read that changes nothing in its session does not reset the session', async () => {
      for (let i = 0; i < 5; i++) await ask(connection, `SELECT ${i % 2}`);
      const { data } = await ask(connection, "SHOW SESSION STATUS LIKE 'Com_stmt_execute'");
      expect(Number(data[0]?.Value)).toBeGreaterThanOrEqual(5);
    });

    it('a write that changes nothing in its session keeps the session at MySQL, but not at MariaDB because of sequences', async () => {
      for (let i = 0; i < 5; i++) await ask(connection, insert, { kind: 'write' });
      const { data } = await ask(connection, "SHOW SESSION STATUS LIKE 'Com_stmt_execute'");
      if (name === 'mysql') expect(Number(data[0]?.Value)).toBeGreaterThanOrEqual(5);
      else expect(Number(data[0]?.Value)).toBeLessThan(5);
      await expect(ask(connection, insert)).rejects.toMatchObject({ code: 'SQL_REJECTED' });
      expect(await written()).toBe(5);
      await operate('DELETE FROM hub_controls');
    });
  });
});
