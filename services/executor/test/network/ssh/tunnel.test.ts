import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import type { ServerChannel } from 'ssh2';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { heldBytes } from '../../../../../tests/support/memory.ts';
import { createAddressPolicy } from '../../../src/network/address-policy.ts';
import { createDial } from '../../../src/network/dialer.ts';
import { connectToBastion } from '../../../src/network/ssh/connection.ts';
import { createTunnelDial, Tunnel } from '../../../src/network/ssh/tunnel.ts';
import type { SshSettings } from '../../../src/ports/engine.ts';
import type { ServerStream } from '../../../src/ports/server-stream.ts';
import { type BastionOptions, startBastion, type TestBastion } from './bastion.ts';

const policy = createAddressPolicy(
  { loopbackAllowed: true, privateAllowed: true, allow: [], deny: [], ownNames: [] },
  async () => ['127.0.0.1'],
);
const { signal } = new AbortController();

describe('a tunnel', () => {
  let echo: Server;
  let echoPort: number;
  let bastion: TestBastion | undefined;
  const opened: ServerStream[] = [];

  beforeEach(async () => {
    echo = createServer((socket) => socket.on('error', () => {}).pipe(socket));
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    echoPort = (echo.address() as AddressInfo).port;
  });
  afterEach(async () => {
    vi.useRealTimers();
    for (const stream of opened.splice(0)) stream.destroy();
    await bastion?.close();
    bastion = undefined;
    echo.close();
  });

  async function setup(
    options: Partial<BastionOptions> = {},
    change: Partial<SshSettings> = {},
    connectTimeoutMs = 10_000,
  ) {
    const started = await startBastion({ password: 'right', ...options });
    bastion = started;
    const { port, fingerprint: hostKey } = started;
    const settings = { host: '127.0.0.1', port, user: 'hub', hostKey, password: 'right', ...change };
    const dial = createDial({ policy, accountId: 'a', connectTimeoutMs });
    const tunnel = new Tunnel();
    const logIn = (bound: AbortSignal) => connectToBastion(settings, { dial, signal: bound });
    const through = createTunnelDial({ tunnel, open: logIn, policy, connectTimeoutMs });
    const open = async (port = echoPort, host = 'db.internal') => {
      const stream = await through(host, port, { signal });
      stream.on('error', () => {});
      opened.push(stream);
      return stream;
    };
    return { bastion: started, open };
  }

  const answer = async (stream: ServerStream, text: string) => {
    stream.write(text);
    const [bytes] = (await once(stream, 'data')) as [Buffer];
    return bytes.toString();
  };

  it('carries many streams over one connection, and closes it with the last of them', async () => {
    const { bastion, open } = await setup();
    const streams = await Promise.all([open(), open(), open()]);
    expect(await Promise.all(streams.map((stream, i) => answer(stream, `n${i}`)))).toEqual([
      'n0',
      'n1',
      'n2',
    ]);
    expect(bastion.accepted).toBe(1);
    for (const stream of streams.slice(1)) stream.destroy();
    expect(await answer(streams[0] as ServerStream, 'still')).toBe('still');
    (streams[0] as ServerStream).destroy();
    await expect.poll(() => bastion.sockets.size).toBe(0);
    expect(await answer(await open(), 'again')).toBe('again');
    expect(bastion.accepted).toBe(2);
  });

  it('ends all its streams when it breaks, and is opened again', async () => {
    const { bastion, open } = await setup();
    const streams = await Promise.all([open(), open()]);
    const closed = Promise.all(streams.map((stream) => once(stream, 'close')));
    for (const socket of bastion.sockets) socket.destroy();
    await closed;
    expect(await answer(await open(), 'again')).toBe('again');
  });

  it('ends when the bastion falls silent', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { bastion, open } = await setup();
    const stream = await open();
    const closed = once(stream, 'close');
    for (const socket of bastion.sockets) socket.pause();
    vi.advanceTimersByTime(20_000);
    await closed;
  });

  it('ends a stream when the server does, with all that it sent before', async () => {
    const talker = createServer((socket) => socket.end('x'.repeat(300_000)));
    await once(talker.listen(0, '127.0.0.1'), 'listening');
    const { open } = await setup();
    const stream = await open((talker.address() as AddressInfo).port);
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    await once(stream, 'close');
    expect(bytes).toBe(300_000);
    talker.close();
  });

  it('holds a server back while nobody reads', async () => {
    let sent = 0;
    let flooding: Socket | undefined;
    const talker = createServer((socket) => {
      flooding = socket.on('error', () => {});
      const more = () => {
        while (socket.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      socket.on('drain', more);
      more();
    });
    await once(talker.listen(0, '127.0.0.1'), 'listening');
    const { open } = await setup();
    const stream = await open((talker.address() as AddressInfo).port);
    stream.pause();
    let before = -1;
    const isStill = () => {
      const last = before;
      before = sent;
      return sent > 0 && sent === last;
    };
    await expect.poll(isStill, { interval: 200 }).toBe(true);
    // The window of the channel, and the buffers of the bastion and of TCP.
    expect(sent).toBeLessThan(20 * 1024 * 1024);
    stream.on('data', () => {}).resume();
    await expect.poll(() => sent).toBeGreaterThan(before + 8 * 1024 * 1024);
    flooding?.destroy();
    talker.close();
  });

  it('keeps what nobody reads yet without the packets in which it came', async () => {
    const packets = Array.from({ length: 12_000 }, (_, i) => Buffer.from(String(10_000_000 + i)));
    const { open } = await setup({
      onChannel: async (channel) => {
        channel.on('error', () => {});
        for (const [i, packet] of packets.entries()) {
          channel.write(packet);
          if (i % 100 === 0) await new Promise(setImmediate);
        }
      },
    });
    const before = heldBytes();
    const stream = (await open()) as ServerStream & { unreadBytes: number };
    stream.pause();
    await expect.poll(() => stream.unreadBytes, { interval: 100 }).toBeGreaterThan(25_000);
    // Each packet takes 330 bytes by itself.
    expect(heldBytes() - before).toBeLessThan(1_500_000);
    const parts: Buffer[] = [];
    stream.on('data', (bytes: Buffer) => parts.push(bytes)).resume();
    const all = Buffer.concat(packets);
    await expect.poll(() => Buffer.concat(parts).length).toBe(all.length);
    expect(Buffer.concat(parts).equals(all)).toBe(true);
  });

  it('closes the connection of a bastion that sends beyond its window', async () => {
    // The library's server keeps to the window that it believes to have.
    const flood = (channel: ServerChannel) => {
      (channel as unknown as { outgoing: { window: number } }).outgoing.window = 64 * 1024 * 1024;
      channel.on('error', () => {});
      // The library drops what arrives when the window is exactly 0, so the pieces are odd.
      for (let i = 0; i < 1_000; i++) channel.write(Buffer.alloc(30_001));
    };
    const { open } = await setup({ onChannel: flood });
    const stream = await open();
    stream.pause();
    await once(stream, 'close');
  });

  it('closes the connection of a bastion whose packets have hardly any data', async () => {
    let isOver = false;
    const flood = (channel: ServerChannel) => {
      channel.on('error', () => {});
      const more = () => {
        for (let i = 0; i < 500; i++) channel.write('x');
        if (!isOver) setImmediate(more);
      };
      more();
    };
    const { open } = await setup({ onChannel: flood });
    const stream = await open();
    stream.resume();
    await once(stream, 'close');
    // The channel of the server is not told that its connection is gone, and keeps what is written.
    isOver = true;
  });

  it.each<[string, Partial<SshSettings>, string, string]>([
    ['a wrong password', { password: 'wrong' }, 'SOURCE_AUTH', 'refused the log-in'],
    ['another host key', { hostKey: `SHA256:${'A'.repeat(43)}` }, 'SOURCE_TLS', 'another host key'],
    [
      'a host key of another type',
      { hostKey: 'ssh-rsa AAAAB3NzaC1yc2EAAA' },
      'SOURCE_TLS',
      'no key of that type',
    ],
    ['a stored host key that is none', { hostKey: 'x' }, 'SOURCE_TLS', 'another host key'],
    [
      'a key that cannot be read',
      { privateKey: 'PEM?', password: undefined },
      'SOURCE_AUTH',
      'cannot be read',
    ],
    ['a closed port', { port: 1 }, 'SOURCE_UNREACHABLE', 'cannot be reached'],
    ['a forbidden address', { host: '169.254.1.1' }, 'SOURCE_UNREACHABLE', 'cannot be reached'],
  ])('fails with a reason at %s', async (_, change, code, text) => {
    const { open } = await setup({}, change);
    const err = await open().catch((failure) => failure);
    expect(err).toBeInstanceOf(HubError);
    expect([err.code, err.stage]).toEqual([code, 'connect']);
    expect(err.message).toContain(text);
  });

  it('gives up on a bastion that accepts connections and says nothing', async () => {
    const silent = createServer((socket) => socket.on('error', () => {}));
    await once(silent.listen(0, '127.0.0.1'), 'listening');
    const { port } = silent.address() as AddressInfo;
    const { open } = await setup({}, { port }, 300);
    await expect(open()).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      message: expect.stringContaining('The bastion of the source cannot be reached.'),
    });
    silent.close();
  });

  it('fails at a server that speaks no SSH like at one that is closed', async () => {
    const { open } = await setup({}, { port: echoPort });
    await expect(open()).rejects.toMatchObject({
      code: 'SOURCE_UNREACHABLE',
      message: expect.stringContaining('The bastion of the source cannot be reached.'),
    });
  });

  it('dials no address behind the bastion that no setting allows', async () => {
    const { bastion, open } = await setup();
    for (const host of ['169.254.169.254', 'fd00:ec2::254', '0xa9fea9fe', '2852039166', '::ffff:169.254.1.1'])
      await expect(open(echoPort, host)).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    expect(bastion.accepted).toBe(0);
    for (const host of ['127.0.0.1', '10.0.0.1', 'localhost', '::1'])
      expect(await answer(await open(echoPort, host), host)).toBe(host);
  });
});
