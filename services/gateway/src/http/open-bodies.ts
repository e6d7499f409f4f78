/**
 * Reads the bodies of requests that need no key. Anybody may send them, so they have no share in the budget of the keys:
 * all of them together hold a fixed number of bytes. The body that began first makes room for others. Its client has had
 * the most time to send it, so clients that send slowly cannot keep others out.
 */

import type { IncomingMessage } from 'node:http';
import { HubError } from '@datahub/service-kit/call/error';
import type { FastifyRequest } from 'fastify';
import { whenClientLeft } from './bodies.ts';

export interface OpenBodies {
  /** A parser for `addContentTypeParser`. `parse` gets the text, and may throw a `HubError`. */
  as<Value>(parse: (text: string) => Value): Parser;
}

type Parser = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (err: Error | null, body?: unknown) => void,
) => void;

export const formType = 'application/x-www-form-urlencoded';
export const parseForm = (text: string): URLSearchParams => new URLSearchParams(text);

interface Reading {
  chunks: Buffer[];
  bytes: number;
  finish(err: Error | null, value?: unknown): void;
}

/** The most bytes of one body. */
const bodyBytesMax = 65_536;
const defaultBytesMax = 16_777_216;

/** `bytesMax` is the most that all bodies hold that have not ended. */
export function createOpenBodies(bytesMax = defaultBytesMax): OpenBodies {
  /** Those that have not ended, the oldest first. */
  const readings = new Set<Reading>();
  let held = 0;

  const makeRoom = (): void => {
    for (const oldest of readings) {
      if (held <= bytesMax) return;
      oldest.finish(crowdedOut());
    }
  };

  return {
    as: (parse) => (request, payload, done) => {
      const reading: Reading = {
        chunks: [],
        bytes: 0,
        finish: (err, value) => {
          if (!readings.delete(reading)) return;
          payload.off('data', take).off('end', end).off('error', leave);
          held -= reading.bytes;
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
    'The hub reads too many other bodies, and this one has taken the longest. Try again.',
    { retryable: true, retryAfterMs: 1_000 },
  );
