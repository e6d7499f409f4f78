import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import Fastify from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { createListener } from '../../src/http/listener.ts';
import { createOpenBodies, parseForm } from '../../src/http/open-bodies.ts';

let server: Server | undefined;
const sockets: Socket[] = [];
const failures: (string | undefined)[] = [];
/** The lengths of the bodies that were read. */
const read: number[] = [];
afterEach(() => {
  failures.length = 0;
  read.length = 0;
  for (const socket of sockets.splice(0)) socket.destroy();
  server?.close();
});

/** A server that answers with the body, or with the error's code, once `work` is done. */
async function serve(bytesMax?: number, work?: Promise<void>): Promise<void> {
  const bodies = createOpenBodies(bytesMax);
  const app = Fastify({
    serverFactory: (handler) => {
      server = createListener(handler);
      return server;
    },
  });
  app.removeAllContentTypeParsers();
  app.decorateRequest('openBytes', 0);
  app.addContentTypeParser(
    'text/plain',
    bodies.as((text) => text),
  );
  app.addHook('onResponse', async (request) => bodies.release(request));
  app.setErrorHandler((err: { code?: string }, _request, reply) => {
    failures.push(err.code);
    return reply.send(err.code);
  });
  app.post('/', async ({ body }) => {
    read.push((body as string).length);
    await work;
    return (body as string).slice(0, 20);
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
}

/** Sends the beginning of a body; `framing` is the header field that says where it ends. */
function send(framing: string, sent: string): Socket {
  const { port } = (server as Server).address() as AddressInfo;
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {});
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\n${framing}\r\n\r\n${sent}`);
  return socket;
}

const begin = (length: number, sent: string) => send(`content-length: ${length}`, sent);

async function answerTo(socket: Socket): Promise<string> {
  const [data] = await once(socket, 'data');
  return String(data).split('\r\n\r\n')[1] ?? '';
}

it('reads the text of a body', async () => {
  await serve();
  expect(await answerTo(begin(5, 'müde'))).toBe('müde');
});

it('refuses a body that is too large, by its declared length or by what arrives', async () => {
  await serve();
  expect(await answerTo(begin(65_537, ''))).toBe('TOO_LARGE');
  const chunked = send('transfer-encoding: chunked', `20000\r\n${'x'.repeat(0x20000)}\r\n0\r\n\r\n`);
  expect(await answerTo(chunked)).toBe('TOO_LARGE');
});

it('ends the body that began first when all together are too many, and reads the others', async () => {
  await serve(100_000);
  const slow: Socket[] = [];
  const ended: number[] = [];
  for (let i = 0; i < 4; i++) {
    const socket = begin(50_000, 'x'.repeat(40_000));
    slow.push(socket);
    void answerTo(socket).then((answer) => answer === 'UNAVAILABLE' && ended.push(i));
    // The order in which the bodies begin is the order of these answers.
    expect(await answerTo(begin(3, 'one'))).toBe('one');
  }
  await expect.poll(() => ended).toEqual([0, 1]);
  slow[3]?.write('x'.repeat(10_000));
  expect(await answerTo(slow[3] as Socket)).toBe('x'.repeat(20));
});

it('counts bodies until they are answered', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  await serve(100_000, promise);
  const waiting = [begin(40_000, 'x'.repeat(40_000)), begin(40_000, 'x'.repeat(40_000))].map(answerTo);
  await expect.poll(() => read).toHaveLength(2);
  expect(await answerTo(begin(40_000, 'y'.repeat(40_000)))).toBe('UNAVAILABLE');
  resolve();
  expect(await Promise.all(waiting)).toEqual(Array(2).fill('x'.repeat(20)));
  expect(await answerTo(begin(60_000, 'z'.repeat(60_000)))).toBe('z'.repeat(20));
});

it('reads no form with thousands of parameters', () => {
  expect(parseForm('a=1&b=2').get('b')).toBe('2');
  expect(() => parseForm('a&'.repeat(30_000))).toThrow(/at most 1000 parameters/);
});

it('says of a client that leaves in the middle of a body that it has left', async () => {
  await serve();
  const left = begin(50_000, 'x');
  expect(await answerTo(begin(3, 'one'))).toBe('one');
  left.destroy();
  await expect.poll(() => failures).toEqual(['CANCELLED']);
});
