/** A server that asks for a plugin which the hub does not speak. */

import { afterEach, expect, test } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import { dial, settingsOf } from '../../fixture.ts';
import { cut, type Rogue, startRogue } from '../../hostile/rogue.ts';
import { greeting, switchTo } from '../../hostile/rogue-mysql.ts';

let server: Rogue;
afterEach(() => server.close());

const lengthOf = (bytes: Buffer) => (bytes.length < 4 ? 0 : 4 + bytes.readUIntLE(0, 3));

async function errorOf(plugin: string): Promise<{ code: string; message: string }> {
  server = await startRogue((socket) => {
    socket.write(greeting());
    cut(socket, lengthOf, () => socket.write(switchTo(2, plugin)));
  });
  const settings = settingsOf('mariadb', `mysql://u:p@127.0.0.1:${server.port}/d`);
  return createMysqlEngine()
    .connect({ ...settings, tls: { mode: 'disable' } }, { dial, signal: AbortSignal.timeout(60_000) })
    .then(
      () => Promise.reject(new Error('connected')),
      (err) => err,
    );
}

test.each(['parsec', 'dialog', 'auth_gssapi_client'])('the error names %s', async (plugin) => {
  const err = await errorOf(plugin);
  expect(err.code).toBe('SOURCE_AUTH');
  expect(err.message).toContain(`plugin ${plugin}, which the hub does not support`);
});

test('the error quotes nothing that is no name of a plugin', async () => {
  const err = await errorOf('<b>see https://evil.example</b>');
  expect(err.code).toBe('SOURCE_AUTH');
  expect(err.message).not.toContain('evil');
});
