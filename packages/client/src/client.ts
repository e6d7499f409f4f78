/** The client: execute, read over GET, stream rows, and call every other route. */

import type { Routes } from '../gen/routes.d.ts';
import { exchange, open, type Settings } from './exchange.ts';
import { createRows, type Rows } from './rows.ts';
import { type Json, toForm, toJson, type Values } from './values.ts';

export interface ClientOptions {
  /** Where the hub is, such as `https://hub.example`. */
  url: string | URL;
  key: string;
  /**
   * Returns the token of the signed-in user. Called for each request, so it should keep the token while it is valid, and
   * once more after a 401.
   */
  token?: () => string | Promise<string>;
  /** Headers of each request, such as `x-request-id`. */
  headers?: Readonly<Record<string, string>>;
  /** The most time for an answer, or for the first byte of streamed rows. Default: 60 s. */
  timeoutMs?: number;
  /**
   * How often a request is repeated that failed for a passing reason, if a repeat is safe: reads, and requests with an
   * `idempotencyKey`. Default: 2.
   */
  retries?: number;
  /** A `Retry-After` above this is not waited for. Default: 10 s. */
  retryWaitMaxMs?: number;
  fetch?: typeof fetch;
}

/** A stored query with the types of its variables and rows. `datahub types` generates such objects. */
export type Query<Variables = Values, Row = Record<string, Json>> = QueryNames & {
  /** Whether it only reads, so that a repeat is safe. Assumed to be false if absent. */
  readonly reads?: boolean;
  /** Holds the types alone; never set. */
  readonly types?: { readonly variables: Variables; readonly row: Row };
};

/** A query is named by its id, or by its path in a hub, whose id or path is `hubId`. */
export type QueryNames =
  | { readonly queryId: string; readonly hubId?: never; readonly path?: never }
  | { readonly hubId: string; readonly path: string; readonly queryId?: never };

export interface ReadOptions {
  maxRows?: number;
  /** `string`: bigint and decimal are always strings. `number`: always numbers, of which JSON.parse may lose digits. */
  numbers?: 'auto' | 'string' | 'number';
  meta?: boolean;
  /** Fails with `VERSION_CHANGED` if the query has another version. */
  version?: number;
  signal?: AbortSignal;
}

export interface ExecuteOptions extends ReadOptions {
  /** Of the statement; lowers the hub's limit. */
  timeoutMs?: number;
  maxAffected?: number;
  dryRun?: boolean;
  /** Fails if the query does not know a name. */
  strict?: boolean;
  /** Makes a repeat of a write safe: the hub runs it once. */
  idempotencyKey?: string;
}

export interface Result<Row> {
  data: Row[];
  /** A limit left out rows, or there are further results. */
  truncated?: true;
  /** The procedure returned further results, which `results` returns. */
  moreResults?: true;
  /** With the option `meta`. */
  meta?: {
    columns: { name: string; type: string }[];
    rowCount: number;
    durationMs: number;
    queueMs: number;
  };
}

/** All results of a procedure. */
export interface AllResults {
  results: { columns: { name: string; type: string }[]; rows: Record<string, Json>[] }[];
  truncated?: true;
  /** With the option `meta`. */
  meta?: { rowCount: number; durationMs: number; queueMs: number };
}

export interface CallOptions {
  signal?: AbortSignal;
  idempotencyKey?: string;
  /** ETags of the versions that may be changed. */
  ifMatch?: string;
  /** Called with the successful response before its body is read, for its headers. */
  onResponse?: (response: Response) => void;
}

/** The values can be left out if each has a default. */
type Given<Variables, Options> =
  Record<never, never> extends Variables
    ? [values?: Variables, options?: Options]
    : [values: Variables, options?: Options];

type CallInput<Route> = Omit<Route, 'answer'> & CallOptions;
type CallArguments<Route> =
  Record<never, never> extends Omit<Route, 'answer'> ? [input?: CallInput<Route>] : [input: CallInput<Route>];

export interface Client {
  /** Runs a query. */
  execute<Variables = Values, Row = Record<string, Json>>(
    query: string | Query<Variables, Row>,
    ...given: Given<Variables, ExecuteOptions>
  ): Promise<Result<Row>>;
  /** Runs a query that writes, such as a CALL, and returns all its results. */
  results<Variables = Values>(
    query: string | Query<Variables, unknown>,
    ...given: Given<Variables, ExecuteOptions>
  ): Promise<AllResults>;
  /** Runs a query that reads over GET, with the values in the URL. */
  data<Variables = Values, Row = Record<string, Json>>(
    query: string | Query<Variables, Row>,
    ...given: Given<Variables, ReadOptions>
  ): Promise<Result<Row>>;
  /** Runs a query and yields each row as it arrives. Throws a ProblemError if the result breaks off. */
  rows<Variables = Values, Row = Record<string, Json>>(
    query: string | Query<Variables, Row>,
    ...given: Given<Variables, Omit<ExecuteOptions, 'meta'>>
  ): Rows<Row>;
  /** Any other route, as in `call('GET /v1/hubs/{hubId}', { path: { hubId } })`. */
  call<Name extends keyof Routes>(
    route: Name,
    ...input: CallArguments<Routes[Name]>
  ): Promise<Routes[Name]['answer']>;
}

/** Requests that change nothing, beside those with GET. */
const reading = /\/(check|data|predict|summarize)$/;

export function createClient(options: ClientOptions): Client {
  const base = new URL(options.url);
  if (!base.pathname.endsWith('/')) base.pathname += '/';
  // Browsers refuse to call `fetch` as a method of another object.
  const settings: Settings = {
    base,
    key: options.key,
    token: options.token,
    headers: options.headers ?? {},
    fetch: options.fetch ?? ((...args) => fetch(...args)),
    timeoutMs: options.timeoutMs ?? 60_000,
    retries: options.retries ?? 2,
    retryWaitMaxMs: options.retryWaitMaxMs ?? 10_000,
  };
  return {
    execute: (query, ...[values, given]) => exchange(settings, toExecution(query, values, given), readJson),
    results: (query, ...[values, given]) =>
      exchange(settings, toExecution(query, values, { ...given, results: 'all' }), readJson),
    data: (query, ...[values, { signal, ...rest } = {}]) => {
      const options = Object.entries(rest).map(([name, value]) => [`options.${name}`, value]);
      const form = toForm({ ...values, ...Object.fromEntries(options) });
      const path = `v1/${toDataPath(query)}${form}`;
      return exchange(settings, { method: 'GET', path, signal, repeatable: true }, readJson);
    },
    rows: (query, ...[values, given]) => {
      const request = toExecution(query, values, { ...given, ending: true });
      const headers = { ...request.headers, accept: 'application/x-ndjson' };
      return createRows(() => open(settings, { ...request, headers }));
    },
    call: (route, ...[input = {}]) => {
      const { onResponse } = input as CallOptions;
      return exchange(settings, toCall(route, input), (response) => {
        onResponse?.(response);
        return readJson(response);
      });
    },
  };
}

function toDataPath(query: string | QueryNames): string {
  if (typeof query === 'string') return `queries/${segment(query)}/data`;
  if (query.queryId !== undefined) return `queries/${segment(query.queryId)}/data`;
  return `hubs/${segment(query.hubId)}/data/${query.path.split('/').map(segment).join('/')}`;
}

function toNames(query: string | QueryNames): object {
  if (typeof query === 'string') return { queryId: query };
  return query.queryId === undefined ? { hubId: query.hubId, path: query.path } : { queryId: query.queryId };
}

/** What would name another path is refused. */
function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError(`${JSON.stringify(id)} is no id.`);
  return encodeURIComponent(id);
}

const readJson = (response: Response) => response.json() as Promise<never>;

function toExecution(
  query: string | (QueryNames & { readonly reads?: boolean }),
  context: unknown,
  { signal, idempotencyKey, ...options }: ExecuteOptions & { results?: 'all'; ending?: true } = {},
) {
  // The query may write since its module was generated, and then the hub must refuse it.
  const reads = typeof query === 'string' ? undefined : query.reads;
  return {
    method: 'POST',
    path: 'v1/queries/execute',
    headers: { 'idempotency-key': idempotencyKey },
    body: toJson({ ...toNames(query), context, options: { ...options, reads } }),
    signal,
    repeatable: reads || idempotencyKey !== undefined,
  };
}

function toCall(route: string, input: object) {
  const {
    path = {},
    query,
    body,
    signal,
    idempotencyKey,
    ifMatch,
  } = input as CallOptions & {
    path?: Record<string, string>;
    query?: Values;
    body?: object;
  };
  const [method = '', template = ''] = route.split(' ');
  const filled = template.slice(1).replace(/\{(\w+)\}/g, (_, name) => segment(path[name] ?? ''));
  return {
    method,
    path: filled + toForm(query ?? {}),
    headers: { 'idempotency-key': idempotencyKey, 'if-match': ifMatch },
    body: body && toJson(body),
    signal,
    repeatable: method === 'GET' || reading.test(route) || idempotencyKey !== undefined,
  };
}
