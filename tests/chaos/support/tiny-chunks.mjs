/**
 * As a process of its own: JSON bodies that arrive as chunks of one byte, many at once, each on a connection of its own.
 * Arguments: the hub's port, a key, the path, the media type, bodies at once, chunks of a body, bodies.
 */

import { connect } from 'node:net';

const [port, key, path, mediaType, atOnce, chunks, bodies] = process.argv.slice(2);
const head = Buffer.from(
  `POST ${path} HTTP/1.1\r\nHost: h\r\nx-service-api-key: ${key}\r\ncontent-type: ${mediaType}\r\n` +
    `transfer-encoding: chunked\r\n\r\n`,
);
const part = Buffer.from('1\r\n \r\n'.repeat(10_000));
const statuses = new Map();
let left = Number(bodies);

/** Resolves with the status of the answer, or with what ended the connection. */
const send = () =>
  new Promise((resolve) => {
    const socket = connect(Number(port), '127.0.0.1');
    let answer = '';
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      resolve(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 'closed');
    });
    socket.write(head);
    let sent = 0;
    const write = () => {
      while (sent < Number(chunks) && !socket.destroyed) {
        sent += 10_000;
        if (!socket.write(part)) return;
      }
      if (!socket.destroyed) socket.write('0\r\n\r\n');
    };
    socket.on('drain', write);
    write();
  });

await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    while (left-- > 0) {
      const status = await send();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  }),
);
process.stdout.write(JSON.stringify(Object.fromEntries(statuses)));
process.exit(0);
