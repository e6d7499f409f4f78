/** Hubs and their trees. */

import type { FastifyRequest } from 'fastify';
import { expectedVersions } from '../http/if-match.ts';
import { readPage, setPageHeaders } from '../http/pagination.ts';
import { readFlag } from '../http/query-params.ts';
import { type Handler, setVersion } from '../http/request-context.ts';
import type { Upstreams } from '../upstreams.ts';
import { label, object, readOnly } from './request-schemas.ts';
import { toHubJson, toNodeJson } from './to-json.ts';

const paging = { limitDefault: 10, limitMax: 20 };

const hubBody = object({ label, ...readOnly('hubId', 'archived', 'createdAt', 'updatedAt') }, ['label']);
export const createHubBody = hubBody;
export const updateHubBody = hubBody;

const hubIdOf = (request: FastifyRequest) => (request.params as { hubId: string }).hubId;

export function createHubHandlers({ catalog }: Upstreams) {
  const handlers = {
    create: async (request, reply) => {
      const { hub } = await catalog.createHub(request.body as { label: string }, request.context);
      setVersion(reply, hub?.version);
      return toHubJson(hub);
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
      return toHubJson(hub);
    },

    update: async (request, reply) => {
      const { label } = request.body as { label: string };
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

  async function setArchived(request: FastifyRequest, reply: Parameters<Handler>[1], archived: boolean) {
    const { hub } = await catalog.updateHub(
      { hubId: hubIdOf(request), archived, ...expectedVersions(request) },
      request.context,
    );
    setVersion(reply, hub?.version);
    return toHubJson(hub);
  }

  return handlers;
}
