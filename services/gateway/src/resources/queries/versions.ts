/** The versions of a stored query: what it was after each change. */

import { queryVersionsKept } from '@datahub/contract/limits';
import type { QueryVersion } from '@datahub/proto/catalog/v1/catalog';
import { expectedVersions } from '../../http/if-match.ts';
import {
  count,
  engine,
  type FromSchema,
  list,
  object,
  record,
  text,
  textOrNull,
  time,
  toTimestamp,
} from '../../http/json-schema.ts';
import { readPage } from '../../http/pagination.ts';
import { readFlag } from '../../http/query-params.ts';
import { setVersion } from '../../http/request-context.ts';
import type { FieldPointers } from '../../http/request-error.ts';
import { type Handler, paged, type Route, required } from '../../http/route.ts';
import { sendList } from '../../response/list-response.ts';
import type { ResourceDeps } from '../resource-deps.ts';
import { queryIdOf, toContextJson, toDefinitionJson } from './queries.ts';
import { behaviour, optionalBehaviour, savedQuery, updateQueryPointers } from './query-schemas.ts';

export function queryVersionRoutes(deps: ResourceDeps): Route[] {
  const handlers = createVersionHandlers(deps);
  // biome-ignore format: one line a route.
  return [
    { method: 'GET', path: '/v1/queries/:queryId/versions', scope: 'queries:read', summary: 'List the versions of a query', query: paged, response: versions, handler: handlers.list },
    { method: 'POST', path: '/v1/queries/:queryId/restore', storedAnswer: true, scope: 'queries:write', summary: 'Restore a version of a query', audit: 'by catalog', query: ['signature'], body: restoreBody, pointers: restorePointers, versioned: true, settledBy: 'audit', response: savedQuery, handler: handlers.restore },
  ];
}

const paging = { limitMax: queryVersionsKept.max };

const version = record(
  {
    number: count,
    at: time,
    keyId: textOrNull,
    restoredFrom: count,
    label: text,
    text,
    sourceId: text,
    engine,
    ...behaviour,
  },
  ['restoredFrom', ...optionalBehaviour],
);
export const versions = list(version);

const number = { type: 'integer', minimum: 1, maximum: 4_294_967_295 } as const;
export const restoreBody = object({ version: number }, ['version']);
type VersionJson = FromSchema<typeof version>;
type RestoreBody = FromSchema<typeof restoreBody>;

/** All faults of the version are shown at its number, because the body has nothing else. */
export const restorePointers = (): FieldPointers =>
  Object.fromEntries(Object.keys(updateQueryPointers()).map((name) => [name, '/version']));

function createVersionHandlers({ upstreams: { catalog }, signatures, settings }: ResourceDeps) {
  return {
    list: async (request, reply) => {
      const page = readPage(request, paging);
      const { versions, total } = await catalog.listQueryVersions(
        { queryId: queryIdOf(request), page },
        request.context,
      );
      return sendList(reply, { items: versions, toJson: toVersionJson, page, total }, settings);
    },

    restore: async (request, reply) => {
      const isAsked = readFlag(request, 'signature');
      const { version } = request.body as RestoreBody;
      const wanted = { queryId: queryIdOf(request), number: version, ...expectedVersions(request) };
      const response = await catalog.restoreQuery(wanted, request.context);
      setVersion(reply, response.query?.version);
      return signatures.saved(response, request.context, isAsked);
    },
  } satisfies Record<string, Handler>;
}

function toVersionJson({ query: was, ...version }: QueryVersion): VersionJson {
  const query = required(was);
  const { number, at, keyId, restoredFrom } = version;
  const { meta, config } = toDefinitionJson(query, toContextJson(query));
  const { query: stored, source, ...does } = config;
  return {
    number,
    at: toTimestamp(at) as string,
    keyId: keyId === '' ? null : keyId,
    restoredFrom,
    label: meta.label,
    text: stored.query,
    ...source,
    ...does,
  };
}
