/**
 * Bounds what clients can do at a port before they have sent the service token on their connection. A call takes 10 KiB
 * until its answer is sent, also if it is refused, and grpc-js accepts any number of them.
 */

import type { Http2Server, Http2Session, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { createTurnClock } from '../yield-to-loop.ts';

/** The most connections without a valid call. Of more, the one that was opened first is closed. */
const connectionsMax = 256;
/** The most calls without the token on one of them, until their answers are sent. With more it is closed. */
const callsMax = 32;

/** When the calls of a turn have taken this long, further ones close their connections. */
const turnMs = 8;

/** Call this once the server is bound. */
export function boundStrangers(server: Server, hasToken: (headers: IncomingHttpHeaders) => boolean): void {
  const clock = createTurnClock(turnMs);
  /** Their calls. */
  const strangers = new Map<Http2Session, number>();
  const begin = (session: Http2Session): void => {
    strangers.set(session, 0);
    session.once('close', () => strangers.delete(session));
    const [oldest] = strangers.keys();
    if (strangers.size > connectionsMax) oldest?.destroy();
  };
  const add = (session: Http2Session, more: number): void => {
    const calls = strangers.get(session);
    if (calls === undefined) return;
    strangers.set(session, calls + more);
    if (calls + more > callsMax) session.destroy();
  };
  const count = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void => {
    const { session } = stream;
    if (session === undefined || !strangers.has(session)) return;
    if (hasToken(headers)) {
      strangers.delete(session);
      return;
    }
    // Later, so that those count which their client resets as fast as it opens them.
    stream.once('close', () => setImmediate(add, session, -1));
    add(session, 1);
    clock.begin();
    if (clock.isSpent) session.destroy();
  };
  // grpc-js shows its HTTP/2 servers to nobody.
  const { http2Servers } = server as unknown as { http2Servers: Map<Http2Server, unknown> };
  for (const one of http2Servers.keys()) {
    const answers = one.listeners('stream');
    one.removeAllListeners('stream');
    one.on('session', begin).on('stream', (stream, headers, ...rest) => {
      count(stream, headers);
      // grpc-js would throw when it answers one that its client, or this, has closed.
      if (!stream.destroyed) for (const answer of answers) answer.call(one, stream, headers, ...rest);
    });
  }
}
