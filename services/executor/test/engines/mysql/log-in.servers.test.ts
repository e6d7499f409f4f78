/** Every kind of log-in that the server has, with and without TLS, for sessions and for what cancels them. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import type { Connection, ConnectSettings } from '../../../src/ports/engine.ts';
import { ask, dial, operateMysql, settingsOf } from '../../fixture.ts';

const servers = [
  ['mariadb', process.env.MARIADB_URL, ['mysql_native_password', 'ed25519']],
  // Where the server has no plugin of this name, it is left out.
  ['mysql', process.env.MYSQL_URL, ['caching_sha2_password', 'sha256_password', 'mysql_native_password']],
] as const;

const password = "pass 'word' é";
const literal = `'${password.replaceAll("'", "''")}'`;

describe.each(servers)('log-ins at %s', (engine, url, plugins) => {
  describe.skipIf(url === undefined)('(needs its URL in the environment)', () => {
    const known: string[] = [];
    const open = (change: Partial<ConnectSettings>) =>
      createMysqlEngine().connect(
        { ...settingsOf(engine, url as string), password, ...change },
        { dial, signal: AbortSignal.timeout(60_000) },
      );
    const userOf = (plugin: string) => `hub_${plugin}`;
    const operate = (...texts: string[]) => operateMysql(url as string, texts);

    beforeAll(async () => {
      for (const plugin of plugins) {
        const name = userOf(plugin);
        const identified =
          engine === 'mariadb' ? `VIA ${plugin} USING PASSWORD(${literal})` : `WITH ${plugin} BY ${literal}`;
        await operate(`DROP USER IF EXISTS ${name}`);
        const isKnown = await operate(`CREATE USER ${name} IDENTIFIED ${identified}`).then(
          () => true,
          (err) => (err.code === 'ER_PLUGIN_IS_NOT_LOADED' ? false : Promise.reject(err)),
        );
        if (isKnown) known.push(plugin);
        if (isKnown) await operate(`GRANT ALL ON hub.* TO ${name}`);
      }
    });
    afterAll(async () => {
      for (const plugin of known) await operate(`DROP USER ${userOf(plugin)}`);
    });

    const expectWorking = async (connection: Connection, user: string) => {
      const { data } = await ask(connection, 'SELECT SUBSTRING_INDEX(USER(), _utf8mb4 0x40, 1) AS name');
      expect(data).toEqual([{ name: user }]);
      const sleeping = ask(connection, 'SELECT SLEEP(20)');
      sleeping.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 100));
      await connection.cancel(AbortSignal.timeout(2_000));
      await expect(sleeping).rejects.toMatchObject({ code: 'CANCELLED' });
      connection.close();
    };

    it('has the first kind at least', () => expect(known).toContain(plugins[0]));

    it.each(['disable', 'require'] as const)(
      'log in with TLS %s, the first time and again, and no other password does',
      async (mode) => {
        for (const plugin of known) {
          const user = userOf(plugin);
          // The server of caching_sha2_password then knows no password, and asks for the whole of it.
          await operate('FLUSH PRIVILEGES');
          const wrong = open({ user, password: `${password}x`, tls: { mode } });
          await expect(wrong, plugin).rejects.toMatchObject({ code: 'SOURCE_AUTH', stage: 'connect' });
          for (let time = 0; time < 2; time++) await expectWorking(await open({ user, tls: { mode } }), user);
          await expect(open({ user, password: '', tls: { mode } })).rejects.toMatchObject({
            code: 'SOURCE_AUTH',
          });
        }
      },
    );

    it('are refused to a locked account, in words of ours', async () => {
      const user = userOf(plugins[0]);
      await operate(`ALTER USER ${user} ACCOUNT LOCK`);
      await expect(open({ user })).rejects.toMatchObject({ code: 'SOURCE_AUTH', retryable: false });
      await operate(`ALTER USER ${user} ACCOUNT UNLOCK`);
    });
  });
});
