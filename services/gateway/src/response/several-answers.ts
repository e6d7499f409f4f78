/**
 * Sends the answers of several executions: each as a line as soon as it is complete, or all in one object in their
 * order. An answer is in memory until it is sent, and counts for the budget of responses.
 */

import type { Writable } from 'node:stream';
import type { Cut } from '@datahub/executor-session/executor';
import type { CacheInfo } from '@datahub/proto/executor/v1/executor';
import type { CallStop } from '@datahub/service-kit/call/call';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WorkingReply } from '../rows/stoppable.ts';
import { cacheFieldsOf } from './cache-headers.ts';
import type { OutputFormat } from './format.ts';
import { limitOf, type ResponseSettings, sendHeaders } from './streamed-response.ts';

interface Options {
  settings: ResponseSettings;
  format: OutputFormat;
}

/** What is known of an answer besides its body. */
interface Head {
  status: number;
  headers: Record<string, string>;
  limit?: string | undefined;
}

export class SeveralAnswers {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #settings: ResponseSettings;
  readonly #format: OutputFormat;
  /** Where lines are written. Undefined before the first one, and for one object. */
  #sink: Writable | undefined;
  /** The answers of one object. */
  readonly #kept: Buffer[] = [];
  #heldBytes = 0;
  /** Settles when the client has read what was written. */
  #drained: Promise<void> | undefined;

  constructor(request: FastifyRequest, reply: FastifyReply, { settings, format }: Options) {
    this.#request = request;
    this.#reply = reply;
    this.#settings = settings;
    this.#format = format;
  }

  /** Takes the answer of an execution. `stop` ends it if there is no room for it. */
  hold(options: { stop: CallStop; maxRows: number | undefined }): HeldAnswer {
    return new HeldAnswer({
      ...options,
      request: this.#request,
      take: (bytes) => {
        this.#settings.responseBudget.reserve(this.#request, this.#heldBytes + bytes);
        this.#heldBytes += bytes;
      },
    });
  }

  async send(index: number, { head, bytes, body }: HeldAnswer): Promise<void> {
    const isWritten = this.#add(index, { status: 200, ...head }, body);
    if (isWritten === undefined) return;
    await isWritten;
    this.#heldBytes -= bytes;
  }

  /** Sends a problem in place of the answer. `held` is what had come. */
  async fail(index: number, err: unknown, held?: HeldAnswer): Promise<void> {
    this.#heldBytes -= held?.bytes ?? 0;
    const pointers = { context: `/executions/${index}/values`, options: `/executions/${index}/options` };
    const { problem, headers } = this.#settings.failPart(err, this.#request, pointers);
    const again = headers['retry-after'];
    const head: Head = { status: problem.status, headers: {} };
    if (again !== undefined) head.headers['retry-after'] = again;
    await this.#add(index, head, Buffer.from(JSON.stringify(problem)));
  }

  /** All answers were sent, or are returned for Fastify to send. */
  finish(): Buffer | FastifyReply {
    if (this.#sink !== undefined) {
      this.#sink.end();
      return this.#reply;
    }
    this.#reply.header('content-type', this.#format.contentType);
    const parts = this.#kept.flatMap((one, i) => (i === 0 ? [one] : [comma, one]));
    return Buffer.concat([start, ...parts, end]);
  }

  /** Keeps the answer for the one object, or writes its line and returns when it goes on. */
  #add(index: number, { status, headers, limit }: Head, body: Buffer): Promise<void> | undefined {
    const head = JSON.stringify({ index, status, headers, limit });
    const bytes = Buffer.concat([Buffer.from(`${head.slice(0, -1)},"body":`), body, closing]);
    if (this.#format.name === 'ndjson') return this.#write(Buffer.concat([bytes, newline]));
    this.#kept[index] = bytes;
    return undefined;
  }

  async #write(line: Buffer): Promise<void> {
    this.#sink ??= this.#open();
    const response = this.#reply.raw;
    if (response.destroyed || this.#sink.write(line)) return;
    this.#drained ??= this.#drain(this.#sink).finally(() => {
      this.#drained = undefined;
    });
    await this.#drained;
  }

  #open(): Writable {
    const compressor = this.#settings.compression.open(this.#request, this.#reply);
    sendHeaders(this.#reply, this.#format.contentType);
    return compressor?.pipeTo(this.#reply.raw) ?? this.#reply.raw;
  }

  /** The time limit of the request stands still meanwhile. A client that reads nothing is disconnected. */
  async #drain(sink: Writable): Promise<void> {
    const response = this.#reply.raw;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#request.context.paused();
    const stall = setTimeout(() => response.destroy(), this.#settings.stallTimeoutMs);
    sink.once('drain', resolve);
    response.once('close', resolve);
    await promise;
    clearTimeout(stall);
    sink.off('drain', resolve);
    response.off('close', resolve);
    this.#request.context.resumed();
  }
}

const start = Buffer.from('{"executions":[');
const end = Buffer.from(']}');
const comma = Buffer.from(',');
const closing = Buffer.from('}');
const newline = Buffer.from('\n');

interface HeldOptions {
  request: FastifyRequest;
  stop: CallStop;
  maxRows: number | undefined;
  /** Counts bytes that are held. Throws if there is no room for them. */
  take(bytes: number): void;
}

/** Collects one answer in JSON. */
export class HeldAnswer implements WorkingReply {
  readonly head: Omit<Head, 'status'> = { headers: {} };
  bytes = 0;
  readonly #options: HeldOptions;
  readonly #chunks: Buffer[] = [];

  constructor(options: HeldOptions) {
    this.#options = options;
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  chunk(bytes: Buffer): boolean {
    const { stop, take } = this.#options;
    if (stop.aborted) return true;
    try {
      take(bytes.length);
      this.bytes += bytes.length;
      this.#chunks.push(bytes);
    } catch (err) {
      stop.abort(err);
    }
    return true;
  }

  /** Chunks are never refused. */
  onDrain(): void {}

  truncated({ rows, moreResults }: Cut): void {
    const { request, maxRows } = this.#options;
    if (!moreResults) this.head.limit = limitOf(rows, request, maxRows);
  }

  unknownContext(names: string): void {
    this.head.headers['x-datahub-unknown-context'] = names;
  }

  timings(metrics: string): void {
    this.head.headers['server-timing'] = metrics;
  }

  cached(info: CacheInfo): void {
    Object.assign(this.head.headers, cacheFieldsOf(info));
  }

  async finish(): Promise<void> {
    const { stop } = this.#options;
    if (stop.aborted) throw stop.reason;
  }
}
