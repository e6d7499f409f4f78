/**
 * Compresses answers for clients that ask for it. Each chunk of a stream is flushed, so that the first rows are sent at
 * once. Compressors share libuv's threads with DNS look-ups, so their number is bounded; beyond it, answers are sent
 * uncompressed.
 */

import type { ServerResponse } from 'node:http';
import type { Transform, Writable } from 'node:stream';
import {
  brotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  gzip,
  zstdCompress,
} from 'node:zlib';
import type { FastifyReply, FastifyRequest, onSendHookHandler } from 'fastify';
import { readWeights } from '../http/weights.ts';

export interface Compressor {
  pipeTo(response: ServerResponse): Writable;
}

export interface Compression {
  /** Compresses a complete answer. Hooks that store the answer run before it. */
  onSend: onSendHookHandler;
  /** The coding of an answer of this length; undefined if it would be sent uncompressed. */
  codingOf(request: FastifyRequest, bytes?: number): Coding | undefined;
  /** Opens a compressor for a stream, before its headers are sent. Undefined if the stream is sent uncompressed. */
  open(request: FastifyRequest, reply: FastifyReply, bytes?: number): Compressor | undefined;
}

type Coding = 'zstd' | 'br' | 'gzip';

/** A smaller answer is sent uncompressed, because it fits into one packet anyway. */
const plainBytesMax = 1_024;
/** A compressor needs up to 5 MB, and one of libuv's four threads for some milliseconds per chunk. */
export const compressorsMax = 32;

const zstd = {
  params: { [constants.ZSTD_c_compressionLevel]: 3, [constants.ZSTD_c_windowLog]: 20 },
};
const brotli = {
  params: {
    [constants.BROTLI_PARAM_QUALITY]: 4,
    [constants.BROTLI_PARAM_LGWIN]: 20,
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
  },
};
const level = { level: 5 };

type Done = (err: Error | null, bytes: Buffer) => void;
const compress: Record<Coding, (bytes: string | Buffer, done: Done) => void> = {
  zstd: (bytes, done) => zstdCompress(bytes, zstd, done),
  br: (bytes, done) => brotliCompress(bytes, brotli, done),
  gzip: (bytes, done) => gzip(bytes, level, done),
};
const createStream: Record<Coding, () => Transform> = {
  zstd: () => createZstdCompress({ ...zstd, flush: constants.ZSTD_e_flush }),
  br: () => createBrotliCompress({ ...brotli, flush: constants.BROTLI_OPERATION_FLUSH }),
  gzip: () => createGzip({ ...level, flush: constants.Z_SYNC_FLUSH }),
};

export function createCompression({ enabled }: { enabled: boolean }): Compression {
  let running = 0;
  const codingFor = (request: FastifyRequest, reply: FastifyReply): Coding | undefined => {
    const accepted = request.headers['accept-encoding'];
    // No cache stores answers to POST, so they need Vary only if the request has Accept-Encoding.
    if (accepted !== undefined || request.method !== 'POST') addVary(reply, 'accept-encoding');
    if (accepted === undefined || running >= compressorsMax || request.method === 'HEAD') return undefined;
    return chooseCoding(String(accepted));
  };
  return {
    onSend: (request, reply, payload, done) => {
      const coding = enabled && reply.statusCode === 200 ? codingFor(request, reply) : undefined;
      if (coding === undefined || !isText(payload) || Buffer.byteLength(payload) <= plainBytesMax)
        return done();
      running++;
      compress[coding](payload, (err, bytes) => {
        running--;
        if (err) return done();
        setCoding(reply, coding);
        done(null, bytes);
      });
    },

    codingOf: ({ headers }, bytes = Number.POSITIVE_INFINITY) => {
      const accepted = headers['accept-encoding'];
      return enabled && accepted !== undefined && bytes > plainBytesMax
        ? chooseCoding(String(accepted))
        : undefined;
    },

    open: (request, reply, bytes = Number.POSITIVE_INFINITY) => {
      const coding = enabled ? codingFor(request, reply) : undefined;
      if (coding === undefined || bytes <= plainBytesMax) return undefined;
      setCoding(reply, coding);
      running++;
      const stream = createStream[coding]();
      stream.on('close', () => running--);
      return {
        pipeTo: (response) => {
          stream.on('error', () => response.destroy());
          // A client that left before the first rows has closed the response already.
          if (response.closed) stream.destroy();
          response.on('close', () => stream.destroy());
          stream.pipe(response);
          return stream;
        },
      };
    },
  };
}

/** Each coding has an ETag of its own. */
function setCoding(reply: FastifyReply, coding: Coding): void {
  const etag = reply.getHeader('etag');
  if (typeof etag === 'string') reply.header('etag', etag.replace(/"$/, `-${coding}"`));
  reply.header('content-encoding', coding);
}

const isText = (payload: unknown): payload is string | Buffer =>
  typeof payload === 'string' || payload instanceof Buffer;

/** Adds a name to the header `Vary`, which the CORS plugin may have set. */
export function addVary(reply: FastifyReply, name: string): void {
  const sent = reply.getHeader('vary');
  if (sent === undefined) {
    reply.header('vary', name);
    return;
  }
  const names = String(sent).toLowerCase();
  // Most names are new. Only one that occurs, perhaps inside another name, is worth a split.
  if (!names.includes(name) || !names.split(/,\s*/).includes(name)) reply.header('vary', `${sent}, ${name}`);
}

/** In order of preference: the coding that needs the least CPU comes first. */
const codings: readonly Coding[] = ['zstd', 'br', 'gzip'];

/** The accepted coding with the most weight (RFC 9110, 12.5.3); undefined for none, or if `identity` has more. */
export function chooseCoding(accepted: string): Coding | undefined {
  const weights = readWeights(accepted);
  let best: Coding | undefined;
  let most = weights.get('identity')?.weight ?? 0;
  for (const coding of codings) {
    const { weight } = weights.get(coding) ?? weights.get('*') ?? { weight: 0 };
    if (weight > most || (weight === most && weight > 0 && best === undefined)) {
      best = coding;
      most = weight;
    }
  }
  return best;
}
