/** The definitions of stored queries. `execute.ts` runs them. */

import type { EngineName } from '@datahub/contract/engines';
import { parseExact } from '@datahub/contract/exact-json';
import { queryLimits } from '@datahub/contract/limits';
import type { CachePolicy, Query, Variable } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import {
  answer,
  count,
  engine,
  type FromSchema,
  id,
  label,
  list,
  object,
  orNull,
  readOnly,
  text,
} from '../../http/json-schema.ts';
import { readPage, setPageHeaders } from '../../http/pagination.ts';
import { readFlag, requireText } from '../../http/query-params.ts';
import { type Handler, setVersion } from '../../http/request-context.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import type { Upstreams } from '../../upstreams.ts';
import { createSignatures, type SignatureJson, signature, signatureOrNull, warnings } from './signatures.ts';

const paging = { limitMax: 10_000 };
const { textLength, commandLength, variables, variableNameLength, cacheSeconds } = queryLimits;
export const queryText = { type: 'string', minLength: textLength.min, maxLength: textLength.max } as const;
export const command = { type: 'string', maxLength: commandLength.max } as const;

export const context = {
  type: ['array', 'null'],
  maxItems: variables.max,
  items: object(
    {
      key: { type: 'string', minLength: variableNameLength.min, maxLength: variableNameLength.max },
      value: {},
      type: { type: 'string', maxLength: 32 },
      required: { type: 'boolean' },
      enum: { type: 'array', minItems: 1, maxItems: 1_000 },
      description: { type: 'string', maxLength: 2_000 },
    },
    ['key'],
  ),
} as const;

const seconds = { type: 'integer', minimum: cacheSeconds.min, maximum: cacheSeconds.max } as const;
const cache = orNull(object({ maxAgeS: seconds, staleS: seconds, validate: queryText }, ['maxAgeS']));
export const notNull = {
  type: ['array', 'null'],
  maxItems: queryLimits.notNull.max,
  items: {
    type: 'string',
    minLength: queryLimits.columnNameLength.min,
    maxLength: queryLimits.columnNameLength.max,
  },
} as const;

export const createQueryBody = object(
  {
    hubId: id,
    label,
    sourceId: id,
    query: queryText,
    command,
    parentNodeId: id,
    context,
    cache,
    notNull,
    ...readOnly('queryId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
  },
  ['hubId', 'label', 'sourceId', 'query'],
);

export const updateQueryBody = object({
  meta: object({ label, parentNodeId: id, ...readOnly('engine', 'hubId') }),
  config: object({
    command,
    context,
    cache,
    notNull,
    query: object({ query: queryText, ...readOnly('queryId') }),
    source: object({ sourceId: id, ...readOnly('engine') }),
  }),
  ...readOnly('signature', 'queryId', 'createdAt', 'updatedAt'),
});

const queryVariable = answer(
  {
    key: text,
    value: {},
    type: text,
    required: { type: 'boolean' },
    enum: { type: 'array' },
    description: text,
  },
  ['value', 'type', 'required', 'enum', 'description'],
);
const meta = answer({ engine, hubId: text, label: text, parentNodeId: text });
/** What a query does, apart from its text and source. */
export const behaviour = {
  command: text,
  context: list(queryVariable),
  notNull: list(text),
  cache: answer({ maxAgeS: count, staleS: count, validate: text }, ['staleS', 'validate']),
} as const;
const configWith = <const S>(context: S) =>
  answer(
    {
      ...behaviour,
      context,
      query: answer({ queryId: text, query: text }),
      source: answer({ sourceId: text, engine }),
    },
    ['notNull', 'cache'],
  );
const config = configWith(behaviour.context);
export const createdQuery = answer({ meta, config: configWith({ type: 'null' }), signature, warnings }, [
  'signature',
  'warnings',
]);
/** The answer to an update. */
export const savedQuery = answer({ signature, warnings }, ['signature', 'warnings']);
export const query = answer({ meta, config, signature: signatureOrNull }, ['signature']);
const listedQuery = answer({ meta, config });
export const queries = list(listedQuery);

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
  const variables = context.map(({ value, enum: allowed, ...rest }) => ({
    ...rest,
    ...(value === undefined ? {} : { valueJson: JSON.stringify(value) }),
    ...(allowed === undefined ? {} : { enumJson: JSON.stringify(allowed) }),
  }));
  return { variables };
}

function toCreation(request: FastifyRequest) {
  const { hubId, label, sourceId, query, command, parentNodeId, ...rest } = request.body as CreateBody;
  const context = toVariables(exactBody<CreateBody>(request).context);
  const [notNull, cache] = [rest.notNull ?? [], rest.cache ?? undefined];
  return { hubId, label, sourceId, query, command, parentNodeId, context, notNull, cache };
}

function toChange(request: FastifyRequest) {
  const { meta, config } = request.body as UpdateBody;
  return {
    label: meta?.label,
    parentNodeId: meta?.parentNodeId,
    command: config?.command,
    context: toVariables(exactBody<UpdateBody>(request).config?.context),
    notNull: config?.notNull === undefined ? undefined : { names: config.notNull ?? [] },
    query: config?.query?.query,
    sourceId: config?.source?.sourceId,
    cache: config?.cache === undefined ? undefined : { policy: config.cache ?? undefined },
  };
}

export const queryIdOf = (request: FastifyRequest) => (request.params as { queryId: string }).queryId;

export function createQueryHandlers({ catalog, executor }: Upstreams) {
  const signatures = createSignatures(executor);
  return {
    create: async (request, reply) => {
      const isAsked = readFlag(request, 'signature');
      const response = await catalog.createQuery(toCreation(request), request.context);
      const { query } = response;
      setVersion(reply, query?.version);
      const saved = await signatures.saved(response, request.context, isAsked);
      return query === undefined ? {} : { ...toCreatedQueryJson(query), ...saved };
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { queries, total } = await catalog.listQueries(
        { hubId, page, signatures: false },
        request.context,
      );
      setPageHeaders(reply, page, total);
      return queries.map(toQueryJson);
    },

    get: async (request, reply) => {
      const signature = readFlag(request, 'signature');
      const { query } = await catalog.getQuery({ queryId: queryIdOf(request), signature }, request.context);
      setVersion(reply, query?.version);
      if (query === undefined) return {};
      const body = toQueryJson(query);
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

function toQueryJson(query: Query): QueryJson {
  const { signatureJson } = query;
  return {
    ...toDefinitionJson(query, toContextJson(query)),
    ...(signatureJson === '' ? {} : { signature: parseExact(signatureJson) as SignatureJson }),
  };
}

/** The answer to a creation has `context: null`, which clients of the reference API expect. */
const toCreatedQueryJson = (query: Query): FromSchema<typeof createdQuery> => toDefinitionJson(query, null);

export function toDefinitionJson<C>(query: Query, context: C) {
  const engine = query.engine as EngineName;
  return {
    meta: { engine, hubId: query.hubId, label: query.label, parentNodeId: query.parentNodeId },
    config: {
      command: query.command,
      context,
      ...(query.notNull.length === 0 ? {} : { notNull: query.notNull }),
      query: { queryId: query.queryId, query: query.query },
      source: { sourceId: query.sourceId, engine },
      ...(query.cache === undefined ? {} : { cache: toCacheJson(query.cache) }),
    },
  };
}

export const toContextJson = ({ context }: Query) => context.map(toVariableJson);

const toCacheJson = ({ maxAgeS, staleS, validate }: CachePolicy) => ({
  maxAgeS,
  ...(staleS === undefined ? {} : { staleS }),
  ...(validate === undefined ? {} : { validate }),
});

function toVariableJson(variable: Variable): FromSchema<typeof queryVariable> {
  return {
    key: variable.key,
    ...(variable.valueJson === undefined ? {} : { value: parseExact(variable.valueJson) }),
    ...(variable.type === undefined ? {} : { type: variable.type }),
    ...(variable.required === undefined ? {} : { required: variable.required }),
    ...(variable.enumJson === undefined ? {} : { enum: parseExact(variable.enumJson) as unknown[] }),
    ...(variable.description === undefined ? {} : { description: variable.description }),
  };
}
