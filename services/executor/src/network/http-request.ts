/** HTTP requests to addresses that users choose, over connections that the rules for addresses of sources allow. */

import type { ClientRequest, RequestOptions } from 'node:http';
import type { Socket } from 'node:net';
import { onAbort } from '@datahub/service-kit/call/abort';
import { request } from '@datahub/service-kit/node-http';
import type { Dial } from './dialer.ts';
import { InPieces } from './over-socket.ts';
import { startTls } from './tls.ts';

/**
 * Connects, with TLS if the address says so. Node's own certificate authorities apply, with those of
 * `NODE_EXTRA_CA_CERTS`.
 */
export async function connectTo(
  url: URL,
  { dial, signal }: { dial: Dial; signal: AbortSignal },
): Promise<Socket> {
  const isSecure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port);
  const socket = await dial(host, port, { signal });
  if (!isSecure) return socket;
  using _listening = onAbort(signal, () => socket.destroy());
  return await startTls(socket, { host, tls: { mode: 'verify-full' } });
}

/** The most interim answers (1xx). A server could send them without an end. */
const interimMax = 8;

/** Begins a request over a connection of `connectTo`. */
export function requestOver(
  socket: Socket,
  url: URL,
  { headers, ...options }: Pick<RequestOptions, 'method' | 'signal'> & { headers: Record<string, string> },
): ClientRequest {
  const sent = request({
    ...options,
    path: url.pathname + url.search,
    headers: { host: url.host, ...headers },
    // An agent, also `agent: false`, would connect by itself, past the rules for addresses.
    createConnection: () => new InPieces(socket),
  });
  let interim = 0;
  const countInterim = () => {
    if (++interim > interimMax) sent.destroy(new Error('The server sent too many interim answers.'));
  };
  return sent.on('information', countInterim).on('continue', countInterim);
}
