/** The API of a hub, through the client, with all digits of numbers. */

import { type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http';
import { request as overHttps } from 'node:https';
import { pipeline } from 'node:stream';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { type Client, createClient, ProblemError, type Routes } from '@datahub/client';
import { type Access, keyOf } from './access.ts';
import { parseExact, restoreDigits } from './exact-numbers.ts';
import { CommandError, exitCodes, isOfProxy } from './failure.ts';

export interface Hub extends Client {
  access: Access;
}

const timeoutMs = 60_000;

export function openHub(access: Access): Hub {
  const exactFetch: typeof fetch = async (url, init) => {
    const { body } = init ?? {};
    const headers = new Headers(init?.headers);
    headers.set('x-service-api-key', await keyOf(access));
    const response = await fetch(url, {
      ...init,
      headers,
      ...(typeof body === 'string' ? { body: restoreDigits(body) } : {}),
    });
    return Object.assign(response, { json: async () => parseExact(await response.text()) });
  };
  const client = createClient({ ...access, timeoutMs, fetch: exactFetch });
  const call: Client['call'] = (route, ...input) =>
    client.call(route, ...input).catch((err) => Promise.reject(isReading(route) ? err : asLost(err)));
  return { ...client, access, call };
}

/** Routes that change nothing. */
const isReading = (route: string): boolean => /^GET |\/(?:check|predict|summarize)$/.test(route);

/** A proxy that answers a change itself may have passed it on. */
function asLost(err: unknown): unknown {
  if (!(err instanceof ProblemError) || !isOfProxy(err.problem)) return err;
  return toProblemError(err.status, '');
}

export interface StreamedRequest {
  method: string;
  path: string;
  headers?: Record<string, string>;
  body?: string | ReadableStream<Uint8Array>;
  signal?: AbortSignal;
}

/** A call whose body or answer is streamed. Rejects with a `ProblemError`. */
export async function stream({ access }: Hub, request: StreamedRequest): Promise<Response> {
  const { path, headers, ...init } = request;
  const key = await keyOf(access);
  const response = await fetch(addressOf(access.url, path), {
    ...init,
    ...(typeof init.body === 'object' ? { duplex: 'half' } : {}),
    headers: { ...headers, 'x-service-api-key': key },
    // Following a redirect would send the key to another address.
    redirect: 'manual',
  }).catch((cause) => {
    if (request.signal?.aborted) throw request.signal.reason;
    throw noAnswer(cause);
  });
  if (response.ok) return response;
  throw toProblemError(response.status, await response.text().catch(() => ''));
}

/** An answer whose body is still to be read. It breaks off with an error. */
export interface Received {
  headers: IncomingHttpHeaders;
  body: AsyncIterable<Uint8Array>;
  /** Complete when the body is read. `fetch` hides them. */
  trailers(): NodeJS.Dict<string>;
}

/** As long as `fetch` waits for the head of an answer, and for more of it. */
const idleMsMax = 300_000;

/** Posts JSON. Rejects with a `ProblemError`. */
export async function receive(
  { access }: Hub,
  { path, accept, body }: { path: string; accept: string; body: string },
): Promise<Received> {
  const address = addressOf(access.url, path);
  const headers = {
    'content-type': 'application/json',
    'x-service-api-key': await keyOf(access),
    'accept-encoding': 'gzip',
    accept,
  };
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = address.protocol === 'https:' ? overHttps : overHttp;
    let received: IncomingMessage | undefined;
    const sent = request(address, { method: 'POST', headers, timeout: idleMsMax }, (answer) => {
      received = answer;
      resolve(answer);
    });
    sent.on('error', (cause) => reject(noAnswer(cause)));
    sent.on('timeout', () => {
      // The hub waits, too, for a reader that is behind.
      if (!received?.readableLength) sent.destroy(new Error('The hub sent nothing for too long.'));
    });
    sent.end(body);
  });
  const isCompressed = response.headers['content-encoding'] === 'gzip';
  // Who iterates gets the error.
  const plain = isCompressed ? pipeline(response, createGunzip(), () => {}) : response;
  const { statusCode = 0 } = response;
  if (statusCode < 200 || statusCode > 299)
    throw toProblemError(statusCode, await text(plain).catch(() => ''));
  return { headers: response.headers, body: plain, trailers: () => response.trailers };
}

function addressOf(url: string, path: string): URL {
  const base = new URL(url);
  base.pathname = base.pathname.replace(/\/*$/, '/');
  return new URL(path, base);
}

/** Of a request that may change something. A body that is no problem document leaves the status alone. */
function toProblemError(status: number, body: string): ProblemError {
  let problem: unknown;
  try {
    problem = JSON.parse(body);
  } catch {}
  if (typeof problem === 'object' && problem !== null) return new ProblemError({ ...problem, status });
  const isPassedOn = isOfProxy({ status });
  const detail = `A proxy answered HTTP ${status} in place of the hub.`;
  return new ProblemError(isPassedOn ? { status, detail, retryable: false } : { status });
}

/** Of connections that were not made, so that nothing was sent. */
const unsent = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** Of a request that may change something. */
export function noAnswer(cause: unknown): ProblemError {
  const { code, cause: inner } = Object(cause);
  const retryable = unsent.has(code ?? Object(inner).code);
  const detail = 'The hub did not answer, or the answer broke off.';
  return new ProblemError({ status: 0, code: 'NO_ANSWER', detail, retryable }, { cause });
}

type PagedRoute =
  | 'GET /v1/hubs'
  | 'GET /v1/sources'
  | 'GET /v1/queries'
  | 'GET /v1/classifiers'
  | 'GET /v1/watches'
  | 'GET /v1/boards'
  | 'GET /v1/destinations'
  | 'GET /v1/keys'
  | 'GET /v1/people';

/** All elements of a list. */
export async function listAll<Route extends PagedRoute>(
  hub: Hub,
  route: Route,
  { limit = 1_000, ...query }: { limit?: number; hubId?: string; archived?: '1' } = {},
): Promise<Routes[Route]['answer'][number][]> {
  const found: Routes[Route]['answer'][number][] = [];
  for (;;) {
    let total = 0;
    const page: typeof found = await hub.call(route as PagedRoute, {
      query: { ...query, offset: found.length, limit },
      onResponse: ({ headers }) => {
        total = Number(headers.get('x-total-count') ?? 0);
      },
    });
    found.push(...page);
    if (page.length === 0 || found.length >= total) return found;
  }
}

export type FoundHub = Pick<Routes['GET /v1/hubs/{hubId}']['answer'], 'hubId' | 'label' | 'path'>;

/** `named` is an id, a path or a label. Throws if no hub, or more than one, has that label. */
export async function findHub(hub: Hub, named: string): Promise<FoundHub> {
  if (/^[a-z][a-z0-9-]*\.hub\.[\w-]+$/.test(named))
    return hub.call('GET /v1/hubs/{hubId}', { path: { hubId: named } });
  const hubs = await listAll(hub, 'GET /v1/hubs', { limit: 20 });
  const byPath = hubs.find(({ path }) => path === named);
  if (byPath !== undefined) return byPath;
  return requireOne(
    hubs.filter(({ label }) => label === named),
    { kind: 'hub', named, idOf: ({ hubId }) => hubId, others: hubs.map(({ label }) => label) },
  );
}

/** `named` is an id or a name. */
export async function findClassifierId(hub: Hub, named: string): Promise<string> {
  if (/^[a-z][a-z0-9-]*\.clfr\.[\w-]+$/.test(named)) return named;
  const classifiers = await listAll(hub, 'GET /v1/classifiers');
  const found = classifiers.filter(({ name }) => name === named);
  const others = classifiers.map(({ name }) => name);
  return requireOne(found, { kind: 'classifier', named, idOf: ({ classifierId }) => classifierId, others })
    .classifierId;
}

/** The most names that a message suggests. */
const shownMax = 10;

function requireOne<T>(
  found: readonly T[],
  {
    kind,
    named,
    idOf,
    others: known,
  }: { kind: string; named: string; idOf(one: T): string; others: readonly string[] },
): T {
  const [one, ...others] = found;
  if (one === undefined) {
    const shown = known.slice(0, shownMax).map((label) => JSON.stringify(label));
    const more = known.length > shownMax ? ' and others' : '';
    const text = `No ${kind} has the label ${JSON.stringify(named)}. ${known.length === 0 ? `The key has access to no ${kind}s.` : `There are ${shown.join(', ')}${more}.`}`;
    throw new CommandError(text, exitCodes.notFound);
  }
  if (others.length === 0) return one;
  const ids = found.map(idOf).join(', ');
  throw new CommandError(`Several ${kind}s have this label. Use the id of one of them: ${ids}`);
}
