import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { heldBytes } from '../../../../tests/support/memory.ts';
import { Carry, openSocket, readInPlace } from '../../src/network/shared-read-buffer.ts';

/** Messages of a length and then as many bytes, as they are found in a stream. */
class Messages {
  readonly found: string[] = [];
  readonly #carry = new Carry();

  push(bytes: Buffer): void {
    const source = this.#carry.join(bytes);
    if (source === undefined) return;
    let at = 0;
    let needed = 0;
    while (source.length - at >= 4) {
      needed = 4 + source.readUInt32BE(at);
      if (at + needed > source.length) break;
      this.found.push(source.toString('latin1', at + 4, at + needed));
      at += needed;
      needed = 0;
    }
    if (at < source.length) this.#carry.keep(source, at, needed);
  }
}

function toMessage(text: string): Buffer {
  const header = Buffer.alloc(4);
  header.writeUInt32BE(text.length);
  return Buffer.concat([header, Buffer.from(text, 'latin1')]);
}

/** A server that says what it is told to, and a socket to it for each. */
async function connectPairs(count: number) {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pairs: { socket: Socket; peer: Socket }[] = [];
  for (let i = 0; i < count; i++) {
    const accepted = once(server, 'connection');
    const socket = openSocket({ host: '127.0.0.1', port });
    const [peer] = (await accepted) as [Socket];
    pairs.push({ socket, peer });
  }
  return { pairs, [Symbol.dispose]: () => server.close() };
}

const text = (letter: string, length: number) => letter.repeat(length);

test('sockets that read at the same time get their own messages, whole, however they are cut', async () => {
  using given = await connectPairs(4);
  const told = await Promise.all(
    given.pairs.map(async ({ socket, peer }, i) => {
      const letter = 'abcd'[i] as string;
      const lengths = [
        3,
        70_000,
        0,
        200_000,
        1,
        65_530,
        65_540,
        ...Array.from({ length: 300 }, (_, n) => n * 7),
      ];
      const messages = lengths.map((length) => text(letter, length));
      const reader = new Messages();
      readInPlace(socket, (bytes) => reader.push(bytes));
      const stream = Buffer.concat(messages.map(toMessage));
      for (let at = 0; at < stream.length; ) {
        const next = at + 1 + ((at * 31) % 9_973);
        peer.write(stream.subarray(at, next));
        at = next;
        if (at % 3 === 0) await new Promise(setImmediate);
      }
      peer.end();
      await once(socket, 'close');
      return { found: reader.found, messages };
    }),
  );
  for (const { found, messages } of told) expect(found).toEqual(messages);
});

test('bytes that arrive before readInPlace are kept, and delivered first', async () => {
  using given = await connectPairs(2);
  const [early, other] = given.pairs as [{ socket: Socket; peer: Socket }, { socket: Socket; peer: Socket }];
  early.peer.write('greeting');
  await once(early.socket, 'readable');
  // Goes into the space that the greeting was read into.
  const taken: string[] = [];
  readInPlace(other.socket, (bytes) => taken.push(bytes.toString()));
  other.peer.end('something else');
  await once(other.socket, 'close');
  const found: string[] = [];
  readInPlace(early.socket, (bytes) => found.push(bytes.toString()));
  early.peer.end(', rest');
  await once(early.socket, 'close');
  expect({ early: found.join(''), other: taken.join('') }).toEqual({
    early: 'greeting, rest',
    other: 'something else',
  });
});

test('a socket that is paused reads no more until it is resumed', async () => {
  using given = await connectPairs(1);
  const [{ socket, peer }] = given.pairs as [{ socket: Socket; peer: Socket }];
  let bytes = 0;
  readInPlace(socket, (chunk) => {
    bytes += chunk.length;
    socket.pause();
  });
  peer.write(Buffer.alloc(8_000_000));
  await expect.poll(() => bytes).toBeGreaterThan(0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const paused = bytes;
  expect(paused).toBeLessThanOrEqual(262_144);
  const resuming = setInterval(() => socket.resume(), 1);
  await expect.poll(() => bytes, { timeout: 60_000 }).toBe(8_000_000);
  clearInterval(resuming);
  socket.destroy();
});

test('messages come out of a stream as they went in, wherever it is cut', () => {
  const cut = fc.array(fc.integer({ min: 1, max: 90_000 }), { maxLength: 20 });
  const lengths = fc.array(fc.oneof(fc.integer({ max: 50, min: 0 }), fc.integer({ min: 0, max: 140_000 })), {
    maxLength: 12,
  });
  fc.assert(
    fc.property(lengths, cut, (sizes, cuts) => {
      const messages = sizes.map((size, i) => text(String.fromCharCode(97 + i), size));
      let stream = Buffer.concat(messages.map(toMessage));
      const reader = new Messages();
      for (const size of [...cuts, Number.POSITIVE_INFINITY]) {
        const bytes = Buffer.from(stream.subarray(0, size));
        stream = stream.subarray(size);
        if (bytes.length > 0) reader.push(bytes);
        // Nobody may lean on bytes that were handed over.
        bytes.fill(0xff);
      }
      expect(reader.found).toEqual(messages);
    }),
    { numRuns: 200 },
  );
});

test('the start of a message takes no more memory if it comes byte by byte', () => {
  const message = toMessage(text('a', 200_000));
  const reader = new Messages();
  const before = heldBytes();
  for (let at = 0; at < message.length - 1; at++) reader.push(message.subarray(at, at + 1));
  expect(heldBytes() - before).toBeLessThan(2_000_000);
  reader.push(message.subarray(-1));
  expect(reader.found).toEqual([text('a', 200_000)]);
});

test('frees what has arrived of a long message when the connection closes', () => {
  const long = 8_388_608;
  const carry = new Carry(long);
  const before = process.memoryUsage().arrayBuffers;
  carry.keep(Buffer.alloc(4), 0, 3 * long);
  expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(long);
  carry.close();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(long / 2);
});
