/**
 * Bounds the memory of responses that are sent in one piece, which the process holds until their clients have read them:
 * a budget of bytes for each key and for the process.
 */

import type { ServerResponse } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ByteBudget } from '../http/byte-budget.ts';
import { isReading } from '../http/route.ts';

export interface ResponseBudgetOptions {
  /** The most bytes of all responses together. A response counts from its first reservation until it is sent. */
  bytesMax: number;
  /** The most bytes of the responses of one key. */
  keyBytesMax: number;
}

export interface ResponseBudget {
  /**
   * For a response that is being built and has this many bytes so far. Throws RATE_LIMITED or UNAVAILABLE, and TOO_LARGE if
   * one key can never have a response of this size.
   */
  reserve(request: FastifyRequest, bytes: number): void;
  /**
   * For each response that is about to be sent: counts it, and returns the payload to send. Throws like `reserve`, but not
   * for a change, which was made.
   */
  hold(reply: FastifyReply, payload: unknown): unknown;
  /** Returns the bytes of a request to the budgets, once its response is sent. */
  release(request: FastifyRequest): void;
}

/**
 * Call this for each response. When all of it has been written and its client has not read it yet, closes the connection
 * if the client reads nothing for so long.
 */
export function limitUnread(response: ServerResponse, stallTimeoutMs: number): void {
  // Node emits this when it has passed the last bytes to the socket.
  response.once('prefinish', () => closeUnread(response, stallTimeoutMs));
}

/** Call this when all was written to a compressor. It ends the response only when the client has read enough. */
export function limitUnreadEnd(response: ServerResponse, stallTimeoutMs: number): void {
  if (!response.writableEnded) closeUnread(response, stallTimeoutMs);
}

function closeUnread(response: ServerResponse, stallTimeoutMs: number): void {
  if (response.writableFinished) return;
  const leave = () => response.destroy();
  response.setTimeout(stallTimeoutMs, leave);
  // Before Node's own listener, which starts the timer of idle connections.
  response.prependListener('finish', () => response.off('timeout', leave).setTimeout(0, () => {}));
}

/** Smaller responses do not count. They fit into the buffers of the connection. */
const uncountedBytesMax = 65_536;
const smallBytesMax = 1_048_576;

export function createResponseBudget({ bytesMax, keyBytesMax }: ResponseBudgetOptions): ResponseBudget {
  const budget = new ByteBudget({
    bytesMax,
    keyBytesMax,
    smallBytesMax,
    exceeded: {
      key: `The responses that this key is reading would exceed ${keyBytesMax} bytes, the most that it may read at once.`,
      account: 'The responses that this account is reading take its share of the hub.',
      all: 'The hub is busy with other large responses.',
    },
  });

  const reserve = (request: FastifyRequest, bytes: number): void => {
    const held = request.responseBytes;
    if (bytes <= uncountedBytesMax || bytes <= held) return;
    if (bytes > keyBytesMax)
      throw new HubError(
        'TOO_LARGE',
        `The response is larger than ${keyBytesMax} bytes, the most that a key may read at once. Request a part of it.`,
      );
    budget.reserve(request, held, bytes - held);
    request.responseBytes = bytes;
  };

  return {
    reserve,

    hold: (reply, payload) => {
      const bytes = bytesOf(payload);
      if (bytes <= uncountedBytesMax) return payload;
      const { request } = reply;
      const { route } = request.context;
      // The response to a change is about as large as its body, which counts until then.
      if (route !== undefined && isReading(route)) reserve(request, bytes);
      // Node would copy a string of this length twice.
      return typeof payload === 'string' ? Buffer.from(payload) : payload;
    },

    release: (request) => {
      if (request.responseBytes === 0) return;
      budget.release(request, request.responseBytes);
      request.responseBytes = 0;
    },
  };
}

function bytesOf(payload: unknown): number {
  if (typeof payload === 'string')
    return payload.length <= uncountedBytesMax / 3 ? 0 : Buffer.byteLength(payload);
  return payload instanceof Buffer ? payload.length : 0;
}
