/** The definitions of stored queries. `execute.ts` runs them. */

import type { Complete } from '@datahub/contract/complete';
import type { EngineName } from '@datahub/contract/engines';
import { elementsOf, membersOf } from '@datahub/contract/json-text';
import { pageItemsMax } from '@datahub/contract/limits';
import type {
  CreateQueryRequest,
  Query,
  UpdateQueryRequest,
  Variable,
  VersionMark,
} from '@datahub/proto/catalog/v1/catalog';
import type { QueryStatistics } from '@datahub/proto/executor/v1/executor';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import { exactMember } from '../../http/json-body.ts';
import { type FromSchema, nothing, toTimestamp } from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readChoice, readFlag, requireText } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { JsonText } from '../../response/json-splices.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { readSession, toSessionAnswer } from '../session-schema.ts';
import { toCallSpansJson } from './figures.ts';
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
  updateQueryPointers,
} from './query-schemas.ts';
import type { SignatureJson } from './signatures.ts';
import { readText, readTransaction, toTransactionAnswer } from './statement-schemas.ts';

export function queryRoutes(deps: ResourceDeps): Route[] {
  const handlers = createQueryHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/queries', reference: true, scope: 'queries:write', summary: 'Create a query', audit: 'by catalog', query: ['signature'], body: createQueryBody, settledBy: 'audit', response: createdQuery, handler: handlers.create },
    { method: 'GET', path: '/v1/queries', scope: 'queries:read', summary: 'List the queries of a hub', query: ['hubId', ...paged, 'state', 'signature', 'latest', 'stats'], compressed: true, response: queries, handler: handlers.list },
    { method: 'GET', path: '/v1/queries/:queryId', reference: true, scope: 'queries:read', summary: 'Get a query', query: ['signature', 'latest'], response: query, handler: handlers.get },
    { method: 'PUT', path: '/v1/queries/:queryId', reference: true, scope: 'queries:write', summary: 'Update a query', audit: 'by catalog', query: ['signature'], body: updateQueryBody, pointers: updateQueryPointers, versioned: true, response: savedQuery, handler: handlers.update },
    { method: 'DELETE', path: '/v1/queries/:queryId', reference: true, scope: 'queries:write', summary: 'Delete a query', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const paging = { limitMax: pageItemsMax };

type CreateBody = FromSchema<typeof createQueryBody>;
type UpdateBody = FromSchema<typeof updateQueryBody>;
type QueryJson = FromSchema<typeof query>;
type ListedQueryJson = FromSchema<typeof queries>[number];

/** The variables in the member of the body at `path`. Their values stay JSON text, with all digits of their numbers. */
export function readVariables(
  { parsed }: FastifyRequest,
  { context, path }: { context: CreateBody['context']; path: readonly string[] },
): { variables: Variable[] } | undefined {
  if (context === undefined || context === null) return undefined;
  const exact = parsed?.exactText === undefined ? undefined : exactMember(parsed, path);
  const texts = exact === undefined ? [] : elementsOf(exact).map((one) => membersOf(one));
  return { variables: context.map((variable, i) => toVariable(variable, texts[i])) };
}

type VariableBody = FromSchema<typeof context.items>;

/** `texts` are the members as JSON, if the digits of their numbers matter. */
function toVariable(variable: VariableBody, texts?: ReadonlyMap<string, string>): Complete<Variable> {
  const { value, enum: allowed } = variable;
  return {
    key: variable.key,
    valueJson: value === undefined ? undefined : (texts?.get('value') ?? JSON.stringify(value)),
    type: variable.type,
    required: variable.required,
    enumJson: allowed === undefined ? undefined : (texts?.get('enum') ?? JSON.stringify(allowed)),
    description: variable.description,
    secret: variable.secret,
  };
}

function toCreation(request: FastifyRequest): Complete<CreateQueryRequest> {
  const { hubId, label, sourceId, command, parentNodeId, ...rest } = request.body as CreateBody;
  return {
    hubId,
    label,
    sourceId,
    query: readText(rest),
    command,
    parentNodeId,
    context: readVariables(request, { context: rest.context, path: ['context'] }),
    notNull: rest.notNull ?? [],
    errors: rest.errors ?? undefined,
    sessionJson: readSession(rest.session),
    transactionJson: readTransaction(rest, ''),
    keepValues: rest.keepValues ?? undefined,
    cache: rest.cache ?? undefined,
    path: rest.path ?? undefined,
    tool: rest.tool ?? undefined,
    presentationJson: rest.presentation ? readPresentation(request, ['presentation']) : undefined,
  };
}

const readPresentation = ({ parsed }: FastifyRequest, path: readonly string[]) =>
  parsed && exactMember(parsed, path);

type QueryChange = Omit<UpdateQueryRequest, 'queryId' | 'expectedVersion' | 'moreVersions'>;

function toChange(request: FastifyRequest): Complete<QueryChange> {
  const { meta, config } = request.body as UpdateBody;
  const path = (name: string) => ['config', name];
  return {
    hubId: meta?.hubId,
    label: meta?.label,
    parentNodeId: meta?.parentNodeId,
    command: config?.command,
    context: readVariables(request, { context: config?.context, path: path('context') }),
    notNull: config?.notNull === undefined ? undefined : { names: config.notNull ?? [] },
    errors: config?.errors === null ? '' : config?.errors,
    sessionJson: readSession(config?.session),
    transactionJson: readTransaction(config ?? {}, '/config'),
    keepValues: config?.keepValues === null ? false : config?.keepValues,
    query: config?.query?.query,
    sourceId: config?.source?.sourceId,
    cache: config?.cache === undefined ? undefined : { policy: config.cache ?? undefined },
    path: meta?.path === null ? '' : meta?.path,
    tool: config?.tool === undefined ? undefined : { tool: config.tool ?? undefined },
    // An empty text removes the presentation.
    presentationJson: config?.presentation === null ? '' : readPresentation(request, path('presentation')),
  };
}

export const queryIdOf = (request: FastifyRequest) => (request.params as { queryId: string }).queryId;

function createQueryHandlers({ upstreams, signatures, settings }: ResourceDeps) {
  const { catalog, executor } = upstreams;
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
      const state = readChoice(request, 'state', ['broken']);
      const [signatures, latest, stats] = [
        readFlag(request, 'signature'),
        readFlag(request, 'latest'),
        readFlag(request, 'stats'),
      ];
      const listed = await catalog.listQueries({ hubId, page, signatures, state }, request.context);
      const { queries: items, total } = listed;
      const counted = stats ? await countedOf(executor, items, request.context) : undefined;
      const toJson = (query: Query): ListedQueryJson => ({
        ...toQueryJson(query, { latest }),
        ...(signatures && query.signatureJson === '' ? { signature: null } : {}),
        ...counted?.(query.queryId),
      });
      return sendList(reply, { items, toJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const signature = readFlag(request, 'signature');
      const found = await catalog.getQuery({ queryId: queryIdOf(request), signature }, request.context);
      const query = required(found.query);
      setVersion(reply, query.version);
      const body = toQueryJson(query, { latest: readFlag(request, 'latest') });
      if (!signature || query.signatureJson !== '') return body;
      return { ...body, signature: await signatures.describe(query, request.context) };
    },

    update: async (request, reply) => {
      const isAsked = readFlag(request, 'signature');
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

/** The ids of one call for statistics: the answer of an executor grows with them. */
const countedAtOnce = 500;

/** Returns a function that returns what was counted of a query. */
async function countedOf(
  executor: ResourceDeps['upstreams']['executor'],
  queries: readonly Query[],
  ctx: FastifyRequest['context'],
): Promise<(queryId: string) => Pick<ListedQueryJson, 'stats'>> {
  const found = new Map<string, QueryStatistics>();
  for (let at = 0; at < queries.length; at += countedAtOnce) {
    const queryIds = queries.slice(at, at + countedAtOnce).map(({ queryId }) => queryId);
    const fleet = await executor.readStatistics({ queryIds }, ctx);
    for (const one of fleet.queries) found.set(one.queryId, one);
  }
  return (queryId) => {
    const counted = found.get(queryId);
    return counted === undefined ? {} : { stats: toCallSpansJson(counted) };
  };
}

function toQueryJson(query: Query, { latest }: { latest: boolean }): QueryJson {
  const { signatureJson } = query;
  return {
    ...toDefinitionJson(query, toContextJson(query)),
    ...toStateJson(query),
    ...(latest ? { latest: toLatestJson(required(query.latest)) } : {}),
    ...(signatureJson === '' ? {} : { signature: JsonText.of<SignatureJson>(signatureJson) }),
  };
}

const toLatestJson = ({ number, at, keyId }: VersionMark): NonNullable<QueryJson['latest']> => ({
  number,
  at: toTimestamp(at) as string,
  keyId: keyId === '' ? null : keyId,
});

function toStateJson({ state, problemJson, driftJson }: Query): Pick<QueryJson, keyof typeof described> {
  return {
    ...(state === undefined ? {} : { state: 'broken' as const }),
    ...(problemJson === undefined ? {} : { problem: JsonText.of<QueryJson['problem']>(problemJson) }),
    ...(driftJson === undefined ? {} : { drift: JsonText.of<QueryJson['drift']>(driftJson) }),
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
      errors: query.errors === 'author' ? query.errors : undefined,
      session: toSessionAnswer(query.sessionJson),
      ...toTransactionAnswer(query.transactionJson),
      keepValues: query.keepValues,
      query: { queryId: query.queryId, query: query.query },
      source: { sourceId: query.sourceId, engine },
      cache: query.cache,
      tool: query.tool,
      presentation: JsonText.ofStored<Record<string, unknown>>(query.presentationJson),
    },
  };
}

export const toContextJson = ({ context }: Query) => context.map(toVariableJson);

function toVariableJson(variable: Variable): Complete<FromSchema<typeof queryVariable>> {
  return {
    key: variable.key,
    value: JsonText.ofStored(variable.valueJson),
    type: variable.type,
    required: variable.required,
    enum: JsonText.ofStored<unknown[]>(variable.enumJson),
    description: variable.description,
    secret: variable.secret,
  };
}
