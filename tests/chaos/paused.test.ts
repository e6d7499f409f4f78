import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

/** Longer than a request may take to arrive. */
const pauseMs = 33_000;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('a hub that stands still for half a minute', () => {
  let hub: SpawnedHub;
  beforeAll(async () => {
    hub = await spawnHub({});
  });
  afterAll(() => hub?.close());

  async function open(): Promise<Socket> {
    const socket = connect(Number(new URL(hub.url).port), '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  }

  it('answers the requests that arrived meanwhile', async () => {
    const sockets = await Promise.all(Array.from({ length: 10 }, open));
    const hubs = JSON.stringify({ label: 'paused' });
    const head = `host: x\r\nx-service-api-key: ${hub.key}\r\nconnection: close\r\n`;
    // The hub has accepted them.
    await pause(500);
    process.kill(hub.pid, 'SIGSTOP');
    for (const [i, socket] of sockets.entries())
      socket.write(
        i % 2 === 0
          ? `GET /v1/hubs HTTP/1.1\r\n${head}\r\n`
          : `POST /v1/hubs HTTP/1.1\r\n${head}content-type: application/json\r\ncontent-length: ${hubs.length}\r\n\r\n${hubs}`,
      );
    await pause(pauseMs);
    const answers = sockets.map(async (socket) => {
      let text = '';
      for await (const bytes of socket) text += bytes;
      return text.slice(0, 'HTTP/1.1 200'.length);
    });
    process.kill(hub.pid, 'SIGCONT');
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['HTTP/1.1 200']));
  });
});
