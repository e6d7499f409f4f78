/** Detects that the server at an address is of another engine, so that the error can name it. */

import { HubError } from '@datahub/service-kit/call/error';
import type { ConnectDeps } from '../../ports/engine.ts';
import type { ServerStream } from '../../ports/server-stream.ts';

export function wrongEngineError(found: string, expected: string): HubError {
  return new HubError(
    'SOURCE_UNREACHABLE',
    `The server at this address is ${found}, not ${expected}. Set the engine of the source accordingly.`,
    { stage: 'connect', retryable: false },
  );
}

/** A packet with sequence number 0 and protocol version 10. */
export const isMysqlGreeting = (bytes: Buffer): boolean =>
  bytes.length > 5 && bytes[2] === 0 && bytes[3] === 0 && bytes[4] === 10;

/** PostgreSQL waits for the client to send first; MySQL and MariaDB send a greeting at once. */
const silenceMs = 400;
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Calls `onPostgres` if the server sends no greeting and a second connection shows that it is PostgreSQL. */
export function watchForPostgres(
  socket: ServerStream,
  { host, port, deps }: { host: string; port: number; deps: ConnectDeps },
  onPostgres: () => void,
): void {
  const timer = setTimeout(async () => {
    const probe = await deps.dial(host, port, { signal: deps.signal }).catch(() => undefined);
    if (probe === undefined) return;
    const end = () => probe.destroy();
    socket.once('close', end).once('data', end);
    probe.on('error', end);
    probe.once('data', (bytes: Buffer) => {
      end();
      if (bytes.length === 1 && (bytes[0] === 0x53 || bytes[0] === 0x4e)) onPostgres();
    });
    if (socket.destroyed) end();
    else probe.write(sslRequest);
  }, silenceMs);
  const stop = () => clearTimeout(timer);
  socket.once('data', stop).once('close', stop);
}
