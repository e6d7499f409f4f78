/** A server that accepts the log-in and refuses the set-up of the session is told apart from one that refuses the log-in. */

import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';
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

describe('a PostgreSQL connection that is of no use is closed', () => {
  const text = (value: string) => message('D', '\0\x01', `\0\0\0${String.fromCharCode(value.length)}`, value);
  const answered = (value: string) => Buffer.concat([text(value), message('C', 'SELECT 1\0'), ready]);
  const optionsRefused = message('E', 'SFATAL\0C08P01\0Munsupported startup parameter: options\0\0');
  let server: Rogue;
  afterEach(() => server.close());

  /** Connects to a server that answers this to each query of a client. The first client is refused for its options. */
  const connect = async (answer: (sql: string, client: number) => Buffer | undefined, more: object) => {
    let clients = 0;
    server = await startRogue((socket) => {
      const client = clients++;
      let isStarted = false;
      const lengthOf = (bytes: Buffer) =>
        bytes.length < 5 ? 0 : isStarted ? 1 + bytes.readInt32BE(1) : bytes.readInt32BE(0);
      cut(socket, lengthOf, (bytes) => {
        const sql = bytes.toString('latin1');
        if (!isStarted && client === 0) socket.end(optionsRefused);
        else if (!isStarted) socket.write(welcome);
        else if (sql.startsWith('Q')) socket.write(answer(sql, client) ?? '');
        else if (sql.startsWith('S')) socket.write(ready);
        isStarted = true;
      });
    });
    const settings = settingsOf('postgres', `x://u:p@127.0.0.1:${server.port}/d`);
    const deps = { dial, signal: AbortSignal.timeout(1_500), facts: {} };
    const opening = createEngines().postgres.connect(
      { ...settings, tls: { mode: 'disable' }, ...more },
      deps,
    );
    return await opening.catch((reason) => reason);
  };
  /** The connections that are open a little later. */
  const left = async () => {
    await setTimeout(50);
    return server.connections();
  };
  const isStateAsked = (sql: string) => sql.includes('pg_is_in_recovery');
  const primary = { targetSessionAttrs: 'primary' };

  it('if its server does not say in time what it is', async () => {
    const silent = (sql: string) => (isStateAsked(sql) ? undefined : answered('1'));
    const opened = await Promise.race([connect(silent, primary), setTimeout(3_000, 'still waits')]);
    expect(opened).toMatchObject({ code: 'SOURCE_UNREACHABLE', retryable: true });
    expect(await left()).toBe(0);
  });

  it('if its server cannot say what it is', async () => {
    const unable = Buffer.concat([message('E', 'SERROR\0C42883\0Mno such function\0\0'), ready]);
    const opened = await connect((sql) => (isStateAsked(sql) ? unable : answered('1')), primary);
    expect(opened).toBeInstanceOf(SetUpFailed);
    expect(opened.message).toContain('accepts the log-in but lacks');
    expect(await left()).toBe(0);
  });

  it('if it is the second one, which would show how a pooler pools, and there is no room for it', async () => {
    const full = (_sql: string, client: number) => (client < 2 ? answered('7') : undefined);
    const opened = await Promise.race([connect(full, {}), setTimeout(3_000, 'still waits')]);
    expect(opened).toHaveProperty('serverVersion');
    expect(await left()).toBe(1);
  });
});
