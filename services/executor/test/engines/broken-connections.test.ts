/** Each way in which a socket or TLS can fail while an engine connects is the fault of the source, not of the hub. */

import type { Socket } from 'node:net';
import type { EngineName } from '@datahub/contract/engines';
import { expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import { createDial } from '../../src/network/dialer.ts';
import { settingsOf } from '../fixture.ts';
import { startRogue } from '../hostile/rogue.ts';

const engines: EngineName[] = ['postgres', 'mysql', 'mariadb', 'mongodb'];

const check = async () => [{ address: '127.0.0.1', family: 4 as const }];
const dial = createDial({ policy: { check } as never, accountId: 'a', connectTimeoutMs: 20_000 });
/** MySQL's clients wait for the server's greeting, and get a part of one. */
const greeting = Buffer.from([0x4a, 0, 0, 0, 10, 56]);
const answering = (answer: (socket: Socket) => void) => (socket: Socket) =>
  void socket.once('data', () => answer(socket));
const plays: [string, (socket: Socket) => void][] = [
  ['is reset at once', (socket) => socket.resetAndDestroy()],
  ['ends at once', (socket) => socket.end()],
  ['is reset after the first bytes', answering((socket) => socket.resetAndDestroy())],
  ['ends after the first bytes', answering((socket) => socket.end())],
  ['ends in a greeting', (socket) => socket.end(greeting)],
  ['is reset in a greeting', (socket) => socket.write(greeting, () => socket.resetAndDestroy())],
  ['is silent', () => {}],
  ['carries another protocol', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
  [
    'fails in the handshake of TLS',
    // PostgreSQL's yes to TLS, then an alert "handshake failure" to any client.
    answering((socket) => {
      socket.write('S');
      socket.once('data', () => socket.end(Buffer.from([21, 3, 3, 0, 2, 2, 40])));
    }),
  ],
];

/** The error of a connection to a server that does this. Some of the plays wait for the other side, too. */
async function failureOf(engine: EngineName, play: (socket: Socket) => void, mode: 'disable' | 'require') {
  const server = await startRogue(play);
  const settings = settingsOf(engine, `x://u:p@127.0.0.1:${server.port}/d`);
  const opening = createEngines()[engine].connect(
    { ...settings, tls: { mode } },
    { dial, signal: AbortSignal.timeout(500) },
  );
  const failure = await opening.catch((err) => err);
  server.close();
  return failure;
}

const ofSource = { name: 'HubError', code: expect.stringMatching(/^SOURCE_(UNREACHABLE|TLS)$/) };

it.each(engines)('a broken connection to %s is a fault of the source', async (engine) => {
  const failures = plays.flatMap(([name, play]) =>
    (['disable', 'require'] as const).map(async (mode) => [
      `${name}, TLS ${mode}`,
      await failureOf(engine, play, mode),
    ]),
  );
  for (const [name, failure] of await Promise.all(failures)) expect(failure, name).toMatchObject(ofSource);
});
