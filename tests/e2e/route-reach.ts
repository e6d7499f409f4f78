/** Which routes reach what with which limits, and a request to each. A new route without a row fails. */

import { describeRoutes } from '../../services/gateway/src/routes.ts';
import type { Api, CallOptions } from '../support/api.ts';
import { api, bodyFor, sentTo } from '../support/hub.ts';

/**
 * What a key with all scopes reaches over a route: all of the account, only what its limit names (of lists: only that),
 * or nothing.
 */
export type Reach = 'all' | 'own' | 'none';

/** Limits that decide what a key reaches. `classifierIds` stands beside `hubIds` here. `queries` reaches what `queryIds` does. */
export const columns = ['hubIds', 'queryIds', 'classifierIds', 'context', 'queries'] as const;
export type Column = (typeof columns)[number];

/** The place of the limit in a row. */
export const placeOf = (column: Column): number =>
  columns.indexOf(column === 'queries' ? 'queryIds' : column);

export type Row = readonly [hubIds: Reach, queryIds: Reach, classifierIds: Reach, context: Reach];
const ofHub: Row = ['own', 'all', 'own', 'all'];
const changesHub: Row = ['own', 'none', 'own', 'all'];
const ofQuery: Row = ['own', 'own', 'own', 'all'];
/** A new text could evade the limit. */
const writesQuery: Row = ['own', 'none', 'own', 'none'];
const open: Row = ['all', 'all', 'all', 'all'];
const trains: Row = ['none', 'none', 'own', 'all'];
const managesClassifiers: Row = ['none', 'none', 'none', 'all'];
/** A watch has no caller whose queries or variables could be checked. */
const hasWatches: Row = ['own', 'none', 'own', 'none'];
/** What a watch finds is not limited to the values that the key pins. */
const readsWatches: Row = ['own', 'own', 'own', 'none'];
const ofOwnJobs: Row = ['none', 'none', 'own', 'own'];

export const table: Record<string, Row> = {
  'POST /v1/hubs': ['none', 'none', 'none', 'all'],
  'GET /v1/hubs': ofHub,
  'GET /v1/hubs/:hubId': ofHub,
  'PUT /v1/hubs/:hubId': changesHub,
  'DELETE /v1/hubs/:hubId': changesHub,
  'GET /v1/hubs/:hubId/contents': ofHub,
  'POST /v1/hubs/:hubId/archive': changesHub,
  'POST /v1/hubs/:hubId/unarchive': changesHub,
  'GET /v1/hubs/:hubId/openapi.json': ofHub,
  'POST /v1/hubs/:hubId/folders': changesHub,
  'PUT /v1/folders/:nodeId': changesHub,
  'DELETE /v1/folders/:nodeId': changesHub,
  'POST /v1/sources': changesHub,
  'GET /v1/sources': ofHub,
  'GET /v1/sources/:sourceId': ofHub,
  'PUT /v1/sources/:sourceId': changesHub,
  'DELETE /v1/sources/:sourceId': changesHub,
  'POST /v1/sources/:sourceId/test': ofHub,
  'POST /v1/sources/:sourceId/check': ofHub,
  'GET /v1/sources/:sourceId/schema': ofHub,
  'POST /v1/queries': writesQuery,
  'GET /v1/queries': ofHub,
  'GET /v1/queries/:queryId': ofQuery,
  'PUT /v1/queries/:queryId': writesQuery,
  'DELETE /v1/queries/:queryId': ofQuery,
  'POST /v1/queries/execute': ofQuery,
  'GET /v1/queries/:queryId/data': ofQuery,
  'POST /v1/queries/data': ofQuery,
  'GET /v1/hubs/:hubId/data/*': ofQuery,
  'POST /v1/queries/check': writesQuery,
  'POST /v1/queries/try': writesQuery,
  'POST /v1/queries/transaction': ofQuery,
  'POST /v1/queries/:queryId/rows': ofQuery,
  'GET /v1/queries/:queryId/versions': ofQuery,
  'POST /v1/queries/:queryId/restore': writesQuery,
  'GET /v1/queries/:queryId/stats': ofQuery,
  'GET /v1/sources/:sourceId/stats': ofHub,
  'GET /v1/queries/:queryId/usage': ofQuery,
  'DELETE /v1/boards/:boardId': changesHub,
  'PUT /v1/boards/:boardId': changesHub,
  'GET /v1/boards/:boardId': changesHub,
  'GET /v1/boards': changesHub,
  'POST /v1/boards': changesHub,
  'GET /v1/queries/:queryId/runs': ofQuery,
  'GET /v1/stats': ofQuery,
  'POST /v1/classifiers': managesClassifiers,
  'GET /v1/classifiers': open,
  'GET /v1/classifiers/:classifierId': open,
  'PUT /v1/classifiers/:classifierId': managesClassifiers,
  'DELETE /v1/classifiers/:classifierId': managesClassifiers,
  'POST /v1/classifiers/:classifierId/train': trains,
  'POST /v1/classifiers/:classifierId/predict': open,
  'DELETE /v1/classifiers/:classifierId/classes/:classId': managesClassifiers,
  'GET /v1/classifiers/:classifierId/evaluation': open,
  'GET /v1/classifiers/:classifierId/examples': trains,
  'PUT /v1/classifiers/:classifierId/examples/:exampleId': trains,
  'DELETE /v1/classifiers/:classifierId/examples/:exampleId': trains,
  'GET /v1/jobs': ['own', 'own', 'own', 'own'],
  'GET /v1/jobs/:jobId': ofOwnJobs,
  'DELETE /v1/jobs/:jobId': ofOwnJobs,
  'POST /v1/ai/summarize': ofQuery,
  'POST /v1/watches': hasWatches,
  'GET /v1/watches': ['own', 'all', 'own', 'none'],
  'POST /v1/watches/try': hasWatches,
  'GET /v1/watches/:watchId': readsWatches,
  'PUT /v1/watches/:watchId': hasWatches,
  'DELETE /v1/watches/:watchId': hasWatches,
  'POST /v1/watches/:watchId/run': hasWatches,
  'GET /v1/watches/runs': hasWatches,
  'GET /v1/watches/:watchId/runs': readsWatches,
  'GET /v1/watches/:watchId/runs/:runId': readsWatches,
  'GET /v1/watches/:watchId/runs/:runId/rows': hasWatches,
  'GET /v1/events': hasWatches,
  'POST /v1/destinations': hasWatches,
  'GET /v1/destinations': readsWatches,
  'GET /v1/destinations/:destinationId': hasWatches,
  'PUT /v1/destinations/:destinationId': hasWatches,
  'DELETE /v1/destinations/:destinationId': hasWatches,
  'POST /v1/destinations/:destinationId/rotate': hasWatches,
  'POST /v1/destinations/:destinationId/test': hasWatches,
  'POST /v1/destinations/:destinationId/redeliver': hasWatches,
  'GET /v1/deliveries': ['none', 'none', 'none', 'none'],
  'POST /v1/deliveries/:deliveryId/redeliver': hasWatches,
  'POST /v1/keys': open,
  'GET /v1/keys': ofQuery,
  'GET /v1/keys/current': open,
  'PUT /v1/keys/:keyId': ofQuery,
  'POST /v1/keys/:keyId/rotate': ofQuery,
  'DELETE /v1/keys/:keyId': ofQuery,
  'GET /v1/keys/:keyId/usage': ofQuery,
  'GET /v1/audit': ofQuery,
  // People belong to the account. A key has no person.
  'GET /v1/people': ['none', 'none', 'none', 'none'],
  'GET /v1/people/current': ['none', 'none', 'none', 'none'],
  'DELETE /v1/people/current/sessions': ['none', 'none', 'none', 'none'],
  'PUT /v1/people/:personId': ['none', 'none', 'none', 'none'],
  'DELETE /v1/people/:personId': ['none', 'none', 'none', 'none'],
  'DELETE /v1/people/:personId/sessions': ['none', 'none', 'none', 'none'],
  // A grant has no other limits, so a key that has them cannot give it.
  'POST /v1/grants': ['own', 'none', 'none', 'none'],
  'GET /v1/grants': ['own', 'own', 'own', 'all'],
  // Each key has its own agents. All agents, and clients, belong to the account.
  'GET /v1/agents': ['own', 'own', 'own', 'own'],
  'DELETE /v1/agents/:agentId': ['none', 'none', 'none', 'none'],
  'POST /v1/clients': ['none', 'none', 'none', 'none'],
  'GET /v1/clients': ['none', 'none', 'none', 'none'],
  'DELETE /v1/clients/:clientId': ['none', 'none', 'none', 'none'],
  'DELETE /v1/grants/:grantId': ['own', 'none', 'none', 'none'],
};

export const routes = describeRoutes().map((route) => ({ ...route, name: `${route.method} ${route.path}` }));
export type Named = (typeof routes)[number];

export type Ids = Record<string, string>;

interface Asked extends Pick<CallOptions, 'key' | 'headers'> {
  /** Of a key that is created. */
  limits: object;
  as?: Api;
}

/** A request that would change nothing but what it creates: changes expect a version that no document has. */
export async function ask(route: Named, ids: Ids, { limits, headers = {}, as = api, ...caller }: Asked) {
  const { method, path: url, query = [], name } = route;
  const path = url.replace(/:(\w+)/g, (_, id) => ids[id] as string).replace('*', 'mine');
  const search = [
    ...(query.includes('hubId') ? [`hubId=${ids.hubId}`] : []),
    ...(query.includes('resourceId') ? [`resourceId=${ids.queryId}`] : []),
  ];
  const bodies: Record<string, object> = {
    'POST /v1/hubs': { label: 'x' },
    'POST /v1/classifiers': { name: 'x' },
    'POST /v1/keys': { name: 'limits', limits },
  };
  const isSent = method === 'POST' || method === 'PUT';
  const sent = isSent ? sentTo(url, bodies[name] ?? bodyFor(url, ids) ?? {}) : {};
  const answer = await as.call(method, search.length === 0 ? path : `${path}?${search.join('&')}`, {
    ...sent,
    ...caller,
    headers: {
      ...(method === 'PUT' || method === 'DELETE' ? { 'if-match': '"0"' } : {}),
      ...sent.headers,
      ...headers,
    },
  });
  // Each of its answers has a status of its own.
  const ofFirst = name === 'POST /v1/queries/data' ? answer.body?.executions?.[0]?.status : undefined;
  return { ...answer, status: ofFirst ?? answer.status };
}

/** Absent to the key, or forbidden. */
export const isRefused = (status: number) => status === 403 || status === 404;

/** Whether the body names resources. */
export const bodyNames = ({ path, method }: Named, ids: Ids): boolean =>
  method === 'POST' && /Ids?"/.test(JSON.stringify(bodyFor(path, ids) ?? {}));
