/** A server that accepts the log-in and refuses the set-up of the session is told apart from one that refuses the log-in. */

import type { Socket } from 'node:net';
import type { EngineName } from '@datahub/contract/engines';
import { afterEach, describe, expect, it } from 'vitest';
import { createEngines } from '../../src/engines/index.ts';
import { SetUpFailed } from '../../src/ports/engine.ts';
import { dial, settingsOf } from '../fixture.ts';
import { cut, type Rogue, startRogue } from '../hostile/rogue.ts';
import { packet, perform } from '../hostile/rogue-mysql.ts';
import { message, ready, welcome } from '../hostile/rogue-postgres.ts';

/** An answer to the first command after the log-in. Undefined closes the connection. */
interface Refusal {
  state: string;
  text: string;
}

function mysqlPlay(refusal: Refusal | undefined) {
  const fail = (socket: Socket) =>
    refusal === undefined
      ? socket.destroy()
      : socket.write(packet(1, [0xff, 0x28, 0x04], `#${refusal.state}${refusal.text}`));
  return perform({ command: fail });
}

function postgresPlay(refusal: Refusal | undefined) {
  return (socket: Socket) => {
    let isStarted = false;
    const lengthOf = (bytes: Buffer) => {
      if (bytes.length < 5) return 0;
      return isStarted ? 1 + bytes.readInt32BE(1) : bytes.readInt32BE(0);
    };
    cut(socket, lengthOf, () => {
      if (!isStarted) socket.write(welcome);
      else if (refusal === undefined) socket.destroy();
      else {
        const { state, text } = refusal;
        socket.write(Buffer.concat([message('E', `SERROR\0C${state}\0M${text}\0\0`), ready]));
      }
      isStarted = true;
    });
  };
}

const engines: [EngineName, (refusal: Refusal | undefined) => (socket: Socket) => void, string][] = [
  ['postgres', postgresPlay, '08P01'],
  ['mysql', mysqlPlay, '28000'],
  ['mariadb', mysqlPlay, '28000'],
];

describe.each(engines)('%s', (engine, play, deniedState) => {
  let server: Rogue;
  afterEach(() => server.close());

  const connectionError = async (refusal: Refusal | undefined) => {
    server = await startRogue(play(refusal));
    const settings = settingsOf(engine, `x://u:p@127.0.0.1:${server.port}/d`);
    return createEngines()
      [engine].connect(
        { ...settings, tls: { mode: 'disable' } },
        { dial, signal: AbortSignal.timeout(60_000) },
      )
      .then(
        () => undefined,
        (err) => err,
      );
  };

  it('says that the log-in was accepted, and what the server lacks', async () => {
    const err = await connectionError({ state: '42601', text: 'mismatched input here' });
    expect(err).toBeInstanceOf(SetUpFailed);
    expect(err).toMatchObject({ code: 'SOURCE_UNREACHABLE', stage: 'connect', retryable: false });
    expect(err.message).toContain('accepts the log-in but lacks');
    expect(err.message).toContain('mismatched input here');
  });

  it('does not blame the log-in if the connection breaks after it', async () => {
    const err = await connectionError(undefined);
    expect(err).toBeInstanceOf(SetUpFailed);
    expect(err).toMatchObject({ code: 'SOURCE_UNREACHABLE', retryable: true });
  });

  it('blames the log-in if a proxy accepted it and the database behind refuses it', async () => {
    const err = await connectionError({
      state: deniedState,
      text: 'server login failed: password authentication',
    });
    expect(err).not.toBeInstanceOf(SetUpFailed);
    expect(err).toMatchObject({ code: 'SOURCE_AUTH' });
    expect(err.message).not.toContain('password authentication');
  });
});
