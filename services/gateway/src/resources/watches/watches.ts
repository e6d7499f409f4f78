/** Watches: queries that run by a schedule and tell what they find. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import { expectedVersions } from '../../http/if-match.ts';
import { nothing, record, text } from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readText } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import { emptyBody, type Handler, paged, type Route, required } from '../../http/route.ts';
import { writeJson } from '../../response/json-splices.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { createTryWatchHandler, triedWatch } from './try-watch.ts';
import {
  toSettings,
  toWatchJson,
  updateWatchBody,
  watch,
  watchBody,
  watches,
  watchPointers,
} from './watch-schemas.ts';

export function watchRoutes(deps: ResourceDeps): Route[] {
  const handlers = createWatchHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'POST', path: '/v1/watches', scope: 'watches:write', summary: 'Create a watch', audit: 'by catalog', body: watchBody, pointers: watchPointers, settledBy: 'audit', response: watch, handler: handlers.create },
    { method: 'GET', path: '/v1/watches', scope: 'watches:read', summary: 'List watches', query: [...paged, 'hubId'], response: watches, handler: handlers.list },
    { method: 'POST', path: '/v1/watches/try', scope: 'watches:write', summary: 'Run a watch that is not stored, and tell nobody', audit: 'query.execute', body: watchBody, pointers: watchPointers, reads: true, response: triedWatch, handler: createTryWatchHandler(deps) },
    { method: 'GET', path: '/v1/watches/:watchId', scope: 'watches:read', summary: 'Get a watch', response: watch, handler: handlers.get },
    { method: 'PUT', path: '/v1/watches/:watchId', scope: 'watches:write', summary: 'Update a watch', audit: 'by catalog', body: updateWatchBody, pointers: watchPointers, versioned: true, response: watch, handler: handlers.update },
    { method: 'DELETE', path: '/v1/watches/:watchId', scope: 'watches:write', summary: 'Delete a watch', audit: 'by catalog', versioned: true, response: nothing, handler: handlers.remove },
    { method: 'POST', path: '/v1/watches/:watchId/run', scope: 'watches:write', summary: 'Run a watch now', audit: 'by catalog', body: emptyBody, bodyOptional: true, settledBy: 'audit', response: askedRun, handler: handlers.run },
  ];
}

const paging = { limitDefault: 50, limitMax: 200 };
const askedRun = record({ runId: text });

export const watchIdOf = (request: FastifyRequest) => (request.params as { watchId: string }).watchId;

function createWatchHandlers({ upstreams: { catalog }, settings, onWork }: ResourceDeps) {
  const send = (reply: FastifyReply, found: Parameters<typeof toWatchJson>[0] | undefined) => {
    setVersion(reply, found?.version);
    return reply
      .header('content-type', 'application/json; charset=utf-8')
      .send(writeJson(toWatchJson(required(found))));
  };
  return {
    create: async (request, reply) => {
      const { hubId } = request.body as { hubId: string };
      const created = await catalog.createWatch({ hubId, settings: toSettings(request) }, request.context);
      onWork?.();
      return send(reply, created.watch);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const hubId = readText(request, 'hubId');
      const { watches: items, total } = await catalog.listWatches({ hubId, ...page }, request.context);
      return sendList(reply, { items, toJson: toWatchJson, page, total }, settings);
    },

    get: async (request, reply) => {
      const { watch } = await catalog.getWatch({ watchId: watchIdOf(request) }, request.context);
      return send(reply, watch);
    },

    update: async (request, reply) => {
      const { watch } = await catalog.updateWatch(
        { watchId: watchIdOf(request), settings: toSettings(request), ...expectedVersions(request) },
        request.context,
      );
      onWork?.();
      return send(reply, watch);
    },

    remove: async (request) => {
      const watchId = watchIdOf(request);
      await catalog.deleteWatch({ watchId, ...expectedVersions(request) }, request.context);
      return {};
    },

    run: async (request) => {
      const { runId } = await catalog.runWatch({ watchId: watchIdOf(request) }, request.context);
      onWork?.();
      return { runId };
    },
  } satisfies Record<string, Handler>;
}
