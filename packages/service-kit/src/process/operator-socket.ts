/**
 * A Unix socket for the operator's commands to a process with an embedded store, which only one process can open. Its
 * directory is accessible to the hub's user only. A connection carries one request in JSON; the answer is lines of JSON,
 * any number of `{"progress":…}` and then `{"value":…}` or `{"fault":"…"}`. `{"cancel":REQUEST}` cancels the same request of
 * another connection, which then gets its answer.
 */

import { chmod, type FileHandle, open, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { basename, dirname } from 'node:path';
import { onAbort } from '../call/abort.ts';
import { HubError } from '../call/error.ts';
import type { Closable } from '../closers.ts';
import type { Logger } from '../telemetry/logger.ts';
import { createDirectory } from './create-directory.ts';

const requestBytesMax = 65_536;
/** The longest silence of the other side. A longer command reports its progress. */
const timeoutMs = 10_000;
/** How long a client waits for the end of a command that it has cancelled. A hub of an older release does not hear it. */
const cancelledMs = 5_000;

export interface OperatorCall {
  onProgress: (progress: object) => void;
  /** Fires when the process stops, and when the client is gone, which `onProgress` detects. */
  signal: AbortSignal;
}

export interface OperatorSocketOptions {
  path: string;
  handle: (request: unknown, call: OperatorCall) => Promise<unknown>;
  logger: Logger;
}

/** The caller has the store open, so a file at `path` was left by a process that has ended. */
export async function openOperatorSocket(options: OperatorSocketOptions): Promise<Closable> {
  const { path, logger } = options;
  const stopping = new AbortController();
  const running = new Set<RunningCommand>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setTimeout(timeoutMs, () => socket.destroy());
    // The `close` event follows.
    socket.on('error', () => {});
    serve(socket, options, { stopping: stopping.signal, running }).catch((err) => {
      logger.warn({ event: 'operator.failed', err }, 'an operator’s command failed');
      socket.destroy();
    });
  });
  let directory: FileHandle | undefined;
  try {
    createDirectory(dirname(path));
    await chmod(dirname(path), 0o700);
    await rm(path, { force: true });
    directory = await openIfLong(path);
    const address = addressOf(path, directory);
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(address, resolve));
    await chmod(path, 0o600);
  } catch (err) {
    await directory?.close();
    // The hub works without it.
    logger.warn(
      { event: 'operator.absent', err },
      'the socket for the operator’s commands could not be opened',
    );
    return { close: () => {} };
  }
  return {
    close: () => {
      stopping.abort();
      return new Promise<void>((resolve) => server.close(() => resolve())).finally(() => directory?.close());
    },
  };
}

/** The address of a socket has 108 bytes on Linux, with a zero at the end. */
const addressBytesMax = 107;

/** The directory of a socket whose path is too long for an address. */
const openIfLong = async (path: string): Promise<FileHandle | undefined> =>
  process.platform === 'linux' && Buffer.byteLength(path) > addressBytesMax
    ? await open(dirname(path))
    : undefined;

const addressOf = (path: string, directory: FileHandle | undefined): string =>
  directory === undefined ? path : `/proc/self/fd/${directory.fd}/${basename(path)}`;

interface RunningCommand {
  text: string;
  cancel(): void;
}

async function serve(
  socket: Socket,
  { handle, logger }: OperatorSocketOptions,
  { stopping, running }: { stopping: AbortSignal; running: Set<RunningCommand> },
): Promise<void> {
  const gone = new AbortController();
  socket.once('close', () => gone.abort());
  const request = JSON.parse(await readRequest(socket));
  const line = (message: object) => `${JSON.stringify(message)}\n`;
  if (request?.cancel !== undefined) {
    const text = JSON.stringify(request.cancel);
    for (const one of running) if (one.text === text) one.cancel();
    return void socket.end(line({ value: {} }));
  }
  const own = { text: JSON.stringify(request), cancel: () => gone.abort() };
  running.add(own);
  const result = await handle(request, {
    onProgress: (progress) => socket.write(line({ progress })),
    signal: AbortSignal.any([gone.signal, stopping]),
  }).then(
    (value) => ({ value }),
    (err) => {
      if (err instanceof HubError) return { fault: err.message };
      logger.error({ event: 'operator.failed', err }, 'an operator’s command failed');
      return { fault: 'The command failed. See the log of the hub for the reason.' };
    },
  );
  running.delete(own);
  socket.end(line(result));
}

async function readRequest(socket: Socket): Promise<string> {
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

export interface OperatorCommandOptions {
  onProgress?: (progress: object) => void;
  /** Cancels the command at the hub, and waits for its end. */
  signal?: AbortSignal | undefined;
}

/** The hub's answer; undefined if no hub listens at `path`. Rejects with the hub's message if the command fails. */
export async function sendOperatorCommand(
  path: string,
  command: object,
  { onProgress = () => {}, signal }: OperatorCommandOptions = {},
): Promise<object | undefined> {
  const socket = await dial(path);
  if (socket === undefined) return undefined;
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('The hub did not answer in time.')));
  socket.end(JSON.stringify(command));
  let givingUp: NodeJS.Timeout | undefined;
  const cancel = () => {
    givingUp = setTimeout(() => socket.destroy(cancelled()), cancelledMs);
    sendOperatorCommand(path, { cancel: command }).catch(() => {});
  };
  using _listening = signal && onAbort(signal, cancel);
  try {
    for await (const text of linesOf(socket)) {
      const { progress, value, fault } = JSON.parse(text) as Line;
      if (fault !== undefined) throw signal?.aborted ? cancelled() : new Error(fault);
      if (progress === undefined) return value ?? {};
      onProgress(progress);
    }
    throw new Error('The hub closed the connection before it answered.');
  } finally {
    clearTimeout(givingUp);
    socket.destroy();
  }
}

const cancelled = () => new Error('The command was cancelled.');

async function* linesOf(socket: Socket): AsyncIterable<string> {
  let rest = '';
  for await (const text of socket.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
}

async function dial(path: string): Promise<Socket | undefined> {
  const directory = await openIfLong(path).catch((err) => {
    if (err.code === 'ENOENT') return undefined;
    throw mayNotOpen(path, err);
  });
  return dialAt(addressOf(path, directory), path).finally(() => directory?.close());
}

const mayNotOpen = (path: string, cause: Error) =>
  new Error(`This user may not open ${path}. Run the command as the user of the hub.`, { cause });

function dialAt(address: string, path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const opening = connect({ path: address, allowHalfOpen: true });
    const refused = (err: NodeJS.ErrnoException) => {
      if (err.code !== 'EACCES' && err.code !== 'EPERM') return resolve(undefined);
      reject(mayNotOpen(path, err));
    };
    opening.once('error', refused);
    opening.once('connect', () => resolve(opening.off('error', refused)));
  });
}
