/** Finds a free TCP port on the loopback interface, for a server that is started next. */

import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ephemeral range, so that no outgoing connection takes the port in the meantime. */
const ports = { from: 10_000, to: 32_000 };
const triesMax = 100;

/** Returns a port that no other call returns while this process runs, in any process, even before the server listens. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < triesMax; tries++) {
    const port = randomInt(ports.from, ports.to);
    if ((await reserve(port)) && (await isFreePort(port))) return port;
  }
  throw new Error(`None of ${triesMax} ports between ${ports.from} and ${ports.to} is free.`);
}

/** Takes the UDP port of the same number, which the server does not need, until the process ends. */
async function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4');
  return await new Promise((resolve) => {
    socket.on('error', () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}

export async function isFreePort(port: number): Promise<boolean> {
  const server = createServer();
  const isFree = await new Promise<boolean>((resolve) => {
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
  if (!isFree) return false;
  server.close();
  await once(server, 'close');
  return true;
}
