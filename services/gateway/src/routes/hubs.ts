/** Hubs and their trees. */

import type { Hub, Node } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import {
  answer,
  createdAtOf,
  type FromSchema,
  label,
  list,
  object,
  readOnly,
  text,
  textOrNull,
  time,
  timeOrNull,
  toTimestamp,
} from '../http/json-schema.ts';
import { readPage, setPageHeaders } from '../http/pagination.ts';
import { readFlag } from '../http/query-params.ts';
import { type Handler, setVersion } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';

const paging = { limitDefault: 10, limitMax: 20 };

export const hubBody = object({ label, ...readOnly('hubId', 'archived', 'createdAt', 'updatedAt') }, [
  'label',
]);

export const hub = answer({
  hubId: text,
  label: text,
  archived: { type: 'integer', enum: [0, 1] },
  createdAt: time,
  updatedAt: timeOrNull,
});
export const hubs = list(hub);

/** A node of a hub's tree. The schema of its children refers to the component `Node`. */
export const node = answer(
  {
    hubId: text,
    nodeId: text,
    parentNodeId: textOrNull,
    nodeType: { type: 'string', enum: ['root', 'category', 'folder', 'source', 'query'] },
    nodeSubType: { type: 'string', enum: ['queries', 'sources'] },
    label: text,
    children: list({ $ref: '#/components/schemas/Node' }),
    truncated: { const: true },
  },
  ['nodeSubType', 'truncated'],
);

type HubBody = FromSchema<typeof hubBody>;
type HubJson = FromSchema<typeof hub>;
type NodeJson = Omit<FromSchema<typeof node>, 'children'> & { children: NodeJson[] };

const hubIdOf = (request: FastifyRequest) => (request.params as { hubId: string }).hubId;

export function createHubHandlers({ catalog }: Upstreams) {
  const setArchived = async (request: FastifyRequest, reply: FastifyReply, archived: boolean) => {
    const { hub } = await catalog.updateHub(
      { hubId: hubIdOf(request), archived, ...expectedVersions(request) },
      request.context,
    );
    setVersion(reply, hub?.version);
    return hub === undefined ? {} : toHubJson(hub);
  };

  return {
    create: async (request, reply) => {
      const { hub } = await catalog.createHub(request.body as HubBody, request.context);
      setVersion(reply, hub?.version);
      return hub === undefined ? {} : toHubJson(hub);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const archived = readFlag(request, 'archived');
      const { hubs, total } = await catalog.listHubs({ page, archived }, request.context);
      setPageHeaders(reply, page, total);
      return hubs.map(toHubJson);
    },

    get: async (request, reply) => {
      const { hub } = await catalog.getHub({ hubId: hubIdOf(request) }, request.context);
      setVersion(reply, hub?.version);
      return hub === undefined ? {} : toHubJson(hub);
    },

    update: async (request, reply) => {
      const { label } = request.body as HubBody;
      const { hub } = await catalog.updateHub(
        { hubId: hubIdOf(request), label, ...expectedVersions(request) },
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

    contents: async (request) => {
      const hubId = hubIdOf(request);
      const { root, truncated } = await catalog.getHubContents({ hubId }, request.context);
      if (root === undefined) return {};
      return { ...toNodeJson(root, hubId), ...(truncated ? { truncated } : {}) };
    },

    archive: (request, reply) => setArchived(request, reply, true),
    unarchive: (request, reply) => setArchived(request, reply, false),
  } satisfies Record<string, Handler>;
}

function toHubJson(hub: Hub): HubJson {
  return {
    hubId: hub.hubId,
    label: hub.label,
    archived: hub.archived ? 1 : 0,
    createdAt: createdAtOf(hub),
    updatedAt: toTimestamp(hub.updatedAt),
  };
}

function toNodeJson(node: Node, hubId: string): NodeJson {
  return {
    hubId,
    nodeId: node.nodeId,
    parentNodeId: node.parentNodeId ?? null,
    nodeType: node.nodeType as NodeJson['nodeType'],
    ...(node.nodeSubType === undefined ? {} : { nodeSubType: node.nodeSubType as 'queries' | 'sources' }),
    label: node.label,
    children: node.children.map((child) => toNodeJson(child, hubId)),
  };
}
