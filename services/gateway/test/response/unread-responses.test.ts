import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { limitUnread } from '../../src/response/response-budget.ts';

const chunk = Buffer.alloc(65_536, 'x');
const stallTimeoutMs = 200;
const opened: Socket[] = [];
let server: Server;

afterEach(() => {
  for (const socket of opened.splice(0)) socket.destroy();
  server.close();
});

/** Sends a request, and reads nothing of its answer. Resolves to the connection as the server has it. */
async function request(listener: RequestListener): Promise<{ client: Socket; connection: Socket }> {
  server = createServer((_request, response) => {
    limitUnread(response, stallTimeoutMs);
    listener(_request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  opened.push(client);
  const connected = once(server, 'connection');
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  const [connection] = await connected;
  return { client, connection };
}

it('closes a streamed answer whose last bytes nobody reads', async () => {
  const { connection } = await request((_request, response) => {
    // The buffers of the connection are full, and the last chunk waits.
    while (response.write(chunk));
    response.end();
  });
  await expect.poll(() => connection.destroyed).toBe(true);
});

it('closes a whole answer that nobody reads', async () => {
  const { connection } = await request((_request, response) => {
    response.end(Buffer.alloc(16_777_216));
  });
  await expect.poll(() => connection.destroyed).toBe(true);
});

it('leaves the connection of an answer that was read to the next request', async () => {
  const { client, connection } = await request((_request, response) => {
    while (response.write(chunk));
    response.end();
  });
  let text = '';
  client.on('data', (bytes) => {
    text = (text + bytes.toString('latin1')).slice(-10);
  });
  client.resume();
  await expect.poll(() => text.endsWith('\r\n0\r\n\r\n')).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 2 * stallTimeoutMs));
  expect(connection.destroyed).toBe(false);
});
