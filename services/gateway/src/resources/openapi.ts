/** Builds the OpenAPI 3.1 document from the list of routes. */

import { csvDecimals, csvDelimiters } from '@datahub/contract/formats';
import { classifierLimits } from '@datahub/contract/limits';
import { numbersForms } from '@datahub/contract/numbers';
import { deliveryStates, eventTypes, runOutcomes } from '@datahub/contract/watches';
import { count, text } from '../http/json-schema.ts';
import { flagWords } from '../http/query-params.ts';
import { anyParameter, type Route, takesIdempotencyKey } from '../http/route.ts';
import { inAllFormats, inTextFormats } from '../response/format.ts';
import { importMediaTypes } from '../rows/streamed-body.ts';
import { trainedExamples } from './classifiers/trained-examples.ts';
import { problem } from './documents/problem-schema.ts';
import { allResults, execution } from './execute.ts';
import { node } from './hub-tree.ts';
import { queryRunOutcomes } from './queries/runs.ts';
import { severalAnswers } from './queries/several-reads.ts';
import { statisticsList, statisticsSorts, statisticsWindows } from './queries/statistics.ts';
import { webhooks } from './webhooks.ts';

export function buildOpenApi(routes: Route[]): object {
  const paths: Record<string, Record<string, object>> = {};
  const ids = new Set<string>();
  for (const route of routes) {
    const path = toTemplate(route.path);
    let id = operationId(route);
    // A list of a resource, and one element of it. The id of the first is kept, because clients are generated from it.
    if (ids.has(id)) id += 'One';
    ids.add(id);
    paths[path] ??= {};
    paths[path][route.method.toLowerCase()] = operation(route, id);
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Data Hub',
      version: '1',
      description: 'Stored SQL as a safe HTTP API, with text classifiers and summaries in the same hub.',
    },
    security: [{ key: [] }],
    paths,
    webhooks,
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'x-service-api-key' } },
      schemas: { Problem: problem, Node: node },
      headers: responseHeaders,
    },
  };
}

/** A wildcard stands for the path of a query. */
const toTemplate = (url: string): string => url.replace(/\*$/, '{path}').replaceAll(/:(\w+)/g, '{$1}');

function operation(route: Route, operationId: string): object {
  return {
    summary: route.summary,
    operationId,
    description: route.scope === undefined ? 'Needs no scope.' : `Needs the scope \`${route.scope}\`.`,
    parameters: [
      ...pathParameters(route.path),
      ...(route.query ?? []).map((name) => queryParameter(name, route)),
      ...headerParameters(route),
    ],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.bodyOptional !== true,
            content: bodyContentOf(route),
          },
        }),
    responses: {
      200: {
        description: 'Done',
        headers: refer([
          ...everywhere,
          ...(route.response !== execution ? (['ETag'] as const) : executed),
          ...(readsData(route) ? keptData : []),
          ...(isPaged(route) ? listed : []),
        ]),
        content: contentOf(route),
      },
      ...(readsData(route)
        ? { 304: { description: 'The client has this answer', headers: refer([...everywhere, ...keptData]) } }
        : {}),
      default: {
        description: 'A problem',
        headers: refer([...everywhere, 'Retry-After']),
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

function bodyContentOf({ documented, body, imports }: Route): Record<string, object> {
  const streams = imports ? importMediaTypes.map((type) => [type, { schema: text }]) : [];
  const json = imports === 'only' ? {} : { 'application/json': { schema: documented ?? body } };
  return { ...json, ...Object.fromEntries(streams) };
}

const progress = {
  ...text,
  description:
    'For a streamed body. Lines with the figures so far while the body is read, at most one a second. The last line is the result or a problem, with `code`.',
};

const lines = 'Each line is an element of `executions`, as soon as it is complete.';

/** Rows and examples are also available in other formats, and an import with its progress. */
function contentOf({ response, imports, method }: Route): Record<string, object> {
  const content = { 'application/json': { schema: response } };
  const rows = { schema: text };
  if (imports) return { ...content, 'application/x-ndjson': { schema: progress } };
  if (response === severalAnswers)
    return { ...content, 'application/x-ndjson': { schema: { ...text, description: lines } } };
  if (response === trainedExamples) return { ...inTextFormats(rows), ...content };
  if (response !== execution) return content;
  const isPost = method === 'POST';
  const json = isPost ? { 'application/json': { schema: { anyOf: [execution, allResults] } } } : content;
  return { ...inAllFormats(rows), ...json };
}

function operationId({ method, path }: Route): string {
  const words = path
    .split('/')
    .filter((part) => part !== '' && part !== 'v1' && part !== '*' && !part.startsWith(':'));
  const one = path.includes(':') ? 'One' : '';
  return [method.toLowerCase(), ...words.flatMap((word) => word.split('.')).map(capitalize), one].join('');
}

const capitalize = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;

function pathParameters(path: string): object[] {
  return [...toTemplate(path).matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', minLength: 1, maxLength: 256 },
  }));
}

const flag = { type: 'string', enum: flagWords };
const schemas = new Map<string, object>([
  ['offset', count],
  ['limit', count],
  ['archived', flag],
  ['newest', flag],
  ['recursive', flag],
  ['agents', flag],
  ['signature', flag],
  ['sort', { type: 'string', enum: statisticsSorts }],
  ['window', { type: 'string', enum: statisticsWindows }],
  ['options.maxRows', { ...count, maximum: 4_294_967_295 }],
  ['options.numbers', { type: 'string', enum: numbersForms }],
  ['options.meta', flag],
  ['options.csv.bom', flag],
  ['options.csv.delimiter', { type: 'string', enum: csvDelimiters }],
  ['options.csv.decimal', { type: 'string', enum: csvDecimals }],
  ['options.version', { type: 'integer', minimum: 1, maximum: 4_294_967_295 }],
  ['commitEvery', { type: 'integer', minimum: 1, maximum: 1_000_000 }],
  ['from', { type: 'integer', minimum: 1 }],
  ['hubId', { type: 'string', minLength: 1 }],
  ['state', { type: 'string', enum: ['broken'] }],
  ['/v1/deliveries state', { type: 'string', enum: deliveryStates }],
  ['outcome', { type: 'string', enum: runOutcomes }],
  ['/v1/queries/:queryId/runs outcome', { type: 'string', enum: queryRunOutcomes }],
  ['own', flag],
  ['day', { type: 'string', format: 'date', description: 'In UTC' }],
  ['type', { type: 'string', enum: eventTypes }],
]);

/** Of the list of examples. */
const examplesSchemas = new Map<string, object>([
  ['limit', { ...count, minimum: classifierLimits.examplesPage.min }],
  ['sort', { type: 'string', enum: ['uncertain'] }],
]);

/** These list what is in one hub. */
const ofOneHub = new Set(['/v1/sources', '/v1/queries', '/v1/boards']);

/** Parameters with any name. */
const variables = {
  name: anyParameter,
  in: 'query',
  required: false,
  description:
    'Values of the variables of the query by name, as in `region=north&ids=1&ids=2`. A variable that is declared as a list can be repeated.',
  style: 'form',
  explode: true,
  schema: { type: 'object', additionalProperties: { anyOf: [text, { type: 'array', items: text }] } },
};

function queryParameter(name: string, { response, path }: Route): object {
  if (name === variables.name) return variables;
  const own = response === trainedExamples ? examplesSchemas.get(name) : undefined;
  const schema = own ?? schemas.get(`${path} ${name}`) ?? schemas.get(name) ?? text;
  return { name, in: 'query', required: name === 'hubId' && ofOneHub.has(path), schema };
}

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  description: 'A repeated request with the same key gets the first answer again, for a day.',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
};
const ifMatch = {
  name: 'If-Match',
  in: 'header',
  description:
    'ETags of the versions that the request may change. The answer is 412 if the document has another version.',
  schema: { type: 'string', pattern: '^(\\*|"\\d{1,9}"( *, *"\\d{1,9}")*)$', examples: ['"3"'] },
};

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description: 'ETags of answers that the client has. The answer is 304 if one of them is current.',
  schema: text,
};
const cacheControl = {
  name: 'Cache-Control',
  in: 'header',
  description: '`no-cache` runs the query even if its answer is cached, and does not cache the new answer.',
  schema: text,
};

function headerParameters(route: Route): object[] {
  return [
    ...(takesIdempotencyKey(route) ? [idempotencyKey] : []),
    ...(route.versioned === true ? [ifMatch] : []),
    ...(readsData(route) ? [ifNoneMatch] : []),
    ...(route.response === execution || route.response === severalAnswers ? [cacheControl] : []),
  ];
}

const responseHeaders = {
  'X-Request-Id': { description: 'The id of the request in the logs.', schema: text },
  ETag: {
    description: 'The version of the document, for `If-Match`; of data, for `If-None-Match`.',
    schema: text,
  },
  Age: { description: 'The age of a cached answer in seconds.', schema: count },
  'Cache-Control': { description: 'For how long the answer of a query with a cache is fresh.', schema: text },
  'Cache-Status': {
    description: 'Whether the answer came from the cache of the query (RFC 9211).',
    schema: text,
  },
  'Server-Timing': {
    description: 'The times of the execution in milliseconds: queue, connect, db and total, or first-row.',
    schema: text,
  },
  'X-Datahub-Unknown-Context': {
    description: 'Names in `context` that the query does not know.',
    schema: text,
  },
  'X-More-Results': {
    description:
      '`true` if the procedure returned further results, unless the answer was streamed before they came.',
    schema: text,
  },
  'X-Total-Count': {
    description: 'The number of entries on all pages.',
    schema: count,
  },
  Link: {
    description: 'The first, last, previous and next page (RFC 8288), if a limit applies.',
    schema: text,
  },
  'Retry-After': {
    description: 'The number of seconds to wait before trying again.',
    schema: count,
  },
  RateLimit: { description: 'The remaining requests of the key, if it has a rate limit.', schema: text },
  'RateLimit-Policy': { description: 'The rate limit of the key, if it has one.', schema: text },
};
type ResponseHeader = keyof typeof responseHeaders;
const everywhere: ResponseHeader[] = ['X-Request-Id', 'RateLimit', 'RateLimit-Policy'];
const executed: ResponseHeader[] = [
  ...(['Server-Timing', 'X-Datahub-Unknown-Context', 'X-More-Results', 'Cache-Status'] as const),
];
const keptData: ResponseHeader[] = ['ETag', 'Age', 'Cache-Control'];
const listed: ResponseHeader[] = ['X-Total-Count', 'Link'];

const refer = (names: ResponseHeader[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** True if clients can cache the answer. */
const readsData = ({ response, method }: Route): boolean => response === execution && method === 'GET';

const isPaged = ({ query, response }: Route): boolean =>
  query?.includes('limit') === true && response !== statisticsList;
