/** Folders below the categories of a hub. */

import type { Folder } from '@datahub/proto/catalog/v1/catalog';
import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { answer, type FromSchema, id, label, object, readOnly, text } from '../http/json-schema.ts';
import { type Handler, setVersion } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';

const members = {
  label,
  parentNodeId: id,
  ...readOnly('hubId', 'nodeId', 'nodeType', 'nodeSubType', 'children'),
};
export const createFolderBody = object(members, ['label']);
export const updateFolderBody = object(members);

export const folder = answer({
  hubId: text,
  nodeId: text,
  parentNodeId: text,
  nodeType: { const: 'folder' },
  nodeSubType: text,
  label: text,
});

const nodeIdOf = (request: FastifyRequest) => (request.params as { nodeId: string }).nodeId;

export function createFolderHandlers({ catalog }: Upstreams) {
  return {
    create: async (request, reply) => {
      const { hubId } = request.params as { hubId: string };
      const { label, parentNodeId } = request.body as FromSchema<typeof createFolderBody>;
      const { folder } = await catalog.createFolder({ hubId, label, parentNodeId }, request.context);
      setVersion(reply, folder?.version);
      return folder === undefined ? {} : toFolderJson(folder);
    },

    update: async (request, reply) => {
      const { label, parentNodeId } = request.body as FromSchema<typeof updateFolderBody>;
      const { folder } = await catalog.updateFolder(
        { nodeId: nodeIdOf(request), label, parentNodeId, ...expectedVersions(request) },
        request.context,
      );
      setVersion(reply, folder?.version);
      return folder === undefined ? {} : toFolderJson(folder);
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
