/**
 * The HTTP listener in front of the app: its bounds, how it stops, and the answers to requests that never reach the app
 * because they are malformed, too slow or too large.
 */

import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { createRequestId } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { createServer, STATUS_CODES } from '@datahub/service-kit/node-http';
import { createReadTurns, parseInSlices } from '@datahub/service-kit/sliced-reads';
import { createTurns } from '@datahub/service-kit/yield-to-loop';
import { problemHeaders, toProblem } from './problem-details.ts';
import { RequestError } from './request-error.ts';
import { createPipelines, createRequestTurns } from './request-turns.ts';
import { countUnreadChunks, createCompactRequest } from './small-chunks.ts';

/** Bounds on headers, slow senders and idle connections, with or without an edge in front. */
export const listenerOptions = {
  maxHeaderSize: 16_384,
  headersTimeout: 14_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 72_000,
  // How often Node checks the timeouts. Its default is 30 s.
  connectionsCheckingInterval: 1_000,
  // `requireHost` checks the header instead.
  requireHostHeader: false,
};

export function createListener(listener: RequestListener): Server {
  const responses = new WeakMap<IncomingMessage, ServerResponse>();
  const IncomingMessage = createCompactRequest((request) =>
    refuseSmallChunks(request, responses.get(request)),
  );
  const handle = requireHost(listener);
  const turns = createRequestTurns(handle);
  const options = { ...listenerOptions, IncomingMessage };
  const inTurn: RequestListener = (request, response) => {
    if (request.httpVersion === '1.0') resetIfCut(response);
    if (request.headers['transfer-encoding'] !== undefined) {
      responses.set(request, response);
      countUnreadChunks(request, response);
      // Node would keep the chunks of a request that waits.
      handle(request, response);
    } else turns.handle(request, response);
  };
  const { handle: inOrder, isWaiting } = createPipelines(inTurn);
  const mustWait = createReadTurns();
  return createServer(options, inOrder)
    .on('connection', (socket) => parseInSlices(socket, { isWaiting: () => isWaiting(socket), mustWait }))
    .on('connection', turns.connected)
    .on('checkExpectation', refuseExpectation);
}

/** A body without a length ends with its connection, so one that breaks off must not end as a complete one does. */
function resetIfCut(response: ServerResponse): void {
  const destroy = response.destroy.bind(response);
  response.destroy = (err) => {
    if (response.headersSent && !response.writableFinished) response.socket?.resetAndDestroy();
    return destroy(err);
  };
}

/**
 * Of more connections without a request, the one that has had none for longest is closed: each takes a file descriptor,
 * and 4,000 that end at once 0.2 s.
 */
const idleMax = 4_096;
/** Once nothing has arrived for so long, connections without a request are closed. */
const quietMs = 200;
const lookEveryMs = 50;

export interface Connections {
  /** The requests without a complete answer. */
  inFlight(): number;
  /** Accepts no further connections. Resolves when all have ended: each with its next answer, or when all are quiet. */
  drain(): Promise<void>;
  /** Closes all connections. */
  cut(): void;
}

export function watchConnections(server: Server, max = idleMax): Connections {
  const responses = new Set<ServerResponse>();
  const idle = createIdle(max);
  let isDraining = false;
  server.on('connection', (socket: Socket) => {
    idle.begin(socket);
    socket.once('close', () => idle.forget(socket));
  });
  function ended(this: ServerResponse): void {
    responses.delete(this);
    idle.ended(this.req.socket);
  }
  // Before the listener that may write the head of the answer.
  server.prependListener('request', (_request, response: ServerResponse) => {
    responses.add(response);
    idle.started(response.req.socket);
    if (isDraining) response.shouldKeepAlive = false;
    response.on('close', ended);
  });

  const drain = async (): Promise<void> => {
    isDraining = true;
    for (const response of responses) response.shouldKeepAlive = false;
    const look = createLook(server, idle.sockets);
    const timer = setInterval(look, lookEveryMs);
    look();
    // `close` of an HTTP server would close connections at once, in which a request may have arrived unread.
    await new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
    clearInterval(timer);
  };
  const cut = (): void => {
    for (const response of responses) response.destroy();
    server.closeAllConnections();
  };
  return { inFlight: () => responses.size, drain, cut };
}

/** The connections without a request, the one that has had none for longest first. */
function createIdle(max: number) {
  const idle = new Set<Socket>();
  const running = new WeakMap<Socket, number>();
  const begin = (socket: Socket): void => {
    idle.add(socket);
    if (idle.size <= max) return;
    const [oldest] = idle;
    if (oldest !== undefined) idle.delete(oldest);
    oldest?.destroy();
  };
  return {
    sockets: idle as ReadonlySet<Socket>,
    begin,
    forget: (socket: Socket) => void idle.delete(socket),
    started: (socket: Socket): void => {
      idle.delete(socket);
      running.set(socket, (running.get(socket) ?? 0) + 1);
    },
    ended: (socket: Socket): void => {
      const left = (running.get(socket) ?? 1) - 1;
      running.set(socket, left);
      if (left === 0 && !socket.destroyed) begin(socket);
    },
  };
}

/** Returns a function that closes the connections without a request if nothing has arrived for a while. */
function createLook(server: Server, idle: ReadonlySet<Socket>): () => void {
  const read = new WeakMap<Socket, number>();
  let quietSince = 0;
  return () => {
    for (const socket of idle) {
      const { bytesRead } = socket;
      if (bytesRead !== read.get(socket)) quietSince = performance.now();
      read.set(socket, bytesRead);
    }
    // What has arrived is read before `setImmediate` runs.
    if (performance.now() - quietSince >= quietMs) setImmediate(() => server.closeIdleConnections());
  };
}

/** A problem whose status has no error code of its own. */
interface Refusal {
  status: number;
  err: HubError;
}

const malformed = { status: 400, err: new HubError('VALIDATION', 'The request is malformed.') };
const refusals = new Map<string | undefined, Refusal>([
  [
    'HPE_HEADER_OVERFLOW',
    { status: 431, err: new HubError('TOO_LARGE', 'The headers are larger than the hub accepts.') },
  ],
  [
    'ERR_HTTP_REQUEST_TIMEOUT',
    { status: 408, err: new HubError('VALIDATION', 'The request did not arrive in time.') },
  ],
]);

/**
 * For `clientError`: answers with a problem if the socket is writable, then closes the connection. Thousands of clients may
 * close theirs at once in the middle of a request, so one connection is worked on in a turn. The request timeout does not
 * apply to the sockets in `streaming`. Node raises it once for each request.
 */
export function createMalformedResponse(streaming: WeakSet<Socket>) {
  const ownTurn = createTurns();
  const wasPaused = watchPauses();
  return (cause: Error & { code?: string }, socket: Socket): void => {
    const isLate = cause.code === 'ERR_HTTP_REQUEST_TIMEOUT';
    if (isLate && streaming.has(socket)) return;
    if (cause.code === 'ECONNRESET') return;
    void ownTurn().then(() => {
      if (socket.destroyed) return;
      // Node looks at the clock before it reads what arrived during a pause. It has read it by now.
      if (isLate && wasPaused() && hasWholeRequest(socket)) return;
      if (socket.writable) socket.write(toText(refusals.get(cause.code) ?? malformed));
      socket.destroy(cause);
    });
  };
}

const looksEveryMs = 1_000;
const pauseMinMs = 5_000;

/** Returns a function that says whether the process, or its machine, stood still for seconds, and goes on just now. */
function watchPauses(): () => boolean {
  let lookedAt = performance.now();
  let wentOnAt = Number.NEGATIVE_INFINITY;
  const look = () => {
    const now = performance.now();
    if (now - lookedAt > pauseMinMs) wentOnAt = now;
    lookedAt = now;
  };
  setInterval(look, looksEveryMs).unref();
  return () => performance.now() - wentOnAt < pauseMinMs;
}

/** Node has the response of the request that it answers next here. */
const hasWholeRequest = (socket: Socket & { _httpMessage?: ServerResponse | null }): boolean =>
  socket._httpMessage?.req.complete === true;

const smallChunks = {
  status: 400,
  err: new RequestError('The request is malformed: its body arrives in chunks that are too small.', [
    { pointer: '', detail: 'has chunks of less than 8 bytes on average; send larger ones' },
  ]),
};

/** Closes the connection. The rest of such a body would cost far more than its bytes. */
function refuseSmallChunks({ socket }: IncomingMessage, response: ServerResponse | undefined): void {
  if (response?.headersSent === false && socket.writable) socket.write(toText(smallChunks));
  socket.destroy();
}

const badExpectation = {
  status: 417,
  err: new HubError('VALIDATION', 'The header Expect must be 100-continue.'),
};

/** For `checkExpectation`: answers any `Expect` but 100-continue with a problem. Node would answer without a body. */
function refuseExpectation(_request: unknown, response: ServerResponse): void {
  send(response, badExpectation);
}

const badHost = (message: string, detail: string): Refusal => ({
  status: 400,
  err: new RequestError(`The request is malformed: ${message}.`, [{ pointer: 'header/host', detail }]),
});
const missingHost = badHost('it has no Host header', 'is missing');
const duplicateHost = badHost('it has more than one Host header', 'must be sent once');

/**
 * Refuses an HTTP/1.1 request without exactly one Host header (RFC 9112, 3.2). Node's own check is off, because it
 * answers a missing Host without a body and uses the first of several.
 */
function requireHost(listener: RequestListener): RequestListener {
  return (request, response) => {
    const hosts = countHosts(request.rawHeaders);
    if (hosts === 1 || (hosts === 0 && request.httpVersion !== '1.1')) listener(request, response);
    else send(response, hosts === 0 ? missingHost : duplicateHost);
  };
}

/** Reads the raw headers: `headers` keeps only the first Host, and `headersDistinct` copies all headers. */
function countHosts(rawHeaders: string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

function send(response: ServerResponse, refusal: Refusal): void {
  const { headers, body } = toAnswer(refusal);
  response.writeHead(refusal.status, headers).end(body);
}

function toText(refusal: Refusal): string {
  const { headers, body } = toAnswer(refusal);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines, '', body].join('\r\n');
}

function toAnswer({ status, err }: Refusal) {
  const id = createRequestId();
  const body = JSON.stringify({ ...toProblem(err, { path: '', id }), status });
  const headers = {
    ...problemHeaders(err),
    'x-request-id': id,
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  };
  return { headers, body };
}
