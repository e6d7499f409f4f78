/** Executes a stored query and passes the bytes of its answer from the executor to the client unchanged. */

import type { ServerResponse } from 'node:http';
import type { ExecutionReply } from '@datahub/executor-session/executor';
import { Format } from '@datahub/proto/executor/v1/executor';
import { HubError, outcomeUnknown, toHubError } from '@datahub/service-kit/call/error';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { exactMember } from '../http/exact-json.ts';
import { answerBytesMax, type Idempotency } from '../http/idempotency.ts';
import { answer, count, type FromSchema, id, list, object, text } from '../http/json-schema.ts';
import type { Handler } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';

export const executeBody = object(
  {
    queryId: id,
    context: { type: ['object', 'null'] },
    options: object({
      timeoutMs: { type: 'integer', minimum: 1, maximum: 3_600_000 },
      maxRows: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      maxAffected: { type: 'integer', minimum: 0, maximum: 4_294_967_295 },
      dryRun: { type: 'boolean' },
      meta: { type: 'boolean' },
      numbers: { type: 'string', enum: ['auto', 'string'] },
      strict: { type: 'boolean' },
    }),
  },
  ['queryId'],
);

type ExecuteBody = FromSchema<typeof executeBody>;

/** The answer in `application/json`. The other formats hold the rows alone. */
export const execution = answer(
  {
    data: list({ type: 'object' }),
    truncated: { const: true },
    meta: answer({
      columns: list(answer({ name: text, type: text })),
      rowCount: count,
      durationMs: { type: 'number' },
      queueMs: { type: 'number' },
    }),
  },
  ['truncated', 'meta'],
);

interface OutputFormat {
  format: Format;
  contentType: string;
}

/** The first is preferred if the caller has no preference. */
const formats = new Map<string, OutputFormat>([
  ['application/json', { format: Format.FORMAT_JSON, contentType: 'application/json; charset=utf-8' }],
  [
    'application/x-ndjson',
    { format: Format.FORMAT_NDJSON, contentType: 'application/x-ndjson; charset=utf-8' },
  ],
  ['text/csv', { format: Format.FORMAT_CSV, contentType: 'text/csv; charset=utf-8; header=present' }],
]);
const json = formats.get('application/json') as OutputFormat;

/** What a range of `Accept` says of the types in it. */
interface Wish {
  weight: number;
  place: number;
}

/** The format that `Accept` gives the most weight, then the first; of the ranges it is in, the narrowest counts. */
export function chooseFormat(accept: string | undefined): OutputFormat {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return json;
  const wishes = new Map<string, Wish>();
  for (const [place, part] of accept.toLowerCase().split(',').entries()) {
    const [range = '', ...parameters] = part.trim().split(/\s*;\s*/);
    const weight = parameters.map((one) => /^q=([\d.]+)$/.exec(one)?.[1]).find((q) => q !== undefined);
    if (!wishes.has(range)) wishes.set(range, { weight: Number(weight ?? 1), place });
  }
  const wishOf = (type: string) =>
    wishes.get(type) ?? wishes.get(`${type.split('/', 1)[0]}/*`) ?? wishes.get('*/*');
  let best: (Wish & { written: OutputFormat }) | undefined;
  for (const [type, written] of formats) {
    const wish = wishOf(type);
    if (wish === undefined || !(wish.weight > (best?.weight ?? 0) || isSooner(wish, best))) continue;
    best = { ...wish, written };
  }
  if (best !== undefined) return best.written;
  throw new HubError('NOT_ACCEPTABLE', 'Answers come as application/json, application/x-ndjson or text/csv.');
}

const isSooner = (wish: Wish, best: Wish | undefined): boolean =>
  best !== undefined && wish.weight === best.weight && wish.place < best.place;

const textBytesMax = 8_192;
/** Says that a limit cut the rows of a CSV answer. */
const truncatedTrailer = 'x-truncated';
const noOptions = { dryRun: false, meta: false, numbersAsStrings: false };

export function createExecuteHandler(
  { executor, catalog }: Upstreams,
  { stallTimeoutMs, idempotency }: { stallTimeoutMs: number; idempotency: Idempotency },
): Handler {
  return async (request, reply) => {
    const body = request.body as ExecuteBody;
    const { format, contentType } = chooseFormat(request.headers.accept);
    // HTTP/1.0 has neither chunks nor trailers.
    const trailer = format === Format.FORMAT_CSV && request.raw.httpVersion !== '1.0';
    const answer = new StreamedAnswer(request, reply, { contentType, trailer, stallTimeoutMs, idempotency });
    const execution = {
      queryId: body.queryId,
      contextJson: contextJson(request, body),
      options: body.options === undefined ? noOptions : toOptions(body.options),
      format,
    };
    try {
      await executor.execute(execution, request.context, answer);
    } catch (err) {
      return answer.fail(await toOutcome(err, request, catalog));
    }
    return answer.finish();
  };
}

/** A client may repeat an execution whose answer was lost only if the query reads. */
async function toOutcome(err: unknown, request: FastifyRequest, catalog: Upstreams['catalog']) {
  if (!(err instanceof HubError) || err.lost !== true) return err;
  const { queryId } = request.body as ExecuteBody;
  const found = await catalog.getQuery({ queryId, signature: false }, request.context).catch(() => undefined);
  if (found?.query?.command !== 'SELECT') return outcomeUnknown(err);
  return new HubError(err.code, err.message, {
    cause: err,
    retryable: true,
    ...(err.retryAfterMs === undefined ? {} : { retryAfterMs: err.retryAfterMs }),
  });
}

function contextJson(request: FastifyRequest, body: ExecuteBody): string {
  if (body.context === undefined || body.context === null) return '';
  if (request.parsed?.exactText === undefined) return JSON.stringify(body.context);
  return exactMember(request.parsed, ['context']) ?? '';
}

function toOptions({ numbers, dryRun = false, meta = false, ...rest }: NonNullable<ExecuteBody['options']>) {
  return { ...rest, dryRun, meta, numbersAsStrings: numbers === 'string' };
}

interface AnswerOptions {
  contentType: string;
  stallTimeoutMs: number;
  trailer: boolean;
  idempotency: Idempotency;
}

/**
 * Sends a small answer, which is one chunk, in one piece with its length, and streams a larger one. When a failure comes
 * after the first chunk was sent, it destroys the connection, so that the client cannot take the answer for complete.
 */
class StreamedAnswer implements ExecutionReply {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #response: ServerResponse;
  readonly #options: AnswerOptions;
  #truncated = false;
  /** The whole answer, where it is one chunk. */
  #whole: Buffer | undefined;
  #streaming = false;
  #onDrain: () => void = () => {};
  #stall: NodeJS.Timeout | undefined;
  /** What was streamed so far, for an idempotency key. Undefined without a key, or if it is too large to store. */
  #sent: Buffer[] | undefined;
  #sentBytes = 0;

  constructor(request: FastifyRequest, reply: FastifyReply, options: AnswerOptions) {
    this.#request = request;
    this.#reply = reply;
    this.#response = reply.raw;
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

  truncated(): void {
    this.#truncated = true;
  }

  /** Before the first byte the failure is the answer. After it the connection is destroyed. */
  async fail(err: unknown): Promise<FastifyReply> {
    clearTimeout(this.#stall);
    if (!this.#streaming) throw err;
    this.#request.failedWith = toHubError(err).code;
    this.#response.destroy();
    await this.#settle(undefined);
    return this.#reply;
  }

  /** Returns a small answer for Fastify to send, or ends a streamed one. */
  finish(): string | Buffer | Promise<FastifyReply> {
    clearTimeout(this.#stall);
    const cut = this.#truncated && this.#options.trailer;
    const whole = this.#whole;
    if (cut) {
      // Only a streamed answer can have a trailer.
      this.#startStream();
      if (whole !== undefined) this.#write(whole);
    }
    if (this.#streaming) return this.#end(cut);
    this.#reply.header('content-type', this.#options.contentType);
    // Node sends a string together with the head, in one write.
    return whole === undefined ? '' : whole.length <= textBytesMax ? whole.toString() : whole;
  }

  async #end(cut: boolean): Promise<FastifyReply> {
    await this.#settle(cut);
    if (cut) this.#response.addTrailers({ [truncatedTrailer]: 'true' });
    this.#response.end();
    return this.#reply;
  }

  /** Streamed answers do not pass the hook that stores other answers for idempotency keys. */
  async #settle(cut: boolean | undefined): Promise<void> {
    const { idempotency } = this.#options;
    if (this.#request.operationId === undefined) return;
    const whole = cut === false && this.#sent !== undefined ? Buffer.concat(this.#sent) : undefined;
    const unstored = cut ? 'The answer was truncated CSV, which cannot be sent again correctly.' : undefined;
    // The answer stays valid. The record stays open, and a repeat is told that the outcome is unknown.
    await idempotency.finish(this.#request, this.#reply, { payload: whole, unstored }).catch(() => {});
  }

  #startStream(): void {
    if (this.#streaming) return;
    this.#streaming = true;
    this.#reply.header('content-type', this.#options.contentType).hijack();
    for (const [name, value] of Object.entries(this.#reply.getHeaders())) {
      if (value !== undefined) this.#response.setHeader(name, value);
    }
    if (this.#options.trailer) this.#response.setHeader('trailer', truncatedTrailer);
    this.#response.writeHead(200);
    this.#response.on('drain', () => {
      clearTimeout(this.#stall);
      this.#onDrain();
    });
  }

  #keep(bytes: Buffer): void {
    this.#sentBytes += bytes.length;
    if (this.#sentBytes > answerBytesMax) this.#sent = undefined;
    else this.#sent?.push(bytes);
  }

  #write(bytes: Buffer): boolean {
    this.#keep(bytes);
    if (this.#response.destroyed || this.#response.write(bytes)) return true;
    clearTimeout(this.#stall);
    this.#stall = setTimeout(() => this.#response.destroy(), this.#options.stallTimeoutMs);
    return false;
  }
}
