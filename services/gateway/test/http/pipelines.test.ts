import { once } from 'node:events';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { createReadTurns } from '@datahub/service-kit/sliced-reads';
import { afterEach, expect, it } from 'vitest';
import { createListener } from '../../src/http/listener.ts';

const opened: { close(): unknown }[] = [];

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

/** Answers each request after `delay` with its path; `progress` holds the paths in progress. */
async function listen(delay: (path: string) => Promise<void>) {
  const started: string[] = [];
  let inProgress = 0;
  let most = 0;
  const server = createListener(async (request, response) => {
    started.push(request.url as string);
    most = Math.max(most, ++inProgress);
    for await (const _ of request);
    await delay(request.url as string);
    inProgress--;
    response.end(`${request.url}\r\n`);
  });
  server.listen(0, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  const open = () => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    opened.push({ close: () => socket.destroy() });
    return socket;
  };
  return { open, started, most: () => most };
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** The bodies of answers. Each ends with a line break. */
async function readAnswers(socket: Socket, count: number): Promise<string[]> {
  const paths: string[] = [];
  const body = /\r\n(\/[a-z]+\d*)\r\n/g;
  let text = '';
  for await (const bytes of socket) {
    text += bytes;
    for (let at = body.lastIndex, found = body.exec(text); ; at = body.lastIndex, found = body.exec(text)) {
      if (found === null) {
        body.lastIndex = at;
        break;
      }
      paths.push(found[1] as string);
    }
    if (paths.length === count) break;
  }
  return paths;
}

it('are answered in order, one after another, and other clients are served in between', async () => {
  const { open, started, most } = await listen(async () => {});
  const many = open();
  const paths = Array.from({ length: 2_000 }, (_, i) => `/p${i}`);
  many.write(paths.map(get).join(''));
  while (started.length === 0) await new Promise(setImmediate);
  const other = open();
  other.write(get('/other'));
  expect(await readAnswers(other, 1)).toEqual(['/other']);
  expect(started.length).toBeLessThan(1_000);
  expect(await readAnswers(many, 2_000)).toEqual(paths);
  expect(most()).toBeLessThanOrEqual(2);
});

it('are read no further than the ones that wait, however many a client sends', async () => {
  const server = createListener((_request, response) => void setImmediate(() => response.end('x')));
  let parsed = 0;
  let most = 0;
  const ended = Promise.withResolvers<void>();
  let answered = 0;
  server.on('request', (_request, response) => {
    most = Math.max(most, ++parsed - answered);
    response.on('close', () => ++answered === 5_000 && ended.resolve());
  });
  server.listen(0, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  opened.push({ close: () => socket.destroy() });
  socket.resume();
  socket.write(get('/a').repeat(20_000));
  await ended.promise;
  // Those of one slice of a read.
  expect(most).toBeLessThan(300);
});

it('end the connections that send them if too many wait, and answer the others', async () => {
  const held: (() => void)[] = [];
  const server = createListener((_request, response) => void held.push(() => response.end('x')));
  let [parsed, closed] = [0, 0];
  server.on('request', () => parsed++);
  server.listen(0, '127.0.0.1');
  opened.push(server);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (let i = 0; i < 100; i++) {
    const socket = connect(port, '127.0.0.1', () => socket.write(get('/a').repeat(200)));
    opened.push({ close: () => socket.destroy() });
    socket.on('error', () => {}).on('close', () => closed++);
    socket.resume();
  }
  await expect.poll(() => closed, { timeout: 20_000 }).toBeGreaterThan(0);
  expect(closed).toBeLessThan(100);
  // Those that wait, those of the connections that were closed, and one that runs on each.
  expect(parsed).toBeLessThan(4_096 + 100 * 150);
  const first = () => expect.poll(() => held.length, { timeout: 20_000 }).toBeGreaterThan(0);
  await first();
  for (const answer of held.splice(0)) answer();
  await first();
});

it('of many connections are read in turns', async () => {
  const mustWait = createReadTurns();
  const waits: string[] = [];
  const socketOf = (name: string) =>
    ({ pause: () => {}, unshift: () => {}, resume: () => waits.push(name) }) as unknown as Socket;
  const bytes = Buffer.from('x');
  expect(mustWait(socketOf('first'), bytes)).toBe(false);
  for (const end = performance.now() + 10; performance.now() < end; );
  const names = Array.from({ length: 40 }, (_, i) => `s${i}`);
  for (const name of names) expect(mustWait(socketOf(name), bytes)).toBe(true);
  expect(waits).toEqual([]);
  await expect.poll(() => waits.length, { interval: 1 }).toBeGreaterThanOrEqual(32);
  await expect.poll(() => waits).toEqual(names);
});

it('can have bodies, with a length and in chunks', async () => {
  const { open } = await listen(async () => {});
  const socket = open();
  const body = 'x'.repeat(100_000);
  socket.write(
    [
      `POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      `POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n186a0\r\n${body}\r\n0\r\n\r\n`,
      get('/c'),
      `POST /d HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ].join(''),
  );
  expect(await readAnswers(socket, 4)).toEqual(['/a', '/b', '/c', '/d']);
});

it('do not start when their client has left', async () => {
  let answer = () => {};
  const { open, started } = await listen((path) =>
    path === '/slow' ? new Promise((resolve) => (answer = resolve)) : Promise.resolve(),
  );
  const socket = open();
  socket.write(get('/slow') + get('/next').repeat(10));
  while (started.length === 0) await new Promise(setImmediate);
  socket.destroy();
  await new Promise((resolve) => setTimeout(resolve, 50));
  answer();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(started).toEqual(['/slow']);
});
