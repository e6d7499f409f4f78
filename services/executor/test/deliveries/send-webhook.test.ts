import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendWebhook } from '../../src/deliveries/send-webhook.ts';
import type { Dial } from '../../src/network/dialer.ts';

it('is sent only over the connection that the rules for addresses allowed', async () => {
  let received = '';
  const server = createServer((socket) => {
    socket.on('data', (bytes) => {
      received += bytes;
      socket.end('HTTP/1.1 204 No Content\r\n\r\n');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const asked: string[] = [];
  const dial: Dial = async (host, port) => {
    asked.push(`${host}:${port}`);
    const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  // Nothing listens at this name, so a connection of its own would fail.
  const webhook = {
    id: 'one',
    url: 'http://receiver.invalid:9/told?by=hub',
    body: '{}',
    secrets: ['whsec_QUJD'],
  };
  const status = await sendWebhook(webhook, { dial, signal: AbortSignal.timeout(30_000), nowMs: Date.now });
  expect([status, asked]).toEqual([204, ['receiver.invalid:9']]);
  expect(received).toMatch(/^POST \/told\?by=hub HTTP\/1\.1\r\nhost: receiver\.invalid:9\r\n/);
});
