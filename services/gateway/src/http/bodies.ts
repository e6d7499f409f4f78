/** Bodies of requests: read only for whom the scope allows it, and within a budget of bytes for each key and the process. */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { requireScope } from '../access/authenticate.ts';
import { JsonBody } from './json-parser.ts';

export interface BodiesOptions {
  /** Bytes of bodies under way, from their headers until their answers. */
  bytesMax: number;
  /** Of one key. */
  keyBytesMax: number;
}

export interface Bodies {
  /** For `addContentTypeParser`: media type and key are checked before. */
  read(
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (err: Error | null, body?: unknown) => void,
  ): void;
  /** Once the answer is over. */
  release(request: FastifyRequest): void;
}

/** A quarter of the budget is for small bodies alone, so that large ones that arrive slowly do not keep them out. */
const smallBytesMax = 65_536;
const largeShare = 0.75;

export function createBodies({ bytesMax, keyBytesMax }: BodiesOptions): Bodies {
  const keys = new Map<string, number>();
  let underWay = 0;

  const reserve = (request: FastifyRequest, bytes: number): void => {
    const key = nameOf(request);
    const ofKey = (keys.get(key) ?? 0) + bytes;
    if (ofKey > keyBytesMax)
      throw busy(
        'RATE_LIMITED',
        `This key has ${keyBytesMax} bytes of bodies under way, and may have no more.`,
      );
    const room = request.bodyBytes + bytes <= smallBytesMax ? bytesMax : bytesMax * largeShare;
    if (underWay + bytes > room) throw busy('UNAVAILABLE', 'The hub is busy with other large bodies.');
    keys.set(key, ofKey);
    underWay += bytes;
    request.bodyBytes += bytes;
  };

  const release = (request: FastifyRequest): void => {
    if (request.bodyBytes === 0) return;
    const key = nameOf(request);
    const left = (keys.get(key) ?? 0) - request.bodyBytes;
    if (left > 0) keys.set(key, left);
    else keys.delete(key);
    underWay -= request.bodyBytes;
    request.bodyBytes = 0;
  };

  const read: Bodies['read'] = (request, payload, done) => {
    const bodyBytesMax = request.context.route.config.bodyBytesMax ?? 0;
    const body = new JsonBody();
    let isDone = false;
    const settle = (err: Error | null, value?: unknown): void => {
      if (isDone) return;
      isDone = true;
      payload.off('data', take).off('end', end).off('error', settle);
      if (err !== null) release(request);
      done(err, value);
    };
    const attempt = (step: () => void): void => {
      try {
        step();
      } catch (err) {
        settle(err as Error);
      }
    };
    const take = (chunk: Buffer) =>
      attempt(() => {
        const bytes = body.bytes + chunk.length;
        if (bytes > bodyBytesMax) throw tooLarge();
        if (bytes > request.bodyBytes) reserve(request, bytes - request.bodyBytes);
        body.push(chunk);
      });
    const end = () =>
      attempt(() => {
        if (body.bytes > 0) request.parsed = body.end();
        settle(null, request.parsed?.value);
      });
    attempt(() => {
      const { 'content-encoding': coding = '', 'content-length': length = '0' } = request.headers;
      if (Number(length) > bodyBytesMax) throw tooLarge();
      if (!['', 'identity'].includes(coding.toLowerCase()))
        throw new HubError('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed.');
      requireScope(request);
      reserve(request, Number(length));
      payload.on('data', take).on('end', end).on('error', settle);
    });
  };

  return { read, release };
}

/** Keys made with a rated one share its budget. */
function nameOf({ context: { principal } }: FastifyRequest): string {
  return principal?.budgets?.budgets[0]?.id ?? principal?.keyId ?? '';
}

const tooLarge = () => new HubError('TOO_LARGE', 'The body is larger than this takes.');

const busy = (code: 'RATE_LIMITED' | 'UNAVAILABLE', message: string) =>
  new HubError(code, `${message} Try again later.`, { retryable: true, retryAfterMs: 1_000 });
