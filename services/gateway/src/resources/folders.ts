/** Folders below the categories of a hub. */

import type { Complete } from '@datahub/contract/complete';
import type { CreateFolderRequest, Folder, UpdateFolderRequest } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { type FromSchema, id, label, nothing, object, readOnly, record, text } from '../http/json-schema.ts';
import { setVersion } from '../http/request-context.ts';
import { type Handler, type Route, required } from '../http/route.ts';
import type { ResourceDeps } from './resource-deps.ts';

export function folderRoutes(deps: ResourceDeps): Route[] {
  const handlers = createFolderHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/hubs/:hubId/folders', scope: 'hubs:write', summary: 'Create a folder', audit: 'by catalog', body: createFolderBody, settledBy: 'audit', response: folder, handler: handlers.create },
    { method: 'PUT', path: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Rename or move a folder', audit: 'by catalog', body: updateFolderBody, versioned: true, response: folder, handler: handlers.update },
    { method: 'DELETE', path: '/v1/folders/:nodeId', scope: 'hubs:write', summary: 'Delete an empty folder', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
  ];
}

const members = {
  label,
  parentNodeId: id,
  ...readOnly('hubId', 'nodeId', 'nodeType', 'nodeSubType', 'children'),
};
export const createFolderBody = object(members, ['label']);
export const updateFolderBody = object(members);

export const folder = record({
  hubId: text,
  nodeId: text,
  parentNodeId: text,
  nodeType: { const: 'folder' },
  nodeSubType: text,
  label: text,
});

type FolderChange = Omit<UpdateFolderRequest, 'nodeId' | 'expectedVersion' | 'moreVersions'>;

const nodeIdOf = (request: FastifyRequest) => (request.params as { nodeId: string }).nodeId;

function createFolderHandlers({ upstreams: { catalog } }: ResourceDeps) {
  return {
    create: async (request, reply) => {
      const { hubId } = request.params as { hubId: string };
      const { label, parentNodeId } = request.body as FromSchema<typeof createFolderBody>;
      const creation: Complete<CreateFolderRequest> = { hubId, label, parentNodeId };
      const { folder } = await catalog.createFolder(creation, request.context);
      setVersion(reply, folder?.version);
      return toFolderJson(required(folder));
    },

    update: async (request, reply) => {
      const { label, parentNodeId } = request.body as FromSchema<typeof updateFolderBody>;
      const change: Complete<FolderChange> = { label, parentNodeId };
      const { folder } = await catalog.updateFolder(
        { nodeId: nodeIdOf(request), ...change, ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, folder?.version);
      return toFolderJson(required(folder));
    },

    remove: async (request) => {
      await catalog.deleteFolder(
        { nodeId: nodeIdOf(request), ...expectedVersions(request) },
        request.context,
      );
      return {};
    },
  } satisfies Record<string, Handler>;
}

function toFolderJson({
  hubId,
  nodeId,
  parentNodeId,
  nodeSubType,
  label,
}: Folder): FromSchema<typeof folder> {
  return { hubId, nodeId, parentNodeId, nodeType: 'folder', nodeSubType, label };
}
