/**
 * The operator's way into a hub that runs over an embedded store, which is open to one process at a time: a socket in a
 * directory that the hub's own user alone may enter. One request and one answer a connection, both JSON.
 */

import { chmod, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { HubError } from '@datahub/service-kit/error';
import type { Closable } from '@datahub/service-kit/lifecycle';
import type { Logger } from '@datahub/service-kit/logger';
import type { OperatorRequest } from './operator.ts';

const requestBytesMax = 65_536;
const timeoutMs = 10_000;

export interface OperatorSocketOptions {
  path: string;
  answer: (asked: OperatorRequest) => Promise<unknown>;
  logger: Logger;
}

/** Called by whoever holds the store, so what lies at `path` was left by a process that is gone. */
export async function openOperatorSocket(options: OperatorSocketOptions): Promise<Closable> {
  const { path, logger } = options;
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.setTimeout(timeoutMs, () => socket.destroy());
    serve(socket, options).catch((err) => {
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
  return { close: () => new Promise((resolve) => server.close(() => resolve())) };
}

async function serve(socket: Socket, { answer, logger }: OperatorSocketOptions): Promise<void> {
  const told = await answer(readRequest(await bounded(socket))).then(
    (value) => ({ value }),
    (err) => {
      if (err instanceof HubError) return { fault: err.message };
      logger.error({ event: 'operator.failed', err }, 'an operator’s request failed');
      return { fault: 'The hub failed; its log says why.' };
    },
  );
  socket.end(JSON.stringify(told));
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

function readRequest(json: string): OperatorRequest {
  const { action, keyId = '', name = '', scopes = [], newAccount = false } = JSON.parse(json);
  return { action, keyId: String(keyId), name: String(name), scopes: scopes.map(String), newAccount };
}

/** The hub's answer; undefined when none listens at `path`. Rejects with the hub's refusal. */
export async function askOperatorSocket(path: string, asked: OperatorRequest): Promise<object | undefined> {
  const socket = await new Promise<Socket | undefined>((resolve) => {
    const opening = connect({ path, allowHalfOpen: true });
    opening.once('connect', () => resolve(opening)).once('error', () => resolve(undefined));
  });
  if (socket === undefined) return undefined;
  socket.setTimeout(timeoutMs, () => socket.destroy(new Error('The hub does not answer.')));
  socket.end(JSON.stringify(asked));
  const told = JSON.parse(await text(socket)) as { value?: object; fault?: string };
  if (told.fault !== undefined) throw new Error(told.fault);
  return told.value ?? {};
}
