/** `GET /v1/hubs/:hubId/openapi.json`: an OpenAPI document with the types of each stored query of a hub. */

import { parseExact } from '@datahub/contract/exact-json';
import type { Query } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { readPage, setPageHeaders } from '../../http/pagination.ts';
import { type Handler, paged, type Route } from '../../http/route.ts';
import { addVary } from '../../response/compression.ts';
import type { Upstreams } from '../../upstreams.ts';
import type { Signatures } from '../queries/signatures.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { isKnown, withETag } from './etag.ts';
import { problem } from './problem-schema.ts';
import { type DocumentedQuery, type QueryParts, toQueryParts, toResponses } from './query-operations.ts';
import type { Described } from './value-schemas.ts';

export function hubDocumentRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/hubs/:hubId/openapi.json', scope: 'queries:read', summary: 'Describe the queries of a hub in OpenAPI', query: paged, compressed: true, response: document, handler: createHubDocumentHandler(deps) },
  ];
}

/** The most queries of one document. The parameter `offset` selects further ones. */
const paging = { limitDefault: 500, limitMax: 500 };
/** The catalog's answers include the texts of the queries, which the document does not need, so pages are small. */
const readAtOnceMax = 100;

export const document = {
  type: 'object',
  properties: {
    openapi: { type: 'string' },
    info: { type: 'object' },
    paths: { type: 'object' },
    components: { type: 'object' },
  },
  required: ['openapi', 'info', 'paths', 'components'],
} as const;

function createHubDocumentHandler({ upstreams: { catalog }, signatures }: ResourceDeps): Handler {
  return async (request, reply) => {
    const { hubId } = request.params as { hubId: string };
    const page = readPage(request, paging);
    const { hub } = await catalog.getHub({ hubId }, request.context);
    const { queries, total } = await listQueries(catalog, { hubId, page, request });
    const described = await describeAll(queries, signatures, request);
    const names = toNames(queries);
    const documented = queries.map((query, i) => ({
      name: names[i] as string,
      query,
      described: described.get(query.queryId),
    }));
    const left = total - page.offset - queries.length;
    const pinned = pinnedNames(request);
    const { bytes, etag } = withETag(
      Buffer.from(JSON.stringify(build(hub?.label ?? '', documented, { pinned, left }))),
    );
    setPageHeaders(reply, page, total);
    addVary(reply, 'x-service-api-key');
    reply.headers({ etag, 'cache-control': 'private, no-cache' });
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/json; charset=utf-8').send(bytes);
  };
}

interface Listing {
  hubId: string;
  page: { offset: number; limit: number | undefined };
  request: FastifyRequest;
}

async function listQueries(
  catalog: Upstreams['catalog'],
  { hubId, page, request }: Listing,
): Promise<{ queries: Query[]; total: number }> {
  const queries: Query[] = [];
  const wanted = page.limit ?? paging.limitDefault;
  for (;;) {
    const limit = Math.min(readAtOnceMax, wanted - queries.length);
    const part = { offset: page.offset + queries.length, limit };
    const read = await catalog.listQueries({ hubId, page: part, signatures: true }, request.context);
    for (const query of read.queries) queries.push({ ...query, query: '' });
    if (read.queries.length < limit || queries.length >= wanted) return { queries, total: read.total };
  }
}

const describedAtOnce = 8;
/** After this time the hub describes no further query. Each takes at most a second. */
const describingMs = 1_000;

/** Returns the stored signatures of the queries. Queries without one are described now, as far as time allows. */
async function describeAll(
  queries: readonly Query[],
  signatures: Signatures,
  request: FastifyRequest,
): Promise<Map<string, Described>> {
  const described = new Map<string, Described>();
  const missing: Query[] = [];
  for (const query of queries) {
    if (query.signatureJson === '') missing.push(query);
    else described.set(query.queryId, parseExact(query.signatureJson) as Described);
  }
  const until = performance.now() + describingMs;
  const describe = async () => {
    while (performance.now() < until) {
      const query = missing.shift();
      if (query === undefined) return;
      const signature = await signatures.describe(query, request.context);
      if (signature !== null) described.set(query.queryId, signature as Described);
    }
  };
  await Promise.all(Array.from({ length: describedAtOnce }, describe));
  return described;
}

/** The variables that the key pins. A caller cannot choose their values. */
export function pinnedNames({ context }: FastifyRequest): Set<string> {
  const json = context.principal?.limits?.contextJson ?? '';
  return new Set(json === '' ? [] : Object.keys(JSON.parse(json)));
}

function build(
  label: string,
  documented: readonly DocumentedQuery[],
  { pinned, left }: { pinned: ReadonlySet<string>; left: number },
): object {
  const parts = documented.map((one) => toQueryParts(one, pinned));
  const more = left > 0 ? ` ${left} further queries are on the next pages (offset).` : '';
  return {
    openapi: '3.1.0',
    info: { title: label, version: '1', description: `The stored queries of the hub “${label}”.${more}` },
    security: [{ key: [] }],
    paths: {
      ...(parts.length === 0 ? {} : { '/v1/queries/execute': { post: toExecute(parts) } }),
      ...Object.assign({}, ...parts.map(({ paths }) => paths)),
    },
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-service-api-key' } },
      schemas: { Problem: problem, ...Object.assign({}, ...parts.map(({ schemas }) => schemas)) },
    },
    'x-datahub-queries': parts.map(({ listed }) => listed),
  };
}

function toExecute(parts: readonly QueryParts[]): object {
  const refs = (of: (part: QueryParts) => string) => parts.map((part) => ({ $ref: of(part) }));
  return {
    summary: 'Execute a query',
    description: 'Needs the scope `queries:execute`, and `queries:execute:write` for a query that writes.',
    operationId: 'executeQuery',
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { oneOf: refs(({ executionRef }) => executionRef) },
          examples: Object.fromEntries(parts.map(({ name, example }) => [name, example])),
        },
      },
    },
    responses: toResponses({ anyOf: refs(({ resultRef }) => resultRef) }),
  };
}

/** The reserved words of these languages, and names that generated modules use. */
const reserved = new Set(
  [
    'and arguments as assert async await bool break case catch class const continue debugger def default del delete do',
    'elif else enum eval except export extends false finally float for from function global if implements import in',
    'instanceof int interface is lambda let list match new nonlocal not null or package pass print private protected',
    'public raise return self static str super switch this throw true try type typeof undefined var void while with',
    'yield execute executeQuery',
  ]
    .join(' ')
    .split(' '),
);

/**
 * Returns one name for each query, in order: from its path, else from its label. A name that was used before gets a
 * number. Names from paths come first, so that no label changes them.
 */
export function toNames(queries: readonly { label: string; path?: string | undefined }[]): string[] {
  const used = new Set<string>();
  const toUnique = (text: string): string => {
    const name = toName(text);
    let unique = name;
    for (let count = 2; used.has(unique); count++) unique = `${name}${count}`;
    used.add(unique);
    return unique;
  };
  const paths = queries.map(({ path }) => path).filter((path) => path !== undefined);
  const byPath = new Map(paths.toSorted().map((path) => [path, toUnique(path)]));
  return queries.map(({ path, label }) => byPath.get(path ?? '') ?? toUnique(label));
}

const wordsMax = 12;
/** Unicode has had joiners and the middle dot of Japanese in identifiers since version 15.1. Python refuses them. */
const partsOfNames = /[\p{ID_Continue}--[\u200c\u200d\u30fb]]+/gv;

function toName(label: string): string {
  const words = label.normalize('NFKC').match(partsOfNames) ?? [];
  const camel = words
    .slice(0, wordsMax)
    .map((word) => (word === word.toUpperCase() ? word.toLowerCase() : word))
    .map((word, i) => (i === 0 ? firstTo('toLowerCase', word) : firstTo('toUpperCase', word)))
    .join('');
  if (reserved.has(camel)) return `${camel}Query`;
  return /^\p{ID_Start}/u.test(camel) ? camel : `query${camel}`;
}

function firstTo(change: 'toLowerCase' | 'toUpperCase', word: string): string {
  const [first = '', ...rest] = word;
  return first[change]() + rest.join('');
}
