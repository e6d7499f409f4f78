/** MariaDB's own plugins never need the whole password, so a source of MariaDB gives it to no server in their place. */

import { afterEach, expect, test } from 'vitest';
import { createMysqlEngine } from '../../../src/engines/mysql/index.ts';
import { dial, settingsOf } from '../../fixture.ts';
import { cut, type Rogue, startRogue } from '../../hostile/rogue.ts';
import { greeting, packet, switchTo } from '../../hostile/rogue-mysql.ts';

let server: Rogue;
afterEach(() => server.close());

const lengthOf = (bytes: Buffer) => (bytes.length < 4 ? 0 : 4 + bytes.readUIntLE(0, 3));
/** An AuthMoreData packet in which caching_sha2_password asks for the whole password. */
const askWhole = (sequence: number) => packet(sequence, [1, 4]);

test.each([
  ['offers caching_sha2_password', greeting({ plugin: 'caching_sha2_password' }), askWhole(2)],
  ['switches to caching_sha2_password', greeting(), switchTo(2, 'caching_sha2_password')],
  ['offers sha256_password', greeting({ plugin: 'sha256_password' }), switchTo(2, 'sha256_password')],
  ['switches to sha256_password', greeting(), switchTo(2, 'sha256_password')],
])('a server that %s gets no more than one answer', async (_name, greets, answer) => {
  let answers = 0;
  server = await startRogue((socket) => {
    socket.write(greets);
    cut(socket, lengthOf, () => {
      answers++;
      socket.write(answer);
    });
  });
  const settings = settingsOf('mariadb', `mysql://u:p@127.0.0.1:${server.port}/d`);
  const connecting = createMysqlEngine().connect(
    { ...settings, tls: { mode: 'disable' } },
    { dial, signal: AbortSignal.timeout(60_000) },
  );
  await expect(connecting).rejects.toMatchObject({ code: 'SOURCE_AUTH' });
  expect(answers).toBe(1);
});
