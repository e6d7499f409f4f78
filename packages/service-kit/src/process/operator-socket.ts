/**
 * The operator's way into a process that holds an embedded store, which is open to one process at a time: a socket in a
 * directory that the hub's own user alone may enter. One request a connection, in JSON; the answer is lines of JSON, any
 * number of `{"progress":…}` and then `{"value":…}` or `{"fault":"…"}`.
 */

import { chmod, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { HubError } from '../call/error.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Closable } from './lifecycle.ts';

const requestBytesMax = 65_536;
/** Without a word from the other side. Whoever takes longer tells how far he is meanwhile. */
const timeoutMs = 10_000;

export interface Asking {
  /** To whoever asks, while the answer takes long. */
  tell: (progress: object) => void;
  /** Fires when the process stops, and when whoever asked has gone, which is found when he is told something. */
  signal: AbortSignal;
}

export interface OperatorSocketOptions {
  path: string;
  answer: (asked: unknown, asking: Asking) => Promise<unknown>;
  logger: Logger;
}

/** Called by whoever holds the store, so what lies at `path` was left by a process that is gone. */
export async function openOperatorSocket(options: OperatorSocketOptions): Promise<Closable> {
  const { path, logger } = options;
  const stopping = new AbortController();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setTimeout(timeoutMs, () => socket.destroy());
    // Its end is heard of by `close`.
    socket.on('error', () => {});
    serve(socket, options, stopping.signal).catch((err) => {
      logger.warn({ event: 'operator.failed', err }, 'an operator’s request failed');
      socket.destroy();
    });
  });
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await chmod(dirname(path), 0o700);
    await rm(path, { force: true });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve));
    await chmod(path, 0o600);
  } catch (err) {
    // Such as a path longer than sockets may have: the hub serves all the same.
    logger.warn({ event: 'operator.absent', err }, 'there is no socket for the operator’s commands');
    return { close: () => {} };
  }
  return {
    close: () => {
      stopping.abort();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

async function serve(
  socket: Socket,
  { answer, logger }: OperatorSocketOptions,
  stopping: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const asked = JSON.parse(await bounded(socket));
  const line = (message: object) => `${JSON.stringify(message)}\n`;
  const told = await answer(asked, {
    tell: (progress) => socket.write(line({ progress })),
    signal: AbortSignal.any([gone.signal, stopping]),
  }).then(
    (value) => ({ value }),
    (err) => {
      if (err instanceof HubError) return { fault: err.message };
      logger.error({ event: 'operator.failed', err }, 'an operator’s request failed');
      return { fault: 'The hub failed; its log says why.' };
    },
  );
  socket.end(line(told));
}

async function bounded(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > requestBytesMax) throw new Error('The request is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

interface Line {
  progress?: object;
  value?: object;
  fault?: string;
}

export interface AskOptions {
  onProgress?: (progress: object) => void;
  /** Breaks it off, here and at the hub. */
  signal?: AbortSignal | undefined;
}

/** The hub's answer; undefined when none listens at `path`. Rejects with the hub's refusal. */
export async function askOperatorSocket(
  path: string,
  asked: object,
  { onProgress = () => {}, signal }: AskOptions = {},
): Promise<object | undefined> {
  const socket = await dial(path);
  if (socket === undefined) return undefined;
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('The hub does not answer.')));
  const leave = () => socket.destroy(new Error('It was broken off.'));
  signal?.addEventListener('abort', leave);
  socket.end(JSON.stringify(asked));
  try {
    for await (const text of linesOf(socket)) {
      const { progress, value, fault } = JSON.parse(text) as Line;
      if (fault !== undefined) throw new Error(fault);
      if (progress === undefined) return value ?? {};
      onProgress(progress);
    }
    throw new Error('The hub ended before it had answered.');
  } finally {
    signal?.removeEventListener('abort', leave);
    socket.destroy();
  }
}

async function* linesOf(socket: Socket): AsyncIterable<string> {
  let rest = '';
  for await (const text of socket.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

function dial(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const opening = connect({ path, allowHalfOpen: true });
    const refused = (err: NodeJS.ErrnoException) => {
      if (err.code !== 'EACCES' && err.code !== 'EPERM') return resolve(undefined);
      reject(new Error(`${path} is not open to this user. Run this as the user of the hub.`, { cause: err }));
    };
    opening.once('error', refused);
    opening.once('connect', () => resolve(opening.off('error', refused)));
  });
}
