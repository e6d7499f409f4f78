import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { connectMysql } from '../../../src/engines/mysql/connect.ts';
import type { MysqlConnection } from '../../../src/engines/mysql/connection.ts';
import { ask, dial, settingsOf } from '../../fixture.ts';
import { type Rogue, startRogue } from '../../hostile/rogue.ts';
import { answerCommand, ok, oneRow, perform } from '../../hostile/rogue-mysql.ts';

/** A server whose statements never end and which answers a KILL when the test asks it to. */
describe('cancelling at a server that is slow to cancel', () => {
  let kills: { text: string; socket: Socket }[];
  let server: Rogue;
  let connection: MysqlConnection;
  let connect: (to?: typeof dial) => Promise<MysqlConnection>;
  let outcome: Promise<{ code: string }>;
  const executed = vi.fn<(socket: Socket) => void>();
  const quit = vi.fn<(socket: Socket) => void>();
  const answer = () => kills.at(-1)?.socket.write(ok(1));
  const killed = () => kills.map(({ text }) => text);

  beforeEach(async () => {
    kills = [];
    executed.mockReset();
    quit.mockReset().mockImplementation((socket) => socket.end());
    const play = perform({
      ...{ execute: executed, quit },
      command: (socket, text) => {
        if (text.startsWith('KILL')) kills.push({ text, socket });
        else answerCommand(socket, text);
      },
    });
    server = await startRogue(play);
    const { signal } = new AbortController();
    const facts = {};
    const cancellers = new WeakMap();
    connect = (to = dial) =>
      connectMysql(settingsOf('mysql', `mysql://u:p@127.0.0.1:${server.port}/d`), {
        ...{ dial: to, signal, facts },
        cancellers,
      });
    connection = await connect();
    outcome = ask(connection, 'SELECT hanging').catch((err) => err) as Promise<never>;
    await vi.waitFor(() => expect(executed).toHaveBeenCalled(), 60_000);
  });

  afterEach(() => server.close());

  test('the session is killed after the answer to the earlier KILL, without another log-in', async () => {
    const cancelled = connection.cancel(AbortSignal.timeout(1_000));
    await vi.waitFor(() => expect(killed()).toEqual(['KILL QUERY 7']), 60_000);
    connection.close();
    expect(await outcome).toMatchObject({ code: 'SOURCE_BROKEN' });
    await sleep(50);
    expect(killed()).toEqual(['KILL QUERY 7']);
    answer();
    await vi.waitFor(() => expect(killed()).toEqual(['KILL QUERY 7', 'KILL CONNECTION 7']), 60_000);
    expect(kills[1]?.socket).toBe(kills[0]?.socket);
    answer();
    await cancelled;
    await vi.waitFor(() => expect(server.connections()).toBe(0), 60_000);
  });

  test('a statement that goes on is killed again from the same second session', async () => {
    const cancelled = connection.cancel(AbortSignal.timeout(1_000));
    for (let count = 1; count <= 3; count++) {
      await vi.waitFor(() => expect(kills).toHaveLength(count), 60_000);
      answer();
    }
    expect(new Set(kills.map(({ socket }) => socket)).size).toBe(1);
    connection.close();
    await vi.waitFor(() => expect(killed().at(-1)).toBe('KILL CONNECTION 7'), 60_000);
    answer();
    await cancelled;
    await vi.waitFor(() => expect(server.connections()).toBe(0), 60_000);
  });

  test('a row that MySQL sends before it answers the KILL, as for a killed SLEEP(), does not reach the caller', async () => {
    const other = await connect();
    const sink = {
      ...{ takesDocuments: false, takesBinary: false, truncated: false, full: false, onDrain: () => {} },
      ...{ begin: vi.fn(), row: vi.fn(), document: vi.fn() },
    };
    const statement = { key: 'k', text: 'SELECT hanging', params: [], kind: 'read' as const };
    const run = other.run(statement, sink, { statementTimeoutMs: 60_000 });
    await vi.waitFor(() => expect(executed).toHaveBeenCalledTimes(2), 60_000);
    const cancelled = other.cancel(AbortSignal.timeout(60_000));
    await vi.waitFor(() => expect(kills).toHaveLength(1), 60_000);
    // The row, and what ROLLBACK and the clean-up of the session are answered with.
    executed.mock.lastCall?.[0].write(Buffer.concat([oneRow(1), ok(1), ok(1)]));
    await expect(run).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(sink.begin).toHaveBeenCalledOnce();
    expect(sink.row).not.toHaveBeenCalled();
    answer();
    await cancelled;
    other.close();
    connection.close();
    await outcome;
  });

  test('a statement is cancelled at its own server, if the name of the source has several', async () => {
    const other = { executed: vi.fn(), commands: [] as string[] };
    const second = await startRogue(
      perform({
        execute: other.executed,
        command: (socket, text) => {
          other.commands.push(text);
          answerCommand(socket, text);
        },
      }),
    );
    const elsewhere = await connect(() => dial('127.0.0.1', second.port));
    const asked = ask(elsewhere, 'SELECT hanging').catch((err) => err);
    await vi.waitFor(() => expect(other.executed).toHaveBeenCalled(), 60_000);
    await elsewhere.cancel(AbortSignal.timeout(200));
    expect([killed(), other.commands.includes('KILL QUERY 7')]).toEqual([[], true]);
    elsewhere.close();
    await asked;
    second.close();
  });

  test('statements of one source are cancelled from one session', async () => {
    const other = await connect();
    const failure = ask(other, 'SELECT hanging').catch((err) => err);
    const cancelled = [connection, other].map((one) => one.cancel(AbortSignal.timeout(100)));
    for (let count = 1; count <= 2; count++) {
      await vi.waitFor(() => expect(kills).toHaveLength(count), 60_000);
      answer();
    }
    expect(new Set(kills.map(({ socket }) => socket)).size).toBe(1);
    expect(server.connections()).toBe(3);
    await Promise.all(cancelled);
    server.close();
    await Promise.all([failure, outcome]);
  });

  test('the second session is closed at once, also if the server does not close it', async () => {
    quit.mockImplementation(() => {});
    const cancelled = connection.cancel(AbortSignal.timeout(1_000));
    await vi.waitFor(() => expect(kills).toHaveLength(1), 60_000);
    connection.close();
    for (const count of [1, 2]) {
      await vi.waitFor(() => expect(kills).toHaveLength(count), 60_000);
      answer();
    }
    await cancelled;
    await vi.waitFor(() => expect(quit).toHaveBeenCalled(), 60_000);
    await vi.waitFor(() => expect(server.connections()).toBe(0), 5_000);
  });

  test('the second session is closed after five seconds if the server never answers', async () => {
    const cancelled = connection.cancel(AbortSignal.timeout(100));
    await vi.waitFor(() => expect(kills).toHaveLength(1), 60_000);
    connection.close();
    await expect(cancelled).rejects.toMatchObject({ code: 'SOURCE_UNREACHABLE' });
    await vi.waitFor(() => expect(server.connections()).toBe(0), 60_000);
    expect(killed()).toEqual(['KILL QUERY 7']);
  }, 7_000);
});
