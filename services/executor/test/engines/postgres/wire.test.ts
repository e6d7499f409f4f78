import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { Wire } from '../../../src/engines/postgres/wire.ts';
import { flood } from '../../hostile/rogue.ts';
import { message } from '../../hostile/rogue-postgres.ts';

it('closes an idle connection whose server floods it with empty messages', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    flood(socket, message('N'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  await new Promise<void>((resolve) => new Wire(socket).onClose(resolve));
  // A notice without content takes 5 bytes on the wire, and counts more.
  expect(socket.bytesRead).toBeLessThan(1_048_576);
  server.close();
});
