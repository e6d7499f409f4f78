/** Stands between the hub and a server, and takes the server's offer of TLS away. */

import { connect, createServer, type Server } from 'node:net';

/** `strip` changes what the server says first. */
export async function startStripper(port: number, strip: (answer: Buffer) => Buffer): Promise<Server> {
  const server = createServer((client) => {
    const origin = connect(port, '127.0.0.1');
    for (const socket of [client, origin]) socket.on('error', () => {});
    client.on('close', () => origin.destroy());
    origin.on('close', () => client.destroy());
    origin.once('data', (answer) => {
      client.write(strip(answer));
      origin.on('data', (bytes) => client.write(bytes));
    });
    client.on('data', (bytes) => {
      // PostgreSQL would take the question for TLS for one.
      if (bytes.length === 8 && bytes.readInt32BE(4) === 80_877_103) client.write(strip(Buffer.from('S')));
      else origin.write(bytes);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
