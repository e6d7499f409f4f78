import { afterEach, expect, test } from 'vitest';
import { connectMysql } from '../../../src/engines/mysql/connect.ts';
import { dial, settingsOf } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { greeting, ok, perform } from '../../hostile/rogue-mysql.ts';

let server: Rogue;
afterEach(() => server.close());

/** Offers everything there is, also what the driver would take up by itself. */
function everything(): Buffer {
  const bytes = greeting();
  const at = bytes.indexOf(0, 5) + 1 + 4 + 9;
  bytes.writeUInt16LE(0xffff & ~0x0800, at);
  bytes.writeUInt16LE(0xffff, at + 5);
  return bytes;
}

test('a server that offers every capability is asked for those that the hub speaks', async () => {
  let sent = 0;
  let answered = false;
  const commands = perform({
    command: (socket) => socket.write(ok(1)),
    greet: (socket) => socket.write(everything()),
  });
  server = await startRogue((socket) => {
    socket.once('data', (bytes: Buffer) => {
      sent = bytes.readUInt32LE(4);
      answered = true;
    });
    commands(socket);
  });
  const settings = settingsOf('mysql', `mysql://u:p@127.0.0.1:${server.port}/d`);
  const connection = await connectMysql(settings, {
    dial,
    signal: AbortSignal.timeout(60_000),
    cancellers: new WeakMap(),
  });
  connection.close();
  expect(answered).toBe(true);
  expect(sent.toString(16)).toBe('bea20f');
});
