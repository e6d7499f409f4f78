/** What tests of engines share: a dial without a policy, and a way to run a statement into a text. */

import type { Socket } from 'node:net';
import type { EngineName } from '@datahub/contract/engines';
import type { FormatName } from '@datahub/contract/formats';
import type { Numbers } from '@datahub/contract/numbers';
import mysql from 'mysql2/promise';
import { createEngines } from '../src/engines/index.ts';
import { openSocket } from '../src/network/shared-read-buffer.ts';
import type { Connection, ConnectSettings, Outcome, RunOptions, Statement } from '../src/ports/engine.ts';
import type { RowFigures } from '../src/result/response.ts';
import { createResponseWriter } from '../src/result/response-writer.ts';

export const dial = (host: string, port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = openSocket({ host, port, noDelay: true });
    socket.once('error', reject).once('connect', () => resolve(socket));
  });

export function settingsOf(engine: EngineName, url: string): ConnectSettings {
  const { hostname, port, username, password, pathname } = new URL(url);
  return {
    engine,
    host: hostname,
    port: Number(port),
    database: pathname.slice(1),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: { mode: 'prefer' },
  };
}

/** Opens a connection to a test server through the adapter of its engine. */
export async function connect(engine: EngineName, url: string): Promise<Connection> {
  const deps = { dial, signal: AbortSignal.timeout(60_000) };
  return (await createEngines()[engine].connect(settingsOf(engine, url), deps)) as Connection;
}

/** Runs what a test sets up past the hub: MySQL cannot prepare some of it, such as CREATE FUNCTION. */
export async function operateMysql(url: string, texts: string[]): Promise<void> {
  const operator = await mysql.createConnection(url);
  try {
    for (const text of texts) await operator.query(text);
  } finally {
    await operator.end();
  }
}

export interface AskOptions extends Partial<RunOptions> {
  params?: Statement['params'];
  untyped?: Statement['untyped'];
  textWith?: Statement['textWith'];
  roles?: Statement['roles'];
  infersTypes?: boolean;
  apart?: Statement['apart'];
  kind?: Statement['kind'];
  key?: string;
  comment?: string;
  errors?: string;
  session?: Statement['session'];
  format?: FormatName;
  numbers?: Numbers;
}

export interface Answered {
  text: string;
  bytes: Buffer;
  /** Of a JSON answer. */
  data: Record<string, unknown>[];
  outcome: Outcome & RowFigures;
}

/** Runs a statement to its end; the connection stays as the engine leaves it. */
export async function ask(connection: Connection, text: string, asked: AskOptions = {}): Promise<Answered> {
  const {
    params = [],
    untyped,
    textWith,
    roles,
    infersTypes = false,
    apart,
    kind = 'read',
    key = text,
    format = 'json',
    numbers = 'auto',
    comment,
    errors,
    session,
    ...options
  } = asked;
  const chunks: Buffer[] = [];
  const reply = {
    chunk: (bytes: Buffer) => {
      chunks.push(bytes);
      return true;
    },
    onDrain: () => {},
  };
  const { maxRows, allResults } = options;
  const answer = createResponseWriter({ format, numbers, meta: false, maxRows, allResults, reply });
  try {
    const outcome = await connection.run(
      {
        ...{ key, text, params, infersTypes, apart, kind, comment, errors, session },
        ...(untyped && { untyped }),
        ...(textWith && { textWith }),
        ...(roles && { roles }),
      },
      answer,
      { statementTimeoutMs: 10_000, ...options },
    );
    answer.finish(outcome, { queueMs: 0, durationMs: 0 });
    const bytes = Buffer.concat(chunks);
    const whole = bytes.toString();
    return {
      text: whole,
      bytes,
      data: format === 'json' ? JSON.parse(whole).data : [],
      outcome: { ...outcome, rowCount: answer.rowCount, truncated: answer.truncated },
    };
  } catch (err) {
    answer.abandon();
    throw err;
  }
}
