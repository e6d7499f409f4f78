/** Sockets to the server: TLS before the first message, and the side connection that cancels a statement. */

import { onAbort } from '@datahub/service-kit/call/abort';
import { noTlsError, plainBytesError, startTls, tlsError } from '../../network/tls.ts';
import type { ConnectDeps, ConnectSettings } from '../../ports/engine.ts';
import type { ServerStream } from '../../ports/server-stream.ts';
import { isMysqlGreeting, wrongEngineError } from '../shared/wrong-engine.ts';
import { toConnectError } from './errors.ts';
import type { Started } from './login.ts';
import { cancelRequest, sslRequest } from './protocol.ts';

export type Target = Pick<ConnectSettings, 'host' | 'port' | 'tls'>;

export interface ServerSocket {
  socket: ServerStream;
  secure: boolean;
}

/** Opens a socket with TLS, unless the mode is `disable`, or the server offers none and `plainAllowed` is set. */
export async function openServerSocket(
  { host, port, tls }: Target,
  deps: Pick<ConnectDeps, 'dial'>,
  { signal, plainAllowed }: { signal: AbortSignal; plainAllowed: boolean },
): Promise<ServerSocket> {
  const socket = await deps.dial(host, port, { signal });
  using _listening = onAbort(signal, () => socket.destroy());
  try {
    if (tls.mode === 'disable') return { socket, secure: false };
    if (await offersTls(socket)) return { socket: await startTls(socket, { host, tls }), secure: true };
    if (plainAllowed) return { socket, secure: false };
    throw noTlsError();
  } catch (err) {
    socket.destroy();
    throw signal.aborted ? toConnectError(undefined) : err;
  }
}

const yes = 'S';
const no = 'N';

function offersTls(socket: ServerStream): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const gone = (err?: Error) => reject(toConnectError(err));
    socket.once('error', gone).once('close', gone);
    socket.once('data', (bytes: Buffer) => {
      socket.off('error', gone).off('close', gone);
      const answer = String.fromCharCode(bytes[0] as number);
      if (isMysqlGreeting(bytes)) reject(wrongEngineError('MySQL or MariaDB', 'PostgreSQL'));
      else if (answer !== yes && answer !== no) reject(tlsError());
      else if (bytes.length > 1) reject(plainBytesError());
      else resolve(answer === yes);
    });
    socket.write(sslRequest);
  });
}

export interface CancelOptions {
  started: Started;
  signal: AbortSignal;
  /** Asked again once the server is reached: later, a pooler may have given the session to another client. */
  isRunning: () => boolean;
}

/** Longer than poolers keep a cancel request waiting for a connection (PgBouncer: 10 s). */
const cancelLingerMs = 30_000;

/**
 * Resolves when the server has passed the request on, which it shows by closing. The socket stays open until then,
 * because PgBouncer 1.18 ends, for all its clients, when a cancel request is closed first.
 */
export async function cancelStatement(
  target: Target,
  deps: Pick<ConnectDeps, 'dial'>,
  { started, signal, isRunning }: CancelOptions,
): Promise<void> {
  const { socket } = await openServerSocket(target, deps, { signal, plainAllowed: false });
  if (!isRunning()) {
    socket.destroy();
    return;
  }
  await new Promise<void>((resolve) => {
    const linger = setTimeout(() => socket.destroy(), cancelLingerMs).unref();
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(linger);
      resolve();
    });
    onAbort(signal, resolve);
    socket.write(cancelRequest(started.processId, started.secretKey));
    socket.resume();
  });
}
