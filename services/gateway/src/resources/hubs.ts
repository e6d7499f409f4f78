/** Hubs and their trees. */

import type { Complete } from '@datahub/contract/complete';
import type { CreateHubRequest, Hub, UpdateHubRequest } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import {
  createdAtOf,
  type FromSchema,
  hubPath,
  label,
  list,
  nothing,
  object,
  orNull,
  readOnly,
  record,
  text,
  time,
  timeOrNull,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage } from '../http/pagination.ts';
import { readFlag } from '../http/query-params.ts';
import { setVersion } from '../http/request-context.ts';
import { emptyBody, type Handler, paged, type Route, required } from '../http/route.ts';
import { sendList } from '../response/list-response.ts';
import { node, sendTree } from './hub-tree.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function hubRoutes(deps: ResourceDeps): Route[] {
  const handlers = createHubHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/hubs', reference: true, scope: 'hubs:write', summary: 'Create a hub', audit: 'by catalog', body: hubBody, settledBy: 'audit', response: hub, handler: handlers.create },
    { method: 'GET', path: '/v1/hubs', reference: true, scope: 'hubs:read', summary: 'List hubs', query: [...paged, 'archived'], response: hubs, handler: handlers.list },
    { method: 'GET', path: '/v1/hubs/:hubId', scope: 'hubs:read', summary: 'Get a hub', response: hub, handler: handlers.get },
    { method: 'PUT', path: '/v1/hubs/:hubId', reference: true, scope: 'hubs:write', summary: 'Rename a hub', audit: 'by catalog', body: hubBody, versioned: true, response: nothing, handler: handlers.update },
    { method: 'DELETE', path: '/v1/hubs/:hubId', scope: 'hubs:write', summary: 'Delete a hub', audit: 'by catalog', query: ['recursive'], versioned: true, response: nothing, handler: handlers.remove },
    { method: 'GET', path: '/v1/hubs/:hubId/contents', reference: true, scope: 'hubs:read', summary: 'Get the tree of a hub', compressed: true, largeAnswer: true, response: node, handler: handlers.contents },
    { method: 'POST', path: '/v1/hubs/:hubId/archive', scope: 'hubs:write', summary: 'Archive a hub', audit: 'by catalog', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', response: hub, handler: handlers.archive },
    { method: 'POST', path: '/v1/hubs/:hubId/unarchive', scope: 'hubs:write', summary: 'Bring a hub back', audit: 'by catalog', body: emptyBody, bodyOptional: true, versioned: true, settledBy: 'audit', response: hub, handler: handlers.unarchive },
  ];
}

const paging = { limitDefault: 10, limitMax: 20 };

export const hubBody = object(
  { label, path: orNull(hubPath), ...readOnly('hubId', 'archived', 'createdAt', 'updatedAt') },
  ['label'],
);

export const hub = record(
  {
    hubId: text,
    label: text,
    path: text,
    archived: { type: 'integer', enum: [0, 1] },
    createdAt: time,
    updatedAt: timeOrNull,
  },
  ['path'],
);
export const hubs = list(hub);

type HubBody = FromSchema<typeof hubBody>;
type HubJson = FromSchema<typeof hub>;

const hubIdOf = (request: FastifyRequest) => (request.params as { hubId: string }).hubId;

function createHubHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  const setArchived = async (request: FastifyRequest, reply: FastifyReply, archived: boolean) => {
    const { hub } = await catalog.updateHub(
      { hubId: hubIdOf(request), archived, ...expectedVersions(request) },
      request.context,
    );
    setVersion(reply, hub?.version);
    return toHubJson(required(hub));
  };

  return {
    create: async (request, reply) => {
      const { hub } = await catalog.createHub(toCreation(request), request.context);
      setVersion(reply, hub?.version);
      return toHubJson(required(hub));
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const archived = readFlag(request, 'archived');
      const { hubs, total } = await catalog.listHubs({ page, archived }, request.context);
      return sendList(reply, { items: hubs, toJson: toHubJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const { hub } = await catalog.getHub({ hubId: hubIdOf(request) }, request.context);
      setVersion(reply, hub?.version);
      return toHubJson(required(hub));
    },

    update: async (request, reply) => {
      const { hub } = await catalog.updateHub(
        { hubId: hubIdOf(request), ...toChange(request), ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, hub?.version);
      return {};
    },

    remove: async (request) => {
      const recursive = readFlag(request, 'recursive');
      await catalog.deleteHub(
        { hubId: hubIdOf(request), recursive, ...expectedVersions(request) },
        request.context,
      );
      return {};
    },

    contents: async (request, reply) => {
      const hubId = hubIdOf(request);
      const { root, truncated = false } = await catalog.getHubContents({ hubId }, request.context);
      return sendTree(reply, { root: required(root), hubId, truncated }, settings);
    },

    archive: (request, reply) => setArchived(request, reply, true),
    unarchive: (request, reply) => setArchived(request, reply, false),
  } satisfies Record<string, Handler>;
}

function toCreation(request: FastifyRequest): Complete<CreateHubRequest> {
  const { label, path } = request.body as HubBody;
  return { label, path: path ?? undefined };
}

type HubChange = Omit<UpdateHubRequest, 'hubId' | 'archived' | 'expectedVersion' | 'moreVersions'>;

function toChange(request: FastifyRequest): Complete<HubChange> {
  const { label, path } = request.body as HubBody;
  return { label, path: path === null ? '' : path };
}

function toHubJson(hub: Hub): Complete<HubJson> {
  return {
    hubId: hub.hubId,
    label: hub.label,
    path: hub.path,
    archived: hub.archived ? 1 : 0,
    createdAt: createdAtOf(hub),
    updatedAt: toTimestamp(hub.updatedAt),
  };
}
