/** Stands between the hub and a server, in the clear, and changes what the hub says. */

import { connect, createServer, type Server } from 'node:net';

/** `tamper` must keep the length, since packets announce theirs. */
export async function startTamperer(port: number, tamper: (text: string) => string): Promise<Server> {
  const server = createServer((client) => {
    const origin = connect(port, '127.0.0.1');
    for (const socket of [client, origin]) socket.on('error', () => {});
    client.on('close', () => origin.destroy());
    origin.on('close', () => client.destroy());
    origin.on('data', (bytes) => client.write(bytes));
    client.on('data', (bytes) => origin.write(Buffer.from(tamper(bytes.toString('latin1')), 'latin1')));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
