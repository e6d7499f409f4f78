import { expect, test } from 'vitest';
import { longestTurn } from '../../../../../tests/support/timing/longest-turn.ts';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import { dial, settingsOf } from '../../fixture.ts';
import { cut, startRogue } from '../../hostile/rogue.ts';
import { greeting, packet, switchTo } from '../../hostile/rogue-mysql.ts';
import { dsaKey, pem } from '../../network/handshake/der.ts';

const lengthOf = (bytes: Buffer) => (bytes.length < 4 ? 0 : 4 + bytes.readUIntLE(0, 3));
const key = [1, ...Buffer.from(pem('PRIVATE KEY', dsaKey(24_000)))];

test.each([
  [
    'caching_sha2_password',
    greeting({ plugin: 'caching_sha2_password' }),
    [packet(2, [1, 4]), packet(4, key)],
  ],
  ['sha256_password', greeting(), [switchTo(2, 'sha256_password'), packet(4, key)]],
])('a server whose key for %s takes seconds to read fails the log-in', async (_name, greets, answers) => {
  const server = await startRogue((socket) => {
    const left = [...answers];
    socket.write(greets);
    cut(socket, lengthOf, () => socket.write(left.shift() ?? packet(6, [0xff])));
  });
  const settings = settingsOf('mysql', `mysql://u:p@127.0.0.1:${server.port}/d`);
  const connecting = () =>
    createMysqlEngine().connect(
      { ...settings, tls: { mode: 'disable' } },
      { dial, signal: AbortSignal.timeout(60_000) },
    );
  const longest = await longestTurn(() => expect(connecting()).rejects.toMatchObject({ stage: 'connect' }));
  expect(longest).toBeLessThan(1_000);
  server.close();
});
