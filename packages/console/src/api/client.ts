/** Calls the REST API with the key of this tab. */

import { consoleForm, formHeader } from '@datahub/contract/call-form';
import { isOfProxy, sendChange } from './changes.ts';
import { connectionLost, connectionWorks } from './connection.ts';
import { parseExact } from './exact.ts';
import { retryAfterOf, sendInTurn } from './rate.ts';
import { credentialsOf, key, keyRefused } from './session.ts';
import type { Problem } from './types.ts';

/** A problem answer of the hub, or a network failure (status 0). */
export class Failure extends Error {
  readonly problem: Problem;
  constructor(problem: Problem) {
    super(problem.detail ?? problem.title ?? 'The request failed.');
    this.problem = problem;
  }
}

export const addressOf = (path: string): string => new URL(path, document.baseURI).href;

export interface CallOptions {
  method?: string;
  /** JSON text, or a value that is converted to JSON. */
  body?: unknown;
  accept?: string;
  signal?: AbortSignal | undefined;
  headers?: Record<string, string>;
  /** The mode of the browser's cache; `no-store` by default. */
  cache?: RequestCache;
  /** A key to use instead of the key of this tab. */
  withKey?: string;
  /** True for a POST that changes nothing. */
  reads?: boolean;
}

/** Resolves to a successful response. Rejects with a Failure, or with an AbortError if `signal` was aborted. */
export async function call(path: string, options: CallOptions = {}): Promise<Response> {
  const { signal, withKey } = options;
  const sendOnce = (headers: Record<string, string> = {}) => {
    const once = () => send(path, { ...options, headers: { ...options.headers, ...headers } });
    // What another key may do is shown as it is.
    return withKey === undefined ? sendInTurn(once, signal) : once();
  };
  const isChange = methodOf(options) === 'POST' && options.reads !== true;
  // The hub takes no Idempotency-Key with a file of examples, nor with messages of MCP.
  const isRepeatable = options.headers?.['content-type'] === undefined && path !== 'mcp';
  const change = { path, body: textOf(options) ?? '', signal };
  const response = await (isChange && isRepeatable ? sendChange(change, sendOnce) : sendOnce());
  if (response.ok) return response;
  const { status, headers } = response;
  const failure = toFailure({ status, headers, body: await response.text().catch(() => '') });
  if (status === 401 && withKey === undefined) keyRefused(failure.problem);
  if (!isOfProxy(failure.problem) || !isWrite(options)) throw failure;
  const detail = `A proxy answered HTTP ${status} in place of the hub, ${unknownEnd}`;
  throw new Failure({ ...failure.problem, title: 'No answer', detail });
}

const textOf = ({ body }: CallOptions): string | undefined =>
  body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
const methodOf = ({ method, body }: CallOptions): string => method ?? (body === undefined ? 'GET' : 'POST');
const isWrite = (options: CallOptions): boolean => methodOf(options) !== 'GET' && options.reads !== true;

/** Sends a call once, whatever its answer is. */
export async function send(path: string, options: CallOptions): Promise<Response> {
  const { signal, accept = 'application/json', headers, withKey, cache = 'no-store' } = options;
  const text = textOf(options);
  const method = methodOf(options);
  const own = credentialsOf(withKey ?? key.value);
  const response = await fetch(addressOf(path), {
    method,
    headers: {
      accept,
      [formHeader]: consoleForm,
      ...own.headers,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: text ?? null,
    signal: signal ?? null,
    cache,
    credentials: own.credentials,
    // Following a redirect would send the key to another address.
    redirect: 'error',
  }).catch((err) => {
    if (err.name === 'AbortError') throw err;
    // A deadline of the console says nothing of the connection.
    if (signal?.aborted !== true) connectionLost();
    return failUnanswered(isWrite(options));
  });
  connectionWorks();
  return response;
}

/** An answer whose body has been read. */
export interface ReadAnswer {
  status: number;
  headers: Headers;
  body: string;
}

/** The failure that an answer tells. */
export function toFailure({ status, headers, body }: ReadAnswer): Failure {
  let problem: object;
  try {
    problem = JSON.parse(body);
  } catch {
    problem = { detail: `The answer was HTTP ${status} without a reason.` };
  }
  return new Failure({ ...problem, status, retryAfterS: retryAfterOf({ headers }) });
}

const unknownEnd = 'so nobody knows whether this was carried out. Look before you do it again.';

function failUnanswered(writes: boolean): never {
  const detail = writes ? `The hub did not answer, ${unknownEnd}` : 'The hub did not answer. Is it running?';
  throw new Failure({ status: 0, title: 'No answer', detail });
}

export const callJson = async <T>(path: string, options?: CallOptions): Promise<T> =>
  parseExact<T>(await (await call(path, options)).text());

/** Reads every page of a list. */
export async function callList<T>(
  path: string,
  options: CallOptions & { pageSize?: number } = {},
): Promise<T[]> {
  const { pageSize = 1_000, ...rest } = options;
  const items: T[] = [];
  for (;;) {
    const page = await callPage<T>(path, { ...rest, offset: items.length, limit: pageSize });
    items.push(...page.items);
    if (page.items.length === 0 || items.length >= page.total) return items;
  }
}

/** A page of a list, and where it is in the whole. */
export interface ListPage<T> {
  items: T[];
  offset: number;
  total: number;
}

export async function callPage<T>(
  path: string,
  { offset, limit, ...rest }: CallOptions & { offset: number; limit: number },
): Promise<ListPage<T>> {
  const separator = path.includes('?') ? '&' : '?';
  const response = await call(`${path}${separator}offset=${offset}&limit=${limit}`, rest);
  const items = parseExact<T[]>(await response.text());
  return { items, offset, total: Number(response.headers.get('x-total-count') ?? 0) };
}

export const isAborted = (err: unknown): boolean => (err as Error)?.name === 'AbortError';
export const problemOf = (err: unknown): Problem =>
  err instanceof Failure
    ? err.problem
    : { status: 0, title: 'The console failed', detail: String((err as Error)?.message ?? err) };
export const part = encodeURIComponent;
