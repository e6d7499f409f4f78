/** The definitions of stored queries. `execute.ts` runs them. */

import type { Complete } from '@datahub/contract/complete';
import type { EngineName } from '@datahub/contract/engines';
import { parseExact } from '@datahub/contract/exact-json';
import type {
  CreateQueryRequest,
  Query,
  UpdateQueryRequest,
  Variable,
} from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import { type FromSchema, nothing } from '../../http/json-schema.ts';
import { readPage, setPageHeaders } from '../../http/pagination.ts';
import { readChoice, readFlag, requireText } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import {
  type context,
  createdQuery,
  createQueryBody,
  type described,
  queries,
  query,
  type queryVariable,
  savedQuery,
  updateQueryBody,
} from './query-schemas.ts';
import { requireSameHub } from './same-hub.ts';
import type { SignatureJson } from './signatures.ts';

export function queryRoutes(deps: ResourceDeps): Route[] {
  const handlers = createQueryHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries', reference: true, scope: 'queries:write', summary: 'Create a query', audit: 'by catalog', query: ['signature'], body: createQueryBody, settledBy: 'audit', response: createdQuery, handler: handlers.create },
    { method: 'GET', path: '/v1/queries', scope: 'queries:read', summary: 'List the queries of a hub', query: ['hubId', ...paged, 'state'], response: queries, handler: handlers.list },
    { method: 'GET', path: '/v1/queries/:queryId', reference: true, scope: 'queries:read', summary: 'Get a query', query: ['signature'], response: query, handler: handlers.get },
    { method: 'PUT', path: '/v1/queries/:queryId', reference: true, scope: 'queries:write', summary: 'Update a query', audit: 'by catalog', query: ['signature'], body: updateQueryBody, pointers: updateQueryPointers, versioned: true, response: savedQuery, handler: handlers.update },
    { method: 'DELETE', path: '/v1/queries/:queryId', reference: true, scope: 'queries:write', summary: 'Delete a query', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const paging = { limitMax: 10_000 };

/** Maps the fields of the call to pointers into the body of an update. */
export const updateQueryPointers = (): FieldPointers => ({
  label: '/meta/label',
  parentNodeId: '/meta/parentNodeId',
  command: '/config/command',
  context: '/config/context',
  cache: '/config/cache',
  notNull: '/config/notNull',
  query: '/config/query/query',
  sourceId: '/config/source/sourceId',
  path: '/meta/path',
  tool: '/config/tool',
  presentation: '/config/presentation',
});

type CreateBody = FromSchema<typeof createQueryBody>;
type UpdateBody = FromSchema<typeof updateQueryBody>;
type QueryJson = FromSchema<typeof query>;

/** The body with all digits of its numbers. */
export function exactBody<T>(request: FastifyRequest): T {
  const exactText = request.parsed?.exactText;
  return (exactText === undefined ? request.body : parseExact(exactText)) as T;
}

export function toVariables(context: CreateBody['context']): { variables: Variable[] } | undefined {
  if (context === undefined || context === null) return undefined;
  return { variables: context.map(toVariable) };
}

type VariableBody = FromSchema<typeof context.items>;

function toVariable(variable: VariableBody): Complete<Variable> {
  const { value, enum: allowed } = variable;
  return {
    key: variable.key,
    valueJson: value === undefined ? undefined : JSON.stringify(value),
    type: variable.type,
    required: variable.required,
    enumJson: allowed === undefined ? undefined : JSON.stringify(allowed),
    description: variable.description,
    secret: variable.secret,
  };
}

function toCreation(request: FastifyRequest): Complete<CreateQueryRequest> {
  const { hubId, label, sourceId, query, command, parentNodeId, ...rest } = request.body as CreateBody;
  const exact = exactBody<CreateBody>(request);
  return {
    hubId,
    label,
    sourceId,
    query,
    command,
    parentNodeId,
    context: toVariables(exact.context),
    notNull: rest.notNull ?? [],
    cache: rest.cache ?? undefined,
    path: rest.path ?? undefined,
    tool: rest.tool ?? undefined,
    presentationJson: toPresentationJson(exact.presentation ?? undefined),
  };
}

/** An empty text removes the presentation. */
function toPresentationJson(presentation: object | null | undefined): string | undefined {
  if (presentation === undefined) return undefined;
  return presentation === null ? '' : JSON.stringify(presentation);
}

type QueryChange = Omit<UpdateQueryRequest, 'queryId' | 'expectedVersion' | 'moreVersions'>;

function toChange(request: FastifyRequest): Complete<QueryChange> {
  const { meta, config } = request.body as UpdateBody;
  const exact = exactBody<UpdateBody>(request).config;
  return {
    label: meta?.label,
    parentNodeId: meta?.parentNodeId,
    command: config?.command,
    context: toVariables(exact?.context),
    notNull: config?.notNull === undefined ? undefined : { names: config.notNull ?? [] },
    query: config?.query?.query,
    sourceId: config?.source?.sourceId,
    cache: config?.cache === undefined ? undefined : { policy: config.cache ?? undefined },
    path: meta?.path === null ? '' : meta?.path,
    tool: config?.tool === undefined ? undefined : { tool: config.tool ?? undefined },
    presentationJson: toPresentationJson(exact?.presentation),
  };
}

export const queryIdOf = (request: FastifyRequest) => (request.params as { queryId: string }).queryId;

function createQueryHandlers({ upstreams: { catalog }, signatures }: ResourceDeps) {
  return {
    create: async (request, reply) => {
      const isAsked = readFlag(request, 'signature');
      const response = await catalog.createQuery(toCreation(request), request.context);
      const { query } = response;
      setVersion(reply, query?.version);
      const saved = await signatures.saved(response, request.context, isAsked);
      return { ...toCreatedQueryJson(required(query)), ...saved };
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { queries, total } = await catalog.listQueries(
        { hubId, page, signatures: false, state: readChoice(request, 'state', ['broken']) },
        request.context,
      );
      setPageHeaders(reply, page, total);
      return queries.map(toQueryJson);
    },

    get: async (request, reply) => {
      const signature = readFlag(request, 'signature');
      const found = await catalog.getQuery({ queryId: queryIdOf(request), signature }, request.context);
      const query = required(found.query);
      setVersion(reply, query.version);
      const body = toQueryJson(query);
      if (!signature || query.signatureJson !== '') return body;
      return { ...body, signature: await signatures.describe(query, request.context) };
    },

    update: async (request, reply) => {
      const isAsked = readFlag(request, 'signature');
      await requireSameHub(request, catalog);
      const change = { queryId: queryIdOf(request), ...toChange(request), ...expectedVersions(request) };
      const response = await catalog.updateQuery(change, request.context);
      setVersion(reply, response.query?.version);
      return signatures.saved(response, request.context, isAsked);
    },

    remove: async (request) => {
      await catalog.deleteQuery(
        { queryId: queryIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },
  } satisfies Record<string, Handler>;
}

function toQueryJson(query: Query): QueryJson {
  const { signatureJson } = query;
  return {
    ...toDefinitionJson(query, toContextJson(query)),
    ...toStateJson(query),
    ...(signatureJson === '' ? {} : { signature: parseExact(signatureJson) as SignatureJson }),
  };
}

function toStateJson({ state, problemJson, driftJson }: Query): Pick<QueryJson, keyof typeof described> {
  return {
    ...(state === undefined ? {} : { state: 'broken' as const }),
    ...(problemJson === undefined ? {} : { problem: JSON.parse(problemJson) }),
    ...(driftJson === undefined ? {} : { drift: JSON.parse(driftJson) }),
  };
}

/** The answer to a creation has `context: null`, which clients of the reference API expect. */
const toCreatedQueryJson = (query: Query): FromSchema<typeof createdQuery> => toDefinitionJson(query, null);

type MetaJson = Complete<QueryJson['meta']>;
type ConfigJson<C> = Complete<Omit<QueryJson['config'], 'context'>> & { context: C };

export function toDefinitionJson<C>(query: Query, context: C): { meta: MetaJson; config: ConfigJson<C> } {
  const engine = query.engine as EngineName;
  return {
    meta: {
      engine,
      hubId: query.hubId,
      label: query.label,
      parentNodeId: query.parentNodeId,
      path: query.path,
    },
    config: {
      command: query.command,
      context,
      notNull: query.notNull.length === 0 ? undefined : query.notNull,
      query: { queryId: query.queryId, query: query.query },
      source: { sourceId: query.sourceId, engine },
      cache: query.cache,
      tool: query.tool,
      presentation:
        query.presentationJson === undefined
          ? undefined
          : (parseExact(query.presentationJson) as Record<string, unknown>),
    },
  };
}

export const toContextJson = ({ context }: Query) => context.map(toVariableJson);

function toVariableJson(variable: Variable): Complete<FromSchema<typeof queryVariable>> {
  return {
    key: variable.key,
    value: variable.valueJson === undefined ? undefined : parseExact(variable.valueJson),
    type: variable.type,
    required: variable.required,
    enum: variable.enumJson === undefined ? undefined : (parseExact(variable.enumJson) as unknown[]),
    description: variable.description,
    secret: variable.secret,
  };
}
