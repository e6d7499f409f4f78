import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { sendWebhook } from '../../src/deliveries/send-webhook.ts';
import { createAddressPolicy } from '../../src/network/address-policy.ts';
import { createDial, type Dial } from '../../src/network/dialer.ts';
import { requestOver } from '../../src/network/http-request.ts';
import { openSocket } from '../../src/network/shared-read-buffer.ts';

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

it('is sent to the address that was checked, and to none if the name has another one by then', async () => {
  const server = createServer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const answers = [['8.8.8.8'], ['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['::ffff:169.254.169.254']];
  let asked = 0;
  const settings = { loopbackAllowed: false, privateAllowed: false, allow: [], deny: [], ownNames: [] };
  const policy = createAddressPolicy(settings, async () => answers[asked++] ?? []);
  const dialled: string[] = [];
  const send = () => {
    const connectTo = ({ address }: { address: string }): Socket => {
      dialled.push(address);
      return connect((server.address() as AddressInfo).port, '127.0.0.1');
    };
    const dial = createDial({ policy, accountId: 'a', connectTimeoutMs: 10_000, connect: connectTo });
    const webhook = { id: 'one', url: 'http://receiver.example/', body: '{}', secrets: ['whsec_QUJD'] };
    return sendWebhook(webhook, { dial, signal: AbortSignal.timeout(30_000), nowMs: Date.now });
  };
  expect(await send()).toBe(204);
  for (let i = 1; i < answers.length; i++)
    await expect(send()).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
  expect([asked, dialled]).toEqual([answers.length, ['8.8.8.8']]);
});

it.each(['100 Continue', '103 Early Hints'])(
  'fails at a receiver that answers %s without an end',
  async (line) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      const more = () => {
        if (!socket.destroyed) socket.write(`HTTP/1.1 ${line}\r\n\r\n`.repeat(50), () => setImmediate(more));
      };
      socket.once('data', more);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    const dial: Dial = async () => {
      const socket: Socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(socket, 'connect');
      return socket;
    };
    const webhook = { id: 'one', url: 'http://receiver.invalid/', body: '{}', secrets: ['whsec_QUJD'] };
    const sent = sendWebhook(webhook, { dial, signal: AbortSignal.timeout(30_000), nowMs: Date.now });
    await expect(sent).rejects.toThrow('too many interim answers');
  },
);

it('parses little of what comes after too many interim answers', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.write('HTTP/1.1 100 \r\n\r\n'.repeat(3_000)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const socket = openSocket({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  await once(socket, 'connect');
  let answers = 0;
  const sent = requestOver(socket, new URL('http://receiver.invalid/'), { headers: {} });
  sent.on('continue', () => answers++).end();
  await expect(once(sent, 'response')).rejects.toThrow('too many interim answers');
  expect(answers).toBeLessThan(100);
});
