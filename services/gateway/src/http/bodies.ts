/**
 * Reads the bodies of requests. A body is read only if the key has the scope, within a budget of bytes for each key and
 * for the process, and is parsed once it is complete. A body that is refused is read to its end and dropped.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { HubError } from '@datahub/service-kit/call/error';
import { requireHeap } from '@datahub/service-kit/heap';
import { createTurns, nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { ByteBudget } from './byte-budget.ts';
import { JsonBody } from './json-body.ts';
import { requireScope } from './route.ts';

export interface BodiesOptions {
  /** The most bytes of one body. */
  bodyBytesMax: number;
  /** The same for routes with large bodies. */
  largeBodyBytesMax: number;
  /**
   * The most bytes of all bodies together, and of their values. A body counts from its request's headers until the answer,
   * or the end of its work if the client has left.
   */
  bytesMax: number;
  /** The most bytes of the bodies of one key. */
  keyBytesMax: number;
  /** The sockets whose body is read as a stream. */
  streaming: WeakSet<Socket>;
}

export interface Bodies {
  /** For `addContentTypeParser`. The media type and the key have been checked. */
  read(
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (err: Error | null, body?: unknown) => void,
  ): void;
  /**
   * The same for media types that only some routes accept. The body is the request itself, and the handler reads it.
   */
  stream: Bodies['read'];
  /** Returns the bytes of a request to the budgets, once nothing needs them. */
  release(request: FastifyRequest): void;
}

const smallBytesMax = 65_536;
/**
 * What is read of a body in one turn of the event loop. Node would read two megabytes. A larger body is parsed and
 * validated in turns of their own.
 */
const turnBytesMax = 65_536;
/** The memory for reading a stream: an incomplete record, a batch of records, and their copies in the call. */
const streamBytes = 4_194_304;

export function createBodies({ bytesMax, keyBytesMax, streaming, ...limits }: BodiesOptions): Bodies {
  const budget = new ByteBudget({
    bytesMax,
    keyBytesMax,
    smallBytesMax,
    exceeded: {
      key: `The bodies that this key is sending would exceed ${keyBytesMax} bytes, the most that it may send at once.`,
      account: 'The bodies that this account is sending take its share of the hub.',
      all: 'The hub is busy with other large bodies.',
    },
  });

  const reserve = (request: FastifyRequest, bytes: number): void => {
    budget.reserve(request, request.bodyBytes, bytes);
    request.bodyBytes += bytes;
  };

  const release = (request: FastifyRequest): void => {
    if (request.bodyBytes === 0) return;
    streaming.delete(request.raw.socket);
    budget.release(request, request.bodyBytes);
    request.bodyBytes = 0;
  };

  return {
    release,
    stream: (request, payload, done) => {
      try {
        if (!request.context.route?.imports)
          throw new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.');
        requireUncompressed(request);
        requireScope(request);
        reserve(request, streamBytes);
        streaming.add(request.raw.socket);
        done(null, payload);
      } catch (err) {
        done(err as Error);
      }
    },
    read: (request, payload, done) => {
      const settle = (err: Error | null, value?: unknown) => {
        if (err !== null) release(request);
        done(err, value);
      };
      const { bodyBytesMax, largeBodyBytesMax } = limits;
      const { route } = request.context;
      if (route?.imports === 'only')
        return done(
          new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/x-ndjson or text/csv.'),
        );
      const isLarge = route?.largeBody === true;
      readBody(request, payload, {
        bodyBytesMax: isLarge ? largeBodyBytesMax : bodyBytesMax,
        weightMax: keyBytesMax,
        reserve,
        settle,
      });
    },
  };
}

/**
 * Bodies that arrive together would else be worked on in one turn of the event loop. What follows a body that was read, up
 * to its first wait, is part of its last step.
 */
const inTurn = ({ context }: FastifyRequest, step: () => void): void =>
  void nextTurn(context.principal?.accountId).then(step);

const leavingTurn = createTurns();

/**
 * For the error of a body, which says only that its client has left. Nothing was done with what had arrived. Thousands of
 * clients may leave at once, so their requests end one in a turn.
 */
export const whenClientLeft = (finish: (err: HubError) => void): void =>
  void leavingTurn().then(() => finish(new HubError('CANCELLED', 'The client disconnected.')));

interface ReadOptions {
  bodyBytesMax: number;
  /** The most that the bytes and values of one body count. */
  weightMax: number;
  /** Throws RATE_LIMITED or UNAVAILABLE. */
  reserve(request: FastifyRequest, bytes: number): void;
  /** Called once. */
  settle(err: Error | null, value?: unknown): void;
}

function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  { bodyBytesMax, weightMax, reserve, settle }: ReadOptions,
): void {
  const body = new JsonBody();
  let turnBytes = 0;
  let isDone = false;
  const finish = (err: Error | null, value?: unknown): void => {
    if (isDone) return;
    isDone = true;
    payload.off('data', take).off('end', end).off('error', leave);
    settle(err, value);
  };
  const attempt = (step: () => void): void => {
    try {
      step();
    } catch (err) {
      finish(err as Error);
    }
  };
  const take = (chunk: Buffer) =>
    attempt(() => {
      const bytes = body.bytes + chunk.length;
      if (bytes > bodyBytesMax) throw tooLarge(bodyBytesMax);
      if (bytes > request.bodyBytes) reserve(request, bytes - request.bodyBytes);
      body.push(chunk);
      // One body alone is never too heavy.
      const weight = Math.min(body.weight, weightMax);
      if (weight > request.bodyBytes) reserve(request, weight - request.bodyBytes);
      turnBytes += chunk.length;
      if (turnBytes < turnBytesMax) return;
      turnBytes = 0;
      payload.pause();
      setImmediate(() => isDone || payload.resume());
    });
  const parse = () =>
    attempt(() => {
      if (body.bytes > 0) request.parsed = body.end();
      if (body.bytes <= turnBytesMax) finish(null, request.parsed?.value);
      else inLaterTurn(() => finish(null, request.parsed?.value));
    });
  /** Its client may leave before that turn. */
  const inLaterTurn = (step: () => void): void =>
    inTurn(request, () =>
      attempt(() => {
        request.context.requireOpen();
        requireHeap('grow');
        step();
      }),
    );
  const end = () => {
    if (body.bytes <= turnBytesMax) parse();
    else inLaterTurn(parse);
  };
  const leave = (): void => whenClientLeft(finish);
  attempt(() => {
    const { 'content-length': length = '0' } = request.headers;
    if (Number(length) > bodyBytesMax) throw tooLarge(bodyBytesMax);
    requireUncompressed(request);
    requireScope(request);
    reserve(request, Number(length));
    payload.on('data', take).on('end', end).on('error', leave);
  });
}

function requireUncompressed({ headers }: FastifyRequest): void {
  const { 'content-encoding': content = '', 'transfer-encoding': transfer = '' } = headers;
  // Node reads the chunks of a body and leaves other transfer codings to the program.
  if (['', 'identity'].includes(content.toLowerCase()) && ['', 'chunked'].includes(transfer.toLowerCase()))
    return;
  throw new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed.');
}

const tooLarge = (bytesMax: number) =>
  new HubError('TOO_LARGE', `The body is larger than ${bytesMax} bytes, the most that this path accepts.`);

/** The hub drops about this many bytes of all refused bodies together in each interval. */
const drainedBytes = 65_536;
const drainIntervalMs = 1;
/** After this time the connection of a refused body is closed. */
const drainMaxMs = 30_000;
/** Each refused body that has not ended holds up to 128 KiB: what was parsed, and what was read from its socket. */
const drainsMax = 64;

const methodsWithoutBody = new Set(['GET', 'HEAD']);

/** True if Fastify answers the request without reading its body. */
export const isIgnoredBody = (request: IncomingMessage): boolean =>
  methodsWithoutBody.has(request.method ?? '') && hasBody(request);

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/**
 * Reads refused bodies to their end, for a limited time. Closing the connection instead would reset it, and the client
 * would often lose the answer. The hub reads slowly, so that other requests do not wait. If too many bodies are being
 * read, it closes the connection of the oldest one, whose client has had the most time to read the answer.
 */
export function createBodyDrain(): (request: IncomingMessage) => void {
  const draining = new Set<IncomingMessage>();
  const readable = new Set<IncomingMessage>();
  let isRunning = false;

  const next = (): void => {
    let bytes = 0;
    for (const request of readable) {
      readable.delete(request);
      bytes += request.read()?.length ?? 0;
      if (bytes >= drainedBytes) break;
    }
    isRunning = readable.size > 0;
    if (isRunning) setTimeout(next, drainIntervalMs);
  };

  return (request) => {
    // A request whose client has left emits nothing more, and would be held for ever.
    if (request.complete || request.destroyed || !hasBody(request) || draining.has(request)) return;
    draining.add(request);
    const cut = setTimeout(() => request.destroy(), drainMaxMs).unref();
    const forget = (): void => {
      clearTimeout(cut);
      draining.delete(request);
      readable.delete(request);
    };
    request.on('error', () => {});
    request.on('end', forget).on('close', forget);
    // With this listener Node reads from the socket only after `read` has emptied the buffer. Node does not emit the
    // event for what a reader that has just stopped left in the buffer, so the first read does not wait for it.
    const readSoon = (): void => {
      readable.add(request);
      if (!isRunning) setTimeout(next, drainIntervalMs);
      isRunning = true;
    };
    request.on('readable', readSoon);
    readSoon();
    const [oldest] = draining;
    if (draining.size > drainsMax) oldest?.destroy();
  };
}
