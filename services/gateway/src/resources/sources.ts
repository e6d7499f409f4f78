/** Sources: connections to the users' databases. */

import type { Complete } from '@datahub/contract/complete';
import { pageItemsMax } from '@datahub/contract/limits';
import type { Executor } from '@datahub/executor-session/executor';
import type { CreateSourceRequest, Source, UpdateSourceRequest } from '@datahub/proto/catalog/v1/catalog';
import { turnFor } from '@datahub/service-kit/yield-to-loop';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import {
  count,
  createdAtOf,
  engine,
  type FromSchema,
  id,
  label,
  list,
  nothing,
  object,
  readOnly,
  record,
  text,
  time,
  timeOrNull,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage } from '../http/pagination.ts';
import { requireText } from '../http/query-params.ts';
import { setVersion } from '../http/request-context.ts';
import { emptyBody, type Handler, paged, type Route, required } from '../http/route.ts';
import { sendList } from '../response/list-response.ts';
import {
  connectionSettings,
  createSettings,
  toSettings,
  toSettingsJson,
  updateSettings,
} from './connection-settings.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function sourceRoutes(deps: ResourceDeps): Route[] {
  const handlers = createSourceHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/sources', reference: true, scope: 'sources:write', summary: 'Create a source', audit: 'by catalog', body: createSourceBody, settledBy: 'audit', response: createdSource, handler: handlers.create },
    { method: 'GET', path: '/v1/sources', reference: true, scope: 'sources:read', summary: 'List the sources of a hub', query: ['hubId', ...paged], response: sources, handler: handlers.list },
    { method: 'GET', path: '/v1/sources/:sourceId', reference: true, scope: 'sources:read', summary: 'Get a source', response: source, handler: handlers.get },
    { method: 'PUT', path: '/v1/sources/:sourceId', reference: true, scope: 'sources:write', summary: 'Update a source', audit: 'by catalog', body: updateSourceBody, versioned: true, response: source, handler: handlers.update },
    { method: 'DELETE', path: '/v1/sources/:sourceId', reference: true, scope: 'sources:write', summary: 'Delete a source', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
    { method: 'POST', path: '/v1/sources/:sourceId/test', scope: 'sources:read', summary: 'Connect to a source', audit: 'not audited', body: emptyBody, bodyOptional: true, reads: true, response: sourceTest, handler: handlers.test },
    { method: 'POST', path: '/v1/sources/:sourceId/check', scope: 'sources:read', summary: 'Describe the queries of a source again', audit: 'not audited', body: emptyBody, bodyOptional: true, reads: true, response: sourceCheck, handler: handlers.check },
    { method: 'GET', path: '/v1/sources/:sourceId/schema', waits: true, scope: 'sources:read', summary: 'Read the tables of a source', compressed: true, response: sourceSchema, handler: handlers.schema },
  ];
}

const paging = { limitMax: pageItemsMax };

const driver = { type: 'null' } as const;

export const createSourceBody = object(
  {
    hubId: id,
    label,
    engine,
    driver,
    connectionSettings: createSettings,
    parentNodeId: id,
    ...readOnly('sourceId', 'accountId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
  },
  ['hubId', 'label', 'engine', 'connectionSettings'],
);

export const updateSourceBody = object({
  label,
  engine,
  driver,
  connectionSettings: updateSettings,
  parentNodeId: id,
  ...readOnly('sourceId', 'accountId', 'hubId', 'nodeId', 'nodeType', 'createdAt', 'updatedAt'),
});

export const createdSource = record({
  hubId: text,
  label: text,
  engine,
  sourceId: text,
  nodeId: text,
  nodeType: { const: 'source' },
  parentNodeId: text,
});
const members = {
  sourceId: text,
  hubId: text,
  label: text,
  engine,
  connectionSettings,
  createdAt: time,
  updatedAt: timeOrNull,
} as const;
export const source = record({ ...members, nodeType: { const: 'source' } });
const listedSource = record({ ...members, accountId: text, driver: { type: 'null' } });
export const sources = list(listedSource);
/** The ids of the queries that the source rejects, and the number of those that there was no time for. */
export const sourceCheck = record({ checked: count, broken: list(text), left: count });
export const sourceTest = record(
  {
    ok: { const: true },
    latencyMs: { type: 'number' },
    serverVersion: text,
    suggestedPooling: {
      type: 'string',
      description: 'The value that connectionSettings.pooling should have; absent if the setting fits.',
    },
  },
  ['suggestedPooling'],
);

const column = record({ name: text, type: text, nullable: { type: 'boolean' }, comment: text }, [
  'nullable',
  'comment',
]);
const foreignKey = record({ columns: list(text), schema: text, table: text, referencedColumns: list(text) });
const table = record(
  {
    schema: text,
    name: text,
    kind: text,
    columns: list(column),
    comment: text,
    rowEstimate: { ...count, description: 'Of the database; absent if it has none.' },
    primaryKey: list(text),
    foreignKeys: list(foreignKey),
  },
  ['comment', 'rowEstimate'],
);
export const sourceSchema = record({ tables: list(table), truncated: { const: true } }, ['truncated']);

type CreateSourceBody = FromSchema<typeof createSourceBody>;
type UpdateSourceBody = FromSchema<typeof updateSourceBody>;
type Engine = SourceJson['engine'];
type SourceJson = FromSchema<typeof source>;

const sourceIdOf = (request: FastifyRequest) => (request.params as { sourceId: string }).sourceId;

function createSourceHandlers({ upstreams: { catalog, executor }, settings }: ResourceDeps) {
  return {
    create: async (request, reply) => {
      const { source } = await catalog.createSource(toCreation(request), request.context);
      setVersion(reply, source?.version);
      return toCreatedSourceJson(required(source));
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = requireText(request, 'hubId');
      const { sources, total } = await catalog.listSources({ hubId, page }, request.context);
      return sendList(reply, { items: sources, toJson: toListedSourceJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const { source } = await catalog.getSource({ sourceId: sourceIdOf(request) }, request.context);
      setVersion(reply, source?.version);
      return toSourceJson(required(source));
    },

    update: async (request, reply) => {
      const { source } = await catalog.updateSource(
        { sourceId: sourceIdOf(request), ...toChange(request), ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, source?.version);
      return toSourceJson(required(source));
    },

    remove: async (request) => {
      await catalog.deleteSource(
        { sourceId: sourceIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },

    test: async (request) => {
      const { latencyMs, serverVersion, suggestedPooling } = await executor.testSource(
        { sourceId: sourceIdOf(request) },
        request.context,
      );
      const tested = { ok: true, latencyMs: Math.round(latencyMs * 1_000) / 1_000, serverVersion };
      return suggestedPooling === undefined ? tested : { ...tested, suggestedPooling };
    },

    check: (request) => checkSource(executor, request),

    schema: async (request) => {
      const schema = await executor.readSchema({ sourceId: sourceIdOf(request) }, request.context);
      await turnFor(schema.tables.reduce((sum, { columns }) => sum + columns.length, 0));
      return schema;
    },
  } satisfies Record<string, Handler>;
}

async function checkSource(executor: Pick<Executor, 'checkSource'>, request: FastifyRequest) {
  const { checked, brokenQueryIds, left } = await executor.checkSource(
    { sourceId: sourceIdOf(request) },
    request.context,
  );
  return { checked, broken: brokenQueryIds, left };
}

function toCreation(request: FastifyRequest): Complete<CreateSourceRequest> {
  const { hubId, label, engine, connectionSettings, parentNodeId } = request.body as CreateSourceBody;
  return { hubId, label, engine, connectionSettings: toSettings(connectionSettings), parentNodeId };
}

type SourceChange = Omit<UpdateSourceRequest, 'sourceId' | 'expectedVersion' | 'moreVersions'>;

function toChange(request: FastifyRequest): Complete<SourceChange> {
  const { label, engine, connectionSettings, parentNodeId } = request.body as UpdateSourceBody;
  const settings = connectionSettings && toSettings(connectionSettings);
  return { label, engine, connectionSettings: settings, parentNodeId };
}

function toCreatedSourceJson(source: Source): Complete<FromSchema<typeof createdSource>> {
  const { hubId, label, sourceId, parentNodeId } = source;
  const engine = source.engine as Engine;
  return { hubId, label, engine, sourceId, nodeId: sourceId, nodeType: 'source', parentNodeId };
}

function toListedSourceJson(source: Source): Complete<FromSchema<typeof listedSource>> {
  return {
    sourceId: source.sourceId,
    accountId: source.accountId,
    hubId: source.hubId,
    label: source.label,
    engine: source.engine as Engine,
    driver: null,
    connectionSettings: toSettingsJson(source.connectionSettings),
    createdAt: createdAtOf(source),
    updatedAt: toTimestamp(source.updatedAt),
  };
}

function toSourceJson(source: Source): Complete<SourceJson> {
  return {
    sourceId: source.sourceId,
    hubId: source.hubId,
    label: source.label,
    engine: source.engine as Engine,
    connectionSettings: toSettingsJson(source.connectionSettings),
    createdAt: createdAtOf(source),
    updatedAt: toTimestamp(source.updatedAt),
    nodeType: 'source',
  };
}
