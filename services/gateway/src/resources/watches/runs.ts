/** The runs of watches, and the rows that they told. */

import type { FastifyRequest } from 'fastify';
import { list, record } from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readText } from '../../http/query-params.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { sendList } from '../../response/list-response.ts';
import { ResponseBytes } from '../../response/response-bytes.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { run, runs, toRunJson } from './watch-schemas.ts';
import { watchIdOf } from './watches.ts';

export function watchRunRoutes(deps: ResourceDeps): Route[] {
  const handlers = createRunHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/watches/runs', scope: 'watches:read', summary: 'List the runs of all watches, newest first', query: [...paged, 'hubId', 'outcome'], response: runs, handler: handlers.listAll },
    { method: 'GET', path: '/v1/watches/:watchId/runs', scope: 'watches:read', summary: 'List the runs of a watch, newest first', query: [...paged, 'outcome'], response: runs, handler: handlers.list },
    { method: 'GET', path: '/v1/watches/:watchId/runs/:runId', scope: 'watches:read', summary: 'Get a run', response: run, handler: handlers.get },
    { method: 'GET', path: '/v1/watches/:watchId/runs/:runId/rows', scope: 'watches:read', summary: 'Get the rows that a run told', largeAnswer: true, response: runRows, handler: handlers.rows },
  ];
}

const paging = { limitDefault: 50, limitMax: 500 };
const blockBytes = 65_536;
const runRows = record({ data: list({ type: 'object' }) });

const runIdOf = (request: FastifyRequest) => (request.params as { runId: string }).runId;

function createRunHandlers({ upstreams: { catalog }, settings }: ResourceDeps) {
  return {
    listAll: async (request, reply) => {
      const page = readPage(request, paging);
      const filter = { hubId: readText(request, 'hubId'), outcome: readText(request, 'outcome') };
      const { runs: items, total } = await catalog.listWatchRuns({ ...filter, ...page }, request.context);
      return sendList(reply, { items, toJson: toRunJson, page, total }, settings);
    },

    list: async (request, reply) => {
      const page = readPage(request, paging);
      const filter = { watchId: watchIdOf(request), outcome: readText(request, 'outcome') };
      const { runs: items, total } = await catalog.listWatchRuns({ ...filter, ...page }, request.context);
      return sendList(reply, { items, toJson: toRunJson, page, total }, settings);
    },

    get: async (request) => {
      const named = { watchId: watchIdOf(request), runId: runIdOf(request) };
      const { run } = await catalog.getWatchRun(named, request.context);
      return toRunJson(required(run));
    },

    rows: async (request, reply) => {
      const named = { watchId: watchIdOf(request), runId: runIdOf(request) };
      const { ndjson } = await catalog.getWatchRunRows(named, request.context);
      const bytes = new ResponseBytes(request, settings.responseBudget);
      let before = '{"data":[';
      for (let at = 0; at < ndjson.length; ) {
        // Many lines at once. JSON has no line breaks in its texts.
        const end = ndjson.indexOf(0x0a, Math.min(at + blockBytes, ndjson.length - 1));
        await bytes.add(before + ndjson.toString('utf8', at, end).replaceAll('\n', ','));
        before = ',';
        at = end + 1;
      }
      await bytes.add(']}');
      return reply.header('content-type', 'application/json; charset=utf-8').send(bytes.end());
    },
  } satisfies Record<string, Handler>;
}
