/**
 * Sends the answers of several executions: each as a line as soon as it is complete, or in one object in their order. An
 * answer is in memory until it is sent, and counts for the budget of responses.
 */

import type { Writable } from 'node:stream';
import type { Cut } from '@datahub/executor-session/executor';
import type { CacheInfo } from '@datahub/proto/executor/v1/executor';
import type { CallStop } from '@datahub/service-kit/call/call';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WorkingReply } from '../rows/stoppable.ts';
import { cacheFieldsOf } from './cache-headers.ts';
import type { OutputFormat } from './format.ts';
import { limitUnreadEnd } from './response-budget.ts';
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

/** An answer that can be written. */
interface Ready {
  head: string;
  parts: readonly Buffer[];
  /** What it takes of the budget. */
  bytes: number;
}

export class SeveralAnswers {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #settings: ResponseSettings;
  readonly #format: OutputFormat;
  /** Undefined before the first answer is written. */
  #sink: Writable | undefined;
  /** By their indexes. */
  readonly #ready = new Map<number, Ready>();
  #written = 0;
  #heldBytes = 0;
  /** Answers are written one after the other. */
  #turn: Promise<void> = Promise.resolve();

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

  /** Resolves when the next answer is wanted. */
  async send(index: number, held: HeldAnswer): Promise<void> {
    const { head, bytes } = held;
    await this.#add(index, { status: 200, ...head }, { parts: held.takeParts(), bytes });
  }

  /** Sends a problem in place of the answer. `held` is what had come. */
  async fail(index: number, err: unknown, held?: HeldAnswer): Promise<void> {
    held?.takeParts();
    this.#heldBytes -= held?.bytes ?? 0;
    const pointers = { context: `/executions/${index}/values`, options: `/executions/${index}/options` };
    const { problem, headers } = this.#settings.failPart(err, this.#request, pointers);
    const again = headers['retry-after'];
    const head: Head = { status: problem.status, headers: {} };
    if (again !== undefined) head.headers['retry-after'] = again;
    await this.#add(index, head, { parts: [Buffer.from(JSON.stringify(problem))], bytes: 0 });
  }

  /** Call this when all answers were sent. Throws CANCELLED if the client left before the first one. */
  async finish(): Promise<FastifyReply> {
    if (this.#sink === undefined) this.#request.context.requireOpen();
    if (!this.#isLines) await this.#write(Buffer.from(']}'));
    this.#sink?.end();
    limitUnreadEnd(this.#reply.raw, this.#settings.stallTimeoutMs);
    return this.#reply;
  }

  get #isLines(): boolean {
    return this.#format.name === 'ndjson';
  }

  #add(index: number, { status, headers, limit }: Head, body: Omit<Ready, 'head'>): Promise<void> {
    const head = JSON.stringify({ index, status, headers, limit });
    this.#ready.set(index, { ...body, head: `${head.slice(0, -1)},"body":` });
    this.#turn = this.#turn.then(() => this.#writeReady());
    return this.#turn;
  }

  async #writeReady(): Promise<void> {
    for (let next = this.#takeNext(); next !== undefined; next = this.#takeNext()) {
      const before = this.#isLines ? '' : this.#written === 1 ? '{"executions":[' : ',';
      const after = this.#isLines ? '}\n' : '}';
      const parts = [Buffer.from(before + next.head), ...next.parts, Buffer.from(after)];
      const pieces = next.bytes <= pieceBytesMax ? [Buffer.concat(parts)] : parts;
      for (const piece of pieces) await this.#write(piece);
      this.#heldBytes -= next.bytes;
    }
  }

  /** The answer that is written next, if it is there: any line, or the first of the object that was not written. */
  #takeNext(): Ready | undefined {
    const index = this.#isLines ? this.#ready.keys().next().value : this.#written;
    const next = index === undefined ? undefined : this.#ready.get(index);
    if (index === undefined || next === undefined) return undefined;
    this.#ready.delete(index);
    this.#written++;
    return next;
  }

  /** Resolves when the client takes more. */
  async #write(piece: Buffer): Promise<void> {
    if (this.#reply.raw.destroyed) return;
    this.#sink ??= this.#open();
    if (!this.#sink.write(piece)) await this.#drain(this.#sink);
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

/** A small answer is written in one piece. */
const pieceBytesMax = 65_536;

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
  #parts: Buffer[] = [];
  readonly #options: HeldOptions;

  constructor(options: HeldOptions) {
    this.#options = options;
  }

  chunk(bytes: Buffer): boolean {
    const { stop, take } = this.#options;
    if (stop.aborted) return true;
    try {
      take(bytes.length);
      this.bytes += bytes.length;
      this.#parts.push(withoutRest(bytes));
    } catch (err) {
      stop.abort(err);
    }
    return true;
  }

  /** Returns the chunks so far, and forgets them: an error that came from here can live longer than they may. */
  takeParts(): Buffer[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
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

/** A chunk is often a part of a message with those of other answers, which it would keep. */
const withoutRest = (bytes: Buffer): Buffer =>
  bytes.buffer.byteLength === bytes.length ? bytes : Buffer.from(bytes);
