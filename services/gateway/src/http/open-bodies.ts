/**
 * Reads the bodies of requests that need no key. Anybody may send them, so they have no share in the budget of the keys:
 * all of them together hold a fixed number of bytes until they are answered. Of those that are still read, the body that
 * began first makes room for others. Its client has had the most time to send it, so clients that send slowly cannot keep
 * others out.
 */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { whenClientLeft } from './bodies.ts';

export interface OpenBodies {
  /** A parser for `addContentTypeParser`. `parse` gets the text, and may throw a `HubError`. */
  as<Value>(parse: (text: string) => Value): Parser;
  /** Forgets the body of a request, once nothing needs it. */
  release(request: FastifyRequest): void;
}

type Parser = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (err: Error | null, body?: unknown) => void,
) => void;

export const formType = 'application/x-www-form-urlencoded';
const parametersMax = 1_000;

/** Throws VALIDATION for too many parameters, which would take long. */
export function parseForm(text: string): URLSearchParams {
  if (text.split('&', parametersMax + 1).length > parametersMax)
    throw new HubError('VALIDATION', `A form has at most ${parametersMax} parameters.`);
  return new URLSearchParams(text);
}

interface Reading {
  chunks: Buffer[];
  bytes: number;
  finish(err: Error | null, value?: unknown): void;
}

/** The most bytes of one body. */
const bodyBytesMax = 65_536;
const defaultBytesMax = 16_777_216;

/** `bytesMax` is the most that all bodies hold that are read or wait for their answer. */
export function createOpenBodies(bytesMax = defaultBytesMax): OpenBodies {
  /** Those that are read, the oldest first. */
  const readings = new Set<Reading>();
  let held = 0;

  const makeRoom = (): void => {
    for (const oldest of readings) {
      if (held <= bytesMax) return;
      oldest.finish(crowdedOut());
    }
  };

  return {
    release: (request) => {
      held -= request.openBytes;
      request.openBytes = 0;
    },
    as: (parse) => (request, payload, done) => {
      const reading: Reading = {
        chunks: [],
        bytes: 0,
        finish: (err, value) => {
          if (!readings.delete(reading)) return;
          payload.off('data', take).off('end', end).off('error', leave);
          if (err === null) request.openBytes = reading.bytes;
          else held -= reading.bytes;
          reading.chunks = [];
          done(err, value);
        },
      };
      const take = (chunk: Buffer): void => {
        // A small view of a large buffer would hold all of it.
        reading.chunks.push(Buffer.from(chunk));
        reading.bytes += chunk.length;
        held += chunk.length;
        if (reading.bytes > bodyBytesMax) fail(tooLarge());
        else makeRoom();
      };
      const end = (): void => {
        try {
          reading.finish(null, parse(Buffer.concat(reading.chunks).toString()));
        } catch (err) {
          fail(err as Error);
        }
      };
      const fail = (err: Error): void => reading.finish(err);
      const leave = (): void => whenClientLeft(fail);
      readings.add(reading);
      if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return fail(tooLarge());
      payload.on('data', take).on('end', end).on('error', leave);
    },
  };
}

const tooLarge = () =>
  new HubError(
    'TOO_LARGE',
    `The body is larger than ${bodyBytesMax} bytes, the most that this path accepts.`,
  );

const crowdedOut = () =>
  new HubError(
    'UNAVAILABLE',
    'The hub has too many other bodies, and this one has taken the longest. Try again.',
    { retryable: true, retryAfterMs: 1_000 },
  );
