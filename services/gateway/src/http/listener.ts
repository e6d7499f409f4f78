/**
 * The HTTP listener in front of the app: its bounds, how it reads bodies that arrive in small chunks, and the answers to
 * requests that never reach the app because they are malformed, too slow or too large.
 */

import {
  createServer,
  IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { Socket } from 'node:net';
import { createRequestId } from '@datahub/service-kit/call/call';
import { HubError } from '@datahub/service-kit/call/error';
import { problemHeaders, toProblem } from './problem-details.ts';
import { RequestError } from './request-error.ts';

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
  const checked = requireHost(listener);
  const options = { ...listenerOptions, IncomingMessage };
  return createServer(options, (request, response) => {
    if (request.headers['transfer-encoding'] !== undefined) {
      responses.set(request, response);
      countUnreadChunks(request, response);
    }
    checked(request, response);
  })
    .on('connection', parseInSlices)
    .on('checkExpectation', refuseExpectation);
}

/** Node skips `push`, and so the bounds on small chunks, for a body that the app has not begun to read. */
function countUnreadChunks(request: IncomingMessage, response: ServerResponse): void {
  request.read(0);
  response.on('finish', () => {
    if (!request.complete && request.listenerCount('data') === 0) request.resume();
  });
}

/** Returns a function that counts the requests without a complete answer. */
export function countRequests(server: Server): () => number {
  let inFlight = 0;
  const ended = () => {
    inFlight--;
  };
  server.on('request', (_request, response) => {
    inFlight++;
    response.on('close', ended);
  });
  return () => inFlight;
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
 * For `clientError`: answers with a problem if the socket is writable, then closes the connection. The request timeout
 * does not apply to the sockets in `streaming`. Node raises it once for each request.
 */
export function createMalformedResponse(streaming: WeakSet<Socket>) {
  return (cause: Error & { code?: string }, socket: Socket): void => {
    if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT' && streaming.has(socket)) return;
    if (cause.code === 'ECONNRESET' || socket.destroyed) return;
    if (socket.writable) socket.write(toText(refusals.get(cause.code) ?? malformed));
    socket.destroy(cause);
  };
}

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

/** The first chunks of a body, and chunks of this size, are passed on without a copy. */
const uncopiedChunks = 16;
const uncopiedBytes = 1_024;
const blockBytes = 16_384;
/** A slice of a read. A chunk of one byte takes 6 bytes of it. */
const sliceBytes = 4_096;
/** If one slice of a connection holds more small chunks, its next slice waits for its turn. */
const sliceChunksMax = 256;
/** A body with more chunks is refused if they have less than the mean size. */
const freeChunks = 4_096;
const meanBytesMin = 8;
/** The most connections that wait for their turn. Each one holds up to 128 KiB. */
const waitingMax = 256;

/** What the requests of one listener share. */
interface ListenerPart {
  /** Answers and closes the connection. */
  refuse: (request: IncomingMessage) => void;
  /** Returns false if too many wait. */
  takeTurn: (resume: () => void) => boolean;
}

/** For `createServer({ IncomingMessage })`. `refuse` answers and closes the connection. */
function createCompactRequest(refuse: ListenerPart['refuse']): typeof IncomingMessage {
  const listener = { refuse, takeTurn: createTurns() };
  return class extends CompactRequest {
    constructor(socket: Socket) {
      super(socket, listener);
    }
  };
}

/** For the event `connection`. Stops between two slices of a read if the request has paused the socket. */
function parseInSlices(socket: Socket): void {
  // Node's HTTP parser. A second listener makes Node pass it the bytes through this event.
  const [parse] = socket.listeners('data');
  if (parse === undefined) return;
  socket.on('data', (bytes: Buffer) => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += sliceBytes) {
      if (at > 0 && socket.isPaused()) {
        socket.unshift(bytes.subarray(at));
        return;
      }
      parse(at === 0 && bytes.length <= sliceBytes ? bytes : bytes.subarray(at, at + sliceBytes));
    }
  });
  socket.off('data', parse as (bytes: Buffer) => void);
}

/**
 * A request whose body may arrive in chunks of any size. Node calls `push` for each chunk, and one read of a socket can
 * hold 10,922 chunks of one byte. Small chunks are copied into a block, because each Buffer that is kept costs some 200
 * bytes. Reads are parsed in slices, and connections with many small chunks take turns, so that one turn of the event
 * loop parses one slice of them and the first slices of new connections.
 */
class CompactRequest extends IncomingMessage {
  readonly #listener: ListenerPart;
  #block: Buffer | undefined;
  #filled = 0;
  #chunks = 0;
  #bytes = 0;
  #chunksOfSlice = 0;
  #isReadWanted = false;

  constructor(socket: Socket, listener: ListenerPart) {
    super(socket);
    this.#listener = listener;
  }

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) {
      this.#pass();
      return super.push(null);
    }
    this.#chunks++;
    this.#bytes += chunk.length;
    if (this.#chunks <= uncopiedChunks) return super.push(chunk);
    if (this.#chunks > freeChunks && this.#bytes < this.#chunks * meanBytesMin) return this.#refuse();
    if (chunk.length >= uncopiedBytes) {
      this.#pass();
      return super.push(chunk);
    }
    this.#copy(chunk);
    return !this.#mustWait() && this.readableLength + this.#filled < this.readableHighWaterMark;
  }

  override _read(size: number): void {
    if (this.#mustWait()) this.#isReadWanted = true;
    else super._read(size);
  }

  #copy(chunk: Buffer): void {
    // Node runs the tick queue after each chunk, so only an immediate runs after the whole slice.
    if (this.#chunksOfSlice++ === 0) setImmediate(() => this.#endSlice());
    if (this.#filled + chunk.length > blockBytes) this.#pass();
    this.#block ??= Buffer.allocUnsafeSlow(blockBytes);
    if (chunk.length === 1) this.#block[this.#filled] = chunk[0] as number;
    else chunk.copy(this.#block, this.#filled);
    this.#filled += chunk.length;
  }

  #pass(): void {
    if (this.#filled === 0 || this.#block === undefined) return;
    const bytes = Buffer.from(this.#block.subarray(0, this.#filled));
    this.#filled = 0;
    super.push(bytes);
  }

  #mustWait(): boolean {
    return this.#chunksOfSlice > sliceChunksMax;
  }

  /** Runs after a slice with small chunks. */
  #endSlice(): void {
    if (!this.destroyed && !this.readableEnded) this.#pass();
    if (!this.#mustWait()) this.#chunksOfSlice = 0;
    else if (!this.#listener.takeTurn(() => this.#beginSlice())) this.#refuse();
  }

  #beginSlice(): void {
    this.#chunksOfSlice = 0;
    if (this.#isReadWanted && !this.destroyed && !this.complete) super._read(0);
    this.#isReadWanted = false;
  }

  #refuse(): boolean {
    this.#block = undefined;
    this.#filled = 0;
    if (!this.destroyed) this.#listener.refuse(this);
    return false;
  }
}

/** Returns a function that calls each resumption in a turn of the event loop of its own, in their order. */
function createTurns(): ListenerPart['takeTurn'] {
  const waiting: (() => void)[] = [];
  const next = (): void => {
    waiting.shift()?.();
    if (waiting.length > 0) setImmediate(next);
  };
  return (resume) => {
    if (waiting.length === waitingMax) return false;
    if (waiting.push(resume) === 1) setImmediate(next);
    return true;
  };
}
