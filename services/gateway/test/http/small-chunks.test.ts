import { once } from 'node:events';
import type { RequestListener, Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { JsonBody } from '../../src/http/json-body.ts';
import { createListener } from '../../src/http/listener.ts';

let server: Server;
afterEach(() => server?.close());

async function listen(listener: RequestListener): Promise<number> {
  server = createListener(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const keptHead = 'POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n';
const head = keptHead.replace('Host', 'Connection: close\r\nHost');
const toChunks = (text: string) => `${[...text].map((char) => `1\r\n${char}\r\n`).join('')}0\r\n\r\n`;

async function send(port: number, text: string, start = head): Promise<string> {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.write(start + toChunks(text));
  await new Promise((resolve) => socket.on('close', resolve));
  return answer;
}

/** Answers with the number of buffers, and with the body. */
const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request
    .on('data', (chunk) => chunks.push(chunk))
    .on('end', () => {
      response.end(`${chunks.length} ${Buffer.concat(chunks)}`);
    });
};

it('a body in chunks of one byte becomes few buffers with the same bytes', async () => {
  const text = Array.from({ length: 4_000 }, (_, i) => i % 10).join('');
  const answer = await send(await listen(echo), text);
  const [, buffers, body] = /\r\n\r\n(\d+) (\d+)$/.exec(answer) ?? [];
  expect(body).toBe(text);
  expect(Number(buffers)).toBeLessThan(50);
});

it('one read of small chunks is parsed in several turns of the event loop', async () => {
  let turns = 0;
  const port = await listen((request, response) => {
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    request.resume().on('end', () => {
      isOver = true;
      response.end();
    });
  });
  await send(port, ' '.repeat(4_000));
  expect(turns).toBeGreaterThan(5);
});

it('larger chunks between small ones keep their place', async () => {
  const port = await listen(echo);
  const large = 'L'.repeat(3_000);
  const small = toChunks('s'.repeat(600)).slice(0, -5);
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (data) => {
    answer += data;
  });
  socket.write(`${head}${small}${large.length.toString(16)}\r\n${large}\r\n${small}0\r\n\r\n`);
  await once(socket, 'close');
  expect(answer).toContain(` ${'s'.repeat(600)}${large}${'s'.repeat(600)}`);
});

it('too many small chunks are refused, and the connection is closed before their end', async () => {
  let received = 0;
  const port = await listen((request) => {
    request.on('data', (chunk) => {
      received += chunk.length;
    });
  });
  const answer = await send(port, ' '.repeat(200_000));
  expect(received).toBeLessThan(10_000);
  // The client may lose the answer, because the hub does not read the rest.
  if (answer !== '') expect(answer).toMatch(/^HTTP\/1\.1 400 [\s\S]*less than 8 bytes on average/);
});

it('small chunks after an answer that did not wait for them close the connection', async () => {
  const port = await listen((_request, response) => {
    response.end('no');
  });
  // The client may lose the answer, because the hub does not read the rest.
  expect(await send(port, ' '.repeat(200_000), keptHead)).toMatch(/^(HTTP\/1\.1 200 |$)/);
});

it('only so many connections wait for their turn, and the others are closed', async () => {
  const port = await listen((request, response) => {
    request.resume().on('end', () => response.end('read'));
  });
  /** Opens the connections first, so that one turn of the event loop reads from all of them. */
  const countRead = async (connections: number): Promise<number> => {
    let accepted = 0;
    const allAccepted = new Promise<void>((resolve) => {
      server.on('connection', () => ++accepted === connections && resolve());
    });
    const sockets = Array.from({ length: connections }, () =>
      connect(port, '127.0.0.1').on('error', () => {}),
    );
    await Promise.all([allAccepted, ...sockets.map((socket) => once(socket, 'connect'))]);
    const answers = sockets.map(async (socket) => {
      let answer = '';
      socket.on('data', (data) => {
        answer += data;
      });
      socket.write(head + toChunks(' '.repeat(1_000)));
      await new Promise((resolve) => socket.on('close', resolve));
      return answer;
    });
    return (await Promise.all(answers)).filter((answer) => answer.startsWith('HTTP/1.1 200 ')).length;
  };
  expect(await countRead(100)).toBe(100);
  const read = await countRead(400);
  expect(read).toBeGreaterThanOrEqual(256);
  expect(read).toBeLessThan(400);
});

it('a JSON body keeps its bytes in one buffer, not in one for each chunk', () => {
  const text = JSON.stringify({ text: 'ü'.repeat(5_000), list: [1, 2.5, null] });
  const body = new JsonBody();
  const one = Buffer.alloc(1);
  // The same buffer carries every byte, so a body that keeps its chunks would hold the last byte alone.
  const bytes = Buffer.from(text);
  body.push(Buffer.from(bytes.subarray(0, 1)));
  for (const byte of bytes.subarray(1)) {
    one[0] = byte;
    body.push(one);
  }
  expect(body.end().value).toEqual(JSON.parse(text));
});
