/** `GET /v1/hubs/:hubId/openapi.json`: an OpenAPI document with the types of each stored query of a hub. */

import { largestResponse } from '@datahub/contract/limits';
import type { Hub, Query } from '@datahub/proto/catalog/v1/catalog';
import { HubError } from '@datahub/service-kit/call/error';
import { normalized } from '@datahub/service-kit/normalized';
import { createLoopYield, type MayYield, nextTurn } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { readPage, setPageHeaders } from '../../http/pagination.ts';
import { publicUrlOf } from '../../http/public-url.ts';
import { type Handler, paged, type Route } from '../../http/route.ts';
import { addVary } from '../../response/compression.ts';
import { writeJson } from '../../response/json-splices.ts';
import type { Upstreams } from '../../upstreams.ts';
import type { Signatures } from '../queries/signatures.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { isKnown, withETag } from './etag.ts';
import { problem } from './problem-schema.ts';
import { type QueryParts, toQueryParts, toResponses } from './query-operations.ts';
import type { Described } from './value-schemas.ts';

export function hubDocumentRoutes(deps: ResourceDeps): Route[] {
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/hubs/:hubId/openapi.json', scope: 'queries:read', summary: 'Describe the queries of a hub in OpenAPI', query: paged, compressed: true, largeAnswer: true, response: document, handler: createHubDocumentHandler(deps) },
  ];
}

/** The most queries of one document. The parameter `offset` selects further ones. */
const paging = { limitDefault: 500, limitMax: 500 };
/** The catalog's answers include the texts of the queries, which the document does not need, so pages are small. */
const readAtOnceMax = 10;

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

function createHubDocumentHandler({
  upstreams: { catalog },
  signatures,
  settings,
  publicOrigin,
}: ResourceDeps): Handler {
  return async (request, reply) => {
    const mayYield = createLoopYield();
    await nextTurn();
    const { hubId: named } = request.params as { hubId: string };
    const page = readPage(request, paging);
    const count: Count = (bytes) => {
      if (bytes > largestResponse) throw tooLarge();
      settings.responseBudget.reserve(request, bytes);
    };
    const { hub } = await catalog.getHub({ hubId: named }, request.context);
    const { hubId, label, path } = hub as Hub;
    const { queries, total } = await listQueries(catalog, { hubId, page, request, count, mayYield });
    const described = await describeMissing(queries, signatures, request);
    const left = total - page.offset - queries.length;
    const pinned = pinnedNames(request);
    const { bytes, etag } = await build({ label, path }, inOrder(queries), {
      described,
      pinned,
      server: publicUrlOf(request, publicOrigin),
      left,
      count,
      mayYield,
    });
    setPageHeaders(reply, page, total);
    addVary(reply, 'x-service-api-key');
    reply.headers({ etag, 'cache-control': 'private, no-cache' });
    if (isKnown(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.header('content-type', 'application/json; charset=utf-8').send(bytes);
  };
}

/** Called with the bytes that a document, or what it is built from, takes so far. Throws if they are too many. */
type Count = (bytes: number) => void;

const tooLarge = () =>
  new HubError(
    'TOO_LARGE',
    `The document is larger than ${largestResponse / 1_048_576} MiB. Request a part of it with limit and offset.`,
  );

interface Listing {
  hubId: string;
  page: { offset: number; limit: number | undefined };
  request: FastifyRequest;
  count: Count;
  mayYield: MayYield;
}

async function listQueries(
  catalog: Upstreams['catalog'],
  { hubId, page, request, count, mayYield }: Listing,
): Promise<{ queries: Query[]; total: number }> {
  const queries: Query[] = [];
  const wanted = page.limit ?? paging.limitDefault;
  let bytes = 0;
  for (;;) {
    count(bytes);
    await mayYield();
    const limit = Math.min(readAtOnceMax, wanted - queries.length);
    const part = { offset: page.offset + queries.length, limit };
    const read = await catalog.listQueries({ hubId, page: part, signatures: true }, request.context);
    for (const query of read.queries) {
      bytes += lengthOf(query);
      queries.push({ ...query, query: '' });
    }
    if (read.queries.length < limit || queries.length >= wanted) return { queries, total: read.total };
  }
}

/** The characters of a query that can be many and that the document contains. */
function lengthOf({ context, signatureJson }: Query): number {
  let length = signatureJson.length;
  for (const { valueJson = '', enumJson = '', description = '' } of context)
    length += valueJson.length + enumJson.length + description.length;
  return length;
}

const describedAtOnce = 8;
/** After this time the hub describes no further query. Each takes at most a second. */
const describingMs = 1_000;

/** Describes the queries without a stored signature, as far as time allows. */
async function describeMissing(
  queries: readonly Query[],
  signatures: Signatures,
  request: FastifyRequest,
): Promise<Map<string, Described>> {
  const described = new Map<string, Described>();
  const missing = queries.filter(({ signatureJson }) => signatureJson === '');
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

interface BuildOptions {
  described: Map<string, Described>;
  pinned: ReadonlySet<string>;
  /** The address of the hub. */
  server: string;
  left: number;
  count: Count;
  mayYield: MayYield;
}

/** By path, so that hubs of the same files have the same document; those without a path stay in their order. */
const inOrder = (queries: readonly Query[]): Query[] => {
  const [named, others] = [
    queries.filter(({ path }) => path !== undefined),
    queries.filter(({ path }) => path === undefined),
  ];
  return [...named.toSorted((a, b) => ((a.path as string) < (b.path as string) ? -1 : 1)), ...others];
};

/** Writes the document query by query, so that other requests run meanwhile and only its bytes stay in memory. */
async function build(
  { label, path: hubPath }: Pick<Hub, 'label' | 'path'>,
  queries: readonly Query[],
  { described, pinned, server, left, count, mayYield }: BuildOptions,
): Promise<{ bytes: Buffer; etag: string }> {
  const parts: Executed[] = [];
  const [paths, schemas, listed, execute] = [new Members(), new Members(), new Members(), new Members()];
  const names = toNames(queries);
  let exampleBytes = 0;
  for (const [i, query] of queries.entries()) {
    const { queryId, signatureJson } = query;
    const known = signatureJson === '' ? described.get(queryId) : (JSON.parse(signatureJson) as Described);
    const part = toQueryParts({ name: names[i] as string, query, hubPath, described: known }, pinned);
    const { name, example, executionRef, resultRef } = part;
    parts.push({ name, example, executionRef, resultRef });
    exampleBytes += writeJson(example).length;
    paths.add(part.paths);
    schemas.add(part.schemas);
    listed.add([part.listed]);
    count(exampleBytes + paths.bytes + schemas.bytes + listed.bytes);
    await mayYield();
  }
  const more = left > 0 ? ` ${left} further queries are on the next pages (offset).` : '';
  const head = {
    openapi: '3.1.0',
    info: { title: label, version: '1', description: `The stored queries of the hub “${label}”.${more}` },
    servers: [{ url: server }],
    security: [{ key: [] }],
  };
  if (parts.length > 0) execute.add({ '/v1/queries/execute': { post: toExecute(parts) } });
  const securitySchemes = { key: { type: 'apiKey', in: 'header', name: 'x-service-api-key' } };
  const bytes = Buffer.concat([
    Buffer.from(`${JSON.stringify(head).slice(0, -1)},"paths":{`),
    Members.join(execute, paths),
    Buffer.from(`},"components":{"securitySchemes":${JSON.stringify(securitySchemes)},"schemas":{"Problem":`),
    Buffer.from(JSON.stringify(problem)),
    ...schemas.texts,
    Buffer.from('}},"x-datahub-queries":['),
    Members.join(listed),
    Buffer.from(']}'),
  ]);
  return withETag(bytes);
}

/** The members of an object or array in JSON, each after a comma. */
class Members {
  readonly texts: Buffer[] = [];
  bytes = 0;

  static join(...all: readonly Members[]): Buffer {
    return Buffer.concat(all.flatMap(({ texts }) => texts)).subarray(1);
  }

  add(value: object): void {
    const text = writeJson(value).slice(1, -1);
    if (text === '') return;
    const bytes = Buffer.from(`,${text}`);
    this.texts.push(bytes);
    this.bytes += bytes.length;
  }
}

type Executed = Pick<QueryParts, 'name' | 'example' | 'executionRef' | 'resultRef'>;

function toExecute(parts: readonly Executed[]): object {
  const refs = (of: (part: Executed) => string) => parts.map((part) => ({ $ref: of(part) }));
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
  const words = normalized(label, 'NFKC').match(partsOfNames) ?? [];
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
