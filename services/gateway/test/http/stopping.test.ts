import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Connections, watchConnections } from '../../src/http/listener.ts';

const request = 'GET / HTTP/1.1\r\nhost: a\r\n\r\n';
const idleMax = 5;
let answer: RequestListener;
let server: ReturnType<typeof createServer>;
let connections: Connections;
const sockets: Socket[] = [];

beforeEach(async () => {
  answer = (_request, response) => response.end('ok');
  server = createServer((...call) => answer(...call));
  connections = watchConnections(server, idleMax);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
});

/** A client with an open connection on which one request was answered; and what it gets until its end. */
async function openClient() {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').setEncoding('utf8');
  sockets.push(socket);
  const got: string[] = [];
  const ended = new Promise<string>((resolve) => {
    socket.on('close', () => resolve(got.join('')));
    socket.on('error', ({ message }) => got.push(message));
  });
  socket.write(request);
  const [first] = await once(socket, 'data');
  expect(first).toMatch(/connection: keep-alive/i);
  socket.on('data', (text: string) => got.push(text));
  return { socket, ended };
}

describe('a server that stops', () => {
  it('answers a request that had arrived and was not read', async () => {
    const { socket, ended } = await openClient();
    socket.write(request);
    const drained = connections.drain();
    expect(await ended).toMatch(/^HTTP\/1.1 200 OK.*connection: close.*ok$/is);
    await drained;
  });

  it('answers the next request of a client that is busy, and closes the connection with it', async () => {
    const { socket, ended } = await openClient();
    const drained = connections.drain();
    await sleep(60);
    socket.write(request);
    expect(await ended).toMatch(/^HTTP\/1.1 200 OK.*connection: close.*ok$/is);
    await drained;
  });

  it('waits for an answer that is under way', async () => {
    const { socket, ended } = await openClient();
    const asked = Promise.withResolvers<() => void>();
    answer = (_request, response) => asked.resolve(() => response.end('late'));
    socket.write(request);
    const finish = await asked.promise;
    expect(connections.inFlight()).toBe(1);
    const drained = connections.drain();
    await sleep(400);
    finish();
    expect(await ended).toMatch(/connection: close.*late$/is);
    await drained;
    expect(connections.inFlight()).toBe(0);
  });

  it('closes connections that are idle', async () => {
    const { ended } = await openClient();
    await connections.drain();
    expect(await ended).toBe('');
  });
});

it('closes the connection that has been idle for longest if too many are, and none with a request', async () => {
  const asked = Promise.withResolvers<() => void>();
  const busy = await openClient();
  answer = (_request, response) => asked.resolve(() => response.end('late'));
  busy.socket.write(request);
  const finish = await asked.promise;
  answer = (_request, response) => response.end('ok');
  const clients = [];
  for (let i = 0; i < idleMax; i++) clients.push(await openClient());
  const [first, second] = clients as [typeof busy, typeof busy];
  first.socket.write(request);
  await once(first.socket, 'data');
  await openClient();
  expect(await second.ended).toBe('');
  expect(clients.map(({ socket }) => socket.destroyed)).toEqual([false, true, false, false, false]);
  finish();
  await once(busy.socket, 'data');
  expect(busy.socket.destroyed).toBe(false);
});
