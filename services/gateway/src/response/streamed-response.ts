/** Passes the bytes of an execution's answer from the executor to the client. */

import type { ServerResponse } from 'node:http';
import type { Writable } from 'node:stream';
import { endingMark, formats } from '@datahub/contract/formats';
import type { Cut, ExecutionReply } from '@datahub/executor-session/executor';
import type { CacheInfo } from '@datahub/proto/executor/v1/executor';
import { toHubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Idempotency, responseBytesMax } from '../http/idempotency.ts';
import type { Problem } from '../http/problem-details.ts';
import type { QueryTargets } from '../http/query-targets.ts';
import type { FieldPointers } from '../http/request-error.ts';
import { setCacheHeaders, setHeadHeaders, unchangedTag } from './cache-headers.ts';
import { addVary, type Compression } from './compression.ts';
import type { OutputFormat } from './format.ts';
import { limitUnreadEnd, type ResponseBudget } from './response-budget.ts';

const textBytesMax = 8_192;
const isShortText = (whole: Buffer, { name }: OutputFormat): boolean =>
  whole.length <= textBytesMax && formats[name].isText;
/** The trailer of an answer in CSV, Arrow or XLSX whose rows were cut by a limit, or that lacks further results. */
const truncatedTrailer = 'x-truncated';
/** A header, or such a trailer, of an answer that lacks further results. */
const moreResultsHeader = 'x-more-results';

export interface ResponseSettings {
  targets: QueryTargets;
  stallTimeoutMs: number;
  idempotency: Idempotency;
  compression: Compression;
  responseBudget: ResponseBudget;
  /** Counts one more request of the caller against its rates. Throws or rejects with RATE_LIMITED. */
  admit(request: FastifyRequest, reply: FastifyReply): Promise<void>;
  /**
   * For an answer that has begun: notes the failure, drops the rest of the body, and returns the problem to end with.
   */
  failMidway(err: unknown, request: FastifyRequest): Problem;
  /** For one of several answers of a request that goes on: notes the failure, and returns its problem and headers. */
  failPart(
    err: unknown,
    request: FastifyRequest,
    pointers: FieldPointers,
  ): { problem: Problem; headers: Record<string, string> };
}

interface StreamOptions {
  settings: ResponseSettings;
  format: OutputFormat;
  /** Set to write after the rows how they ended. `maxRows` is that of the request. */
  ending?: { maxRows: number | undefined } | undefined;
}

/**
 * Sends an answer of one chunk in one piece with its length, and streams a larger one. If the execution fails after the
 * first chunk was sent, it destroys the connection, so that the client cannot mistake the answer for a complete one. With
 * `ending`, the client reads the failure after the rows instead.
 */
export class StreamedResponse implements ExecutionReply {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #response: ServerResponse;
  /** The response, or a compressor in front of it. */
  #sink: Writable;
  readonly #options: StreamOptions;
  #cut: Cut | undefined;
  #timings: string | undefined;
  /** Undefined if the query has no cache. */
  #cache: CacheInfo | undefined;
  /** The whole answer, if it is one chunk. */
  #whole: Buffer | undefined;
  #streaming = false;
  #onDrain: () => void = () => {};
  #stall: NodeJS.Timeout | undefined;
  /** The bytes sent so far, to be stored for an idempotency key. Undefined without a key, or if they are too many. */
  #sent: Buffer[] | undefined;
  #sentBytes = 0;

  constructor(request: FastifyRequest, reply: FastifyReply, options: StreamOptions) {
    this.#request = request;
    this.#reply = reply;
    this.#response = reply.raw;
    this.#sink = reply.raw;
    this.#options = options;
    if (request.operationId !== undefined) this.#sent = [];
  }

  chunk(bytes: Buffer, last = false): boolean {
    if (last && !this.#streaming) {
      this.#whole = bytes;
      return true;
    }
    this.#startStream();
    return this.#write(bytes);
  }

  onDrain(listener: () => void): void {
    this.#onDrain = listener;
  }

  unknownContext(names: string): void {
    this.#reply.header('x-datahub-unknown-context', names);
  }

  timings(metrics: string): void {
    this.#timings = metrics;
  }

  cached(info: CacheInfo): void {
    this.#cache = info;
  }

  notesCommit(): void {
    this.#request.notesCommit = true;
  }

  truncated(cut: Cut): void {
    this.#cut = cut;
  }

  /** Before the first byte, answers with the failure. After it, destroys the connection. */
  async fail(err: unknown): Promise<FastifyReply> {
    clearTimeout(this.#stall);
    if (!this.#streaming) throw err;
    const { ending, settings } = this.#options;
    if (ending !== undefined && !this.#response.destroyed)
      this.#close(toEnding({ problem: settings.failMidway(err, this.#request) }));
    else {
      const { code, partial = false } = toHubError(err);
      this.#request.failedWith = code;
      this.#request.failedPartly = partial;
      this.#response.destroy();
    }
    await this.#settle(undefined);
    return this.#reply;
  }

  /** Returns a small answer for Fastify to send, or ends a streamed one. */
  finish(): string | Buffer | FastifyReply | Promise<FastifyReply> {
    clearTimeout(this.#stall);
    if (this.#cache?.notModified === true) return this.#notModified(this.#cache);
    this.#writeEnding();
    const cut = this.#cut !== undefined && this.#trailer;
    const whole = this.#whole;
    if (this.#cut?.moreResults && !this.#streaming) this.#reply.header(moreResultsHeader, 'true');
    if (cut) {
      // Only a streamed answer can have a trailer.
      this.#startStream(whole?.length);
      if (whole !== undefined) this.#write(whole);
    }
    if (this.#streaming) return this.#end(cut);
    this.#reply.header('content-type', this.#options.format.contentType);
    this.#setCacheHeaders();
    if (this.#timings !== undefined) {
      const totalMs = this.#noteOverhead(this.#timings);
      this.#reply.header(
        'server-timing',
        `${this.#timings}, total;dur=${Math.round(totalMs * 1_000) / 1_000}`,
      );
    }
    // Node sends a string together with the head, in one write.
    return whole === undefined ? '' : isShortText(whole, this.#options.format) ? whole.toString() : whole;
  }

  /** Answers HEAD with the headers that are known without running the query. */
  headers(): FastifyReply {
    const info = this.#cache;
    if (info?.notModified === true) return this.#notModified(info);
    const { ending, settings } = this.#options;
    const { compression } = settings;
    if (ending !== undefined) this.#setCacheHeaders();
    else if (info !== undefined) setHeadHeaders(this.#request, this.#reply, { info, compression });
    sendHeaders(this.#reply, this.#options.format.contentType);
    this.#response.end();
    return this.#reply;
  }

  #setCacheHeaders(): void {
    if (this.#cache === undefined) return;
    setCacheHeaders(this.#request, this.#reply, this.#cache);
    // That of the cache names the answer without its ending.
    if (this.#options.ending !== undefined) this.#reply.removeHeader('etag');
  }

  #writeEnding(): void {
    if (this.#options.ending === undefined) return;
    const ending = toEnding(this.#cut === undefined ? {} : this.#cutJson(this.#cut, this.#options.ending));
    if (this.#streaming) this.#write(ending);
    else this.#whole = Buffer.concat([this.#whole ?? Buffer.alloc(0), ending]);
  }

  #cutJson({ rows, moreResults }: Cut, { maxRows }: { maxRows: number | undefined }): object {
    if (moreResults) return { truncated: true, rows, moreResults };
    return { truncated: true, rows, limit: limitOf(rows, this.#request, maxRows) };
  }

  #notModified(info: CacheInfo): FastifyReply {
    const coding = this.#options.settings.compression.codingOf(this.#request, info.bytes);
    setCacheHeaders(this.#request, this.#reply, info);
    addVary(this.#reply, 'accept-encoding');
    return this.#reply
      .code(304)
      .header('etag', unchangedTag(this.#request, info, coding))
      .send();
  }

  /** HTTP/1.0 has neither chunks nor trailers. */
  get #trailer(): boolean {
    return formats[this.#options.format.name].hasTruncatedTrailer && this.#request.raw.httpVersion !== '1.0';
  }

  async #end(cut: boolean): Promise<FastifyReply> {
    await this.#settle(cut);
    const further = this.#cut?.moreResults ? { [moreResultsHeader]: 'true' } : {};
    if (cut) this.#response.addTrailers({ [truncatedTrailer]: 'true', ...further });
    this.#close();
    return this.#reply;
  }

  #close(last?: Buffer): void {
    this.#sink.end(last);
    // A stream that ends reports no drain.
    clearTimeout(this.#stall);
    limitUnreadEnd(this.#response, this.#options.settings.stallTimeoutMs);
  }

  /** Streamed answers do not pass the hook that stores other answers for idempotency keys. */
  async #settle(cut: boolean | undefined): Promise<void> {
    const { idempotency } = this.#options.settings;
    if (this.#request.operationId === undefined) return;
    const whole = cut === false && this.#sent !== undefined ? Buffer.concat(this.#sent) : undefined;
    const unstored = cut ? 'The answer was truncated, and its trailer is not stored for repeats.' : undefined;
    // The answer stays valid. The record stays open, and a repeat is answered with OUTCOME_UNKNOWN.
    await idempotency.finish(this.#request, this.#reply, { payload: whole, unstored }).catch(() => {});
  }

  /** `bytes`: the length of the answer, if it is known. */
  #startStream(bytes?: number): void {
    if (this.#streaming) return;
    this.#streaming = true;
    if (this.#timings !== undefined) {
      this.#noteOverhead(this.#timings);
      this.#reply.header('server-timing', this.#timings);
    }
    this.#setCacheHeaders();
    if (this.#trailer) this.#reply.header('trailer', `${truncatedTrailer}, ${moreResultsHeader}`);
    const compressor = this.#options.settings.compression.open(this.#request, this.#reply, bytes);
    sendHeaders(this.#reply, this.#options.format.contentType);
    this.#sink = compressor?.pipeTo(this.#response) ?? this.#response;
    this.#sink.on('drain', () => {
      clearTimeout(this.#stall);
      this.#request.context.resumed();
      this.#onDrain();
    });
  }

  /** Returns the time since the request began. */
  #noteOverhead(timings: string): number {
    const totalMs = performance.now() - this.#request.context.startedAt;
    this.#request.overheadMs = Math.max(0, totalMs - sumOfDurations(timings));
    return totalMs;
  }

  #keep(bytes: Buffer): void {
    this.#sentBytes += bytes.length;
    if (this.#sentBytes > responseBytesMax) this.#sent = undefined;
    else this.#sent?.push(bytes);
  }

  #write(bytes: Buffer): boolean {
    this.#keep(bytes);
    if (this.#response.destroyed || this.#sink.write(bytes)) return true;
    clearTimeout(this.#stall);
    this.#request.context.paused();
    this.#stall = setTimeout(() => this.#response.destroy(), this.#options.settings.stallTimeoutMs);
    return false;
  }
}

/** Whose limit cut the rows after so many. */
export const cutters = ['key', 'request', 'hub'] as const;

export function limitOf(
  rows: number,
  { context }: FastifyRequest,
  maxRows: number | undefined,
): (typeof cutters)[number] {
  return rows === context.principal?.limits?.maxRows ? 'key' : rows === maxRows ? 'request' : 'hub';
}

const toEnding = (ending: object): Buffer => Buffer.from(`${endingMark}${JSON.stringify(ending)}\n`);

/** The sum of `queue`, `connect` and the time at the database in the header `Server-Timing`. */
function sumOfDurations(timings: string): number {
  let sum = 0;
  for (const metric of timings.split(', ')) sum += Number(metric.slice(metric.indexOf('=') + 1));
  return sum;
}

/** For an answer that is written to `reply.raw`. */
export function sendHeaders(reply: FastifyReply, contentType: string): void {
  reply.header('content-type', contentType).hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.writeHead(200);
}
