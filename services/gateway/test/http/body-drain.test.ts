import { once } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { heldBytes } from '../../../../tests/support/memory.ts';
import { createBodyDrain } from '../../src/http/bodies.ts';
import { createListener } from '../../src/http/listener.ts';
import { readChunks } from '../../src/rows/streamed-body.ts';

let server: Server;
afterEach(() => server?.close());

/** Sends a body of a megabyte, which `read` refuses, and a second request. Returns the answers. */
async function sendTwo(read: (request: IncomingMessage) => Promise<void>): Promise<string> {
  const drain = createBodyDrain();
  server = createListener(async (request, response) => {
    if (request.url === '/second') return response.end('second');
    await read(request);
    drain(request);
    return response.end('first, ');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let answers = '';
  socket.on('data', (data) => {
    answers += data;
  });
  const body = 'x'.repeat(1_000_000);
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  socket.write('GET /second HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n');
  await once(socket, 'close');
  return answers.replaceAll(/HTTP[\s\S]*?\r\n\r\n/g, '');
}

/** Waits until Node stops reading from the socket. */
async function fillBuffer(request: IncomingMessage): Promise<void> {
  while (request.readableLength < request.readableHighWaterMark) await nextIteration();
}

it('reads a body that was not read', async () => {
  expect(await sendTwo(async () => {})).toBe('first, second');
});

it('reads a body whose buffer is full', async () => {
  const answers = await sendTwo(async (request) => {
    request.read(0);
    await fillBuffer(request);
  });
  expect(answers).toBe('first, second');
});

it('reads the rest of a body whose reader stops while the buffer is full', async () => {
  const answers = await sendTwo(async (request) => {
    for await (const _ of readChunks({
      body: request,
      context: { requireCaller: async () => {}, renewDeadline: () => {} },
    } as never)) {
      await fillBuffer(request);
      break;
    }
  });
  expect(answers).toBe('first, second');
});

it('holds nothing of bodies whose clients left before they were refused', async () => {
  const drain = createBodyDrain();
  const clients = 200;
  let refused = 0;
  server = createListener(async (request) => {
    request.on('error', () => {});
    request.read(0);
    await fillBuffer(request);
    request.socket.destroy();
    await new Promise((resolve) => request.once('close', resolve));
    drain(request);
    refused++;
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const before = heldBytes();
  for (let i = 1; i <= clients; i++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000\r\n\r\n${'x'.repeat(100_000)}`);
    await once(socket, 'close');
  }
  await expect.poll(() => refused).toBe(clients);
  // The buffers of each take 64 KiB.
  expect(heldBytes() - before).toBeLessThan(clients * 16_384);
});
