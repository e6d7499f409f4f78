/** What each route is sent, and what it reads, where either is as large as it may be. A route without an entry fails. */

import { randomUUID } from 'node:crypto';
import { boardFixtures } from './board-fixtures.ts';
import type { Call, Fixtures, ToCall } from './calls.ts';
import { eachBody, exampleBodies, recordBodies } from './line-bodies.ts';
import { withManyClasses } from './many-classes.ts';
import { definitions, isOlder, type Prepared } from './prepared.ts';
import { eachText, texts, withPlaces } from './texts.ts';
import { watchFixtures } from './watch-fixtures.ts';
import { wideRows } from './wide-rows.ts';

const any = 'SELECT CAST(:a AS json) AS v';
const context = [{ key: 'a', type: 'json' }];
const eachDefinition = (toCall: (name: keyof typeof definitions) => ToCall) =>
  Object.fromEntries(
    (Object.keys(definitions) as (keyof typeof definitions)[]).map((name) => [name, toCall(name)]),
  );
const eachQuery =
  (suffix = '', body?: object) =>
  ({ stored }: Prepared) =>
    eachDefinition((name) => ({
      path: `/v1/queries/${stored[name].queryIds[0]}${suffix}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }));
const eachHub =
  (toPath: (hubId: string) => string) =>
  ({ stored }: Prepared) =>
    eachDefinition((name) => ({ path: toPath(stored[name].hubId) }));
const plain = (path: string) => () => ({ plain: { path } });

/** Creates what a call deletes or changes. */
const madeBefore = (create: (prepared: Prepared) => Promise<string>) => (prepared: Prepared) => ({
  plain: async () => ({ path: await create(prepared) }),
});

/** Rows of about a megabyte, or of the most columns. */
const rows: Record<string, string> = {
  numbers: 'SELECT array_fill(1, ARRAY[400000]) AS v',
  objects: `SELECT CAST('[' || repeat('{},', 99000) || '{}]' AS json) AS v`,
  deep: `SELECT CAST('[' || repeat(repeat('[', 50) || repeat(']', 50) || ',', 1900) || '1]' AS json) AS v`,
  long: `SELECT repeat('A word. ', 120000) AS v`,
  escaped: `SELECT repeat(chr(10) || 'a', 300000) AS v`,
  columns: `SELECT ${Array.from({ length: 1_600 }, (_, i) => `${i} AS c${i}`).join()}, 'A word.' AS v`,
};
const fourRows = (statement: string) => `${statement} FROM generate_series(1, 4)`;
const eachRows = (prepared: Prepared, toCall: (queryId: string) => Call) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, statement]) => {
      let queryId: string | undefined;
      return [
        `rows of ${name}`,
        async () => {
          queryId ??= await createQuery(prepared, { query: fourRows(statement) });
          return toCall(queryId);
        },
      ];
    }),
  );
const ofJson = [{ key: 'a', type: 'json' }];

async function createQuery(
  { hub: { api }, ids: { hubId, sourceId } }: Prepared,
  body: object,
): Promise<string> {
  const { config } = await api.ok(
    api.post('/v1/queries', { hubId, sourceId, label: 'q', query: any, context, ...body }),
  );
  return config.query.queryId;
}

const accepted = {
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  arrow: 'application/vnd.apache.arrow.stream',
};

const mcpHeaders = { accept: 'application/json, text/event-stream' };
const mcp = (method: string, params?: object) => ({
  path: '/mcp',
  headers: mcpHeaders,
  body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
});

export const fixtures: Record<string, Fixtures> = {
  'POST /v1/hubs': { base: () => ({ label: 'h' }) },
  'GET /v1/hubs': { stored: plain('/v1/hubs') },
  'GET /v1/hubs/:hubId': { stored: ({ ids: { hubId } }) => ({ plain: { path: `/v1/hubs/${hubId}` } }) },
  'PUT /v1/hubs/:hubId': { base: () => ({ label: 'h' }) },
  'DELETE /v1/hubs/:hubId': {
    stored: madeBefore(async ({ hub: { api } }) => {
      const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'h' }));
      return `/v1/hubs/${hubId}`;
    }),
  },
  'GET /v1/hubs/:hubId/contents': { stored: eachHub((hubId) => `/v1/hubs/${hubId}/contents`) },
  'POST /v1/hubs/:hubId/archive': { base: () => ({}) },
  'POST /v1/hubs/:hubId/unarchive': { base: () => ({}) },
  'GET /v1/hubs/:hubId/openapi.json': { stored: eachHub((hubId) => `/v1/hubs/${hubId}/openapi.json`) },
  'POST /v1/hubs/:hubId/folders': { base: () => ({ label: 'f' }) },
  'PUT /v1/folders/:nodeId': { base: () => ({ label: 'f' }) },
  'DELETE /v1/folders/:nodeId': {
    stored: madeBefore(async ({ hub: { api }, ids: { hubId } }) => {
      const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'f' }));
      return `/v1/folders/${nodeId}`;
    }),
  },
  'POST /v1/sources': {
    base: ({ ids: { hubId }, connectionSettings }) => ({
      hubId,
      label: 's',
      engine: 'postgres',
      connectionSettings,
    }),
  },
  'GET /v1/sources': { stored: eachHub((hubId) => `/v1/sources?hubId=${hubId}`) },
  'GET /v1/sources/:sourceId': {
    stored: ({ ids: { sourceId } }) => ({ plain: { path: `/v1/sources/${sourceId}` } }),
  },
  'PUT /v1/sources/:sourceId': { base: ({ connectionSettings }) => ({ label: 's', connectionSettings }) },
  'DELETE /v1/sources/:sourceId': {
    stored: madeBefore(async ({ hub: { api }, ids: { hubId }, connectionSettings }) => {
      const body = { hubId, label: 's', engine: 'postgres', connectionSettings };
      return `/v1/sources/${(await api.ok(api.post('/v1/sources', body))).sourceId}`;
    }),
  },
  'POST /v1/sources/:sourceId/test': { base: () => ({}) },
  'POST /v1/sources/:sourceId/check': {
    base: () => ({}),
    stored: ({ stored }) =>
      eachDefinition((name) => ({ path: `/v1/sources/${stored[name].sourceId}/check`, body: '{}' })),
  },
  'GET /v1/sources/:sourceId/schema': {
    stored: ({ ids: { sourceId } }) => ({ plain: { path: `/v1/sources/${sourceId}/schema` } }),
  },
  'GET /v1/sources/:sourceId/stats': {
    stored: ({ ids: { sourceId } }) => ({ plain: { path: `/v1/sources/${sourceId}/stats` } }),
  },
  'POST /v1/queries': {
    base: ({ ids: { hubId, sourceId } }) => ({ hubId, sourceId, label: 'q', query: any, context }),
    stored: ({ ids: { hubId, sourceId } }) =>
      eachText((query) => ({
        path: '/v1/queries',
        body: JSON.stringify({ hubId, sourceId, label: 'q', query }),
      })),
  },
  'GET /v1/queries': { stored: eachHub((hubId) => `/v1/queries?hubId=${hubId}`) },
  'GET /v1/queries/:queryId': { stored: eachQuery('?signature=true') },
  'PUT /v1/queries/:queryId': {
    base: () => ({ meta: { label: 'q' }, config: { context } }),
    stored: ({ stored }) =>
      eachDefinition((name) => async () => ({
        path: `/v1/queries/${stored[name].queryIds[1]}`,
        body: JSON.stringify({ meta: { label: randomUUID() } }),
      })),
  },
  'DELETE /v1/queries/:queryId': {
    stored: madeBefore(async (prepared) => `/v1/queries/${await createQuery(prepared, {})}`),
  },
  'POST /v1/queries/execute': {
    base: ({ ids: { queryId } }) => ({ queryId, context: { a: 1 } }),
    spots: [['context', 'a']],
    stored: (prepared) => ({
      ...eachDefinition((name) => ({
        path: '/v1/queries/execute',
        body: JSON.stringify({ queryId: prepared.stored[name].queryIds[0] }),
      })),
      ...Object.fromEntries(
        Object.entries(accepted).flatMap(([format, accept]) => {
          const body = (queryId: string) => JSON.stringify({ queryId });
          const calls = eachRows(prepared, (queryId) => ({
            ...{ path: '/v1/queries/execute', body: body(queryId), headers: { accept } },
          }));
          return Object.entries(calls).map(([name, call]) => [`${name} as ${format}`, call]);
        }),
      ),
      ...Object.fromEntries(
        Object.entries(
          eachRows(prepared, (queryId) => ({
            path: '/v1/queries/execute',
            body: JSON.stringify({
              queryId,
              options: { annotate: [{ classifier: prepared.ids.classifierId, text: 'v', as: 'label' }] },
            }),
          })),
        ).map(([name, call]) => [`annotated ${name}`, call]),
      ),
      ...wideRows(prepared),
    }),
  },
  'POST /v1/queries/data': {
    base: ({ ids: { queryId } }) => ({ executions: [{ queryId, values: { a: 1 } }] }),
    spots: [['executions', 0, 'values', 'a']],
    stored: (prepared) => {
      const send = (execution: object, count = 50) => ({
        path: '/v1/queries/data',
        body: JSON.stringify({ executions: Array(count).fill(execution) }),
      });
      const { queryId } = prepared.ids;
      const names = (value: number) =>
        Object.fromEntries(
          Array.from({ length: 20 }, (_, n) => [`v${n}`, Array(value === 1 ? 480 : 48).fill(value)]),
        );
      return {
        // Twice as many as run at once.
        ...eachRows(prepared, (one) => send({ queryId: one, options: { maxRows: 1_000 } }, 12)),
        'many values': send({ queryId, values: names(1) }),
        'many digits': send({ queryId, values: names(0.1234567890123456) }),
      };
    },
  },
  'GET /v1/queries/:queryId/data': { stored: eachQuery('/data') },
  'GET /v1/hubs/:hubId/data/*': {
    stored: ({ stored }) =>
      eachDefinition((name) => ({ path: `/v1/hubs/${stored[name].hubId}/data/${name}/0` })),
  },
  'POST /v1/queries/check': {
    base: ({ ids: { sourceId } }) => ({ sourceId, query: any, context, values: { a: 1 } }),
    spots: [['values', 'a']],
    stored: ({ stored, ids }) => ({
      'most places': { path: '/v1/queries/check', body: withPlaces(ids.sourceId) },
      'most tokens': {
        path: '/v1/queries/check',
        body: JSON.stringify({ sourceId: ids.sourceId, query: texts['most tokens'] }),
      },
      ...eachDefinition((name) => {
        const { sourceId, queryIds } = stored[name];
        return {
          path: '/v1/queries/check',
          body: JSON.stringify({ sourceId, query: any, context, compareTo: queryIds[0] }),
        };
      }),
    }),
  },
  'POST /v1/queries/try': {
    base: ({ ids: { sourceId } }) => ({ sourceId, query: any, context, values: { a: 1 } }),
    spots: [['values', 'a']],
  },
  'POST /v1/queries/transaction': {
    base: ({ ids: { queryId } }) => ({ steps: [{ queryId, context: { a: 1 } }] }),
    spots: [['steps', 0, 'context', 'a']],
    stored: (prepared) =>
      eachRows(prepared, (queryId) => ({
        path: '/v1/queries/transaction',
        body: JSON.stringify({ steps: [{ queryId, options: { maxRows: 1_000 } }] }),
      })),
  },
  'POST /v1/queries/:queryId/rows': {
    // A body of JSON is one record.
    headers: { 'content-type': 'application/x-ndjson' },
    base: () => ({ a: 1 }),
    status: 422,
    stored: (prepared) => {
      let queryId: string | undefined;
      return eachBody(recordBodies, (sent) => async () => {
        const query = 'UPDATE pg_catalog.pg_description SET description = CAST(:a AS text) WHERE false';
        queryId ??= await createQuery(prepared, { query, command: 'UPDATE', context: ofJson });
        return { path: `/v1/queries/${queryId}/rows`, ...sent };
      });
    },
  },
  'GET /v1/queries/:queryId/versions': { stored: eachQuery('/versions') },
  'POST /v1/queries/:queryId/restore': {
    path: ({ stored }) => `/v1/queries/${stored.most.queryIds[3]}/restore`,
    base: () => ({ version: 1 }),
    stored: ({ stored }) =>
      eachDefinition((name) => ({
        path: `/v1/queries/${stored[name].queryIds[2]}/restore`,
        body: JSON.stringify({ version: isOlder(name) ? 2 : 1 }),
      })),
  },
  'GET /v1/queries/:queryId/stats': { stored: eachQuery('/stats') },
  'GET /v1/queries/:queryId/usage': { stored: eachQuery('/usage') },
  'GET /v1/queries/:queryId/runs': { stored: eachQuery('/runs?limit=500') },
  'GET /v1/stats': { stored: plain('/v1/stats?sort=p99') },
  'POST /v1/classifiers': { base: () => ({}) },
  'GET /v1/classifiers': { stored: plain('/v1/classifiers') },
  'GET /v1/classifiers/:classifierId': {
    stored: (prepared) => withManyClasses(prepared, (id) => `/v1/classifiers/${id}`),
  },
  'PUT /v1/classifiers/:classifierId': { base: () => ({ name: 'c' }) },
  'DELETE /v1/classifiers/:classifierId': {
    stored: madeBefore(async ({ hub: { api } }) => {
      return `/v1/classifiers/${(await api.ok(api.post('/v1/classifiers', { name: 'd' }))).id}`;
    }),
  },
  'POST /v1/classifiers/:classifierId/train': {
    base: () => ({ label: 'a', context: 'Words.' }),
    spots: [['examples'], ['context'], ['label']],
    stored: ({ ids: { classifierId } }) =>
      eachBody(exampleBodies, (sent) => ({ path: `/v1/classifiers/${classifierId}/train`, ...sent })),
  },
  'POST /v1/classifiers/:classifierId/predict': {
    base: () => ({ context: 'Words.' }),
    spots: [['contexts'], ['context']],
  },
  'DELETE /v1/classifiers/:classifierId/classes/:classId': {
    stored: ({ ids: { classifierId } }) => ({
      absent: { path: `/v1/classifiers/${classifierId}/classes/none` },
    }),
  },
  'GET /v1/classifiers/:classifierId/evaluation': {
    stored: (prepared) => withManyClasses(prepared, (id) => `/v1/classifiers/${id}/evaluation`),
  },
  'GET /v1/classifiers/:classifierId/examples': {
    stored: (prepared) => {
      const path = `/v1/classifiers/${prepared.ids.classifierId}/examples`;
      return {
        plain: { path },
        ...eachRows(prepared, (queryId) => ({ path: `${path}?sort=uncertain&text=v&queryId=${queryId}` })),
      };
    },
  },
  'PUT /v1/classifiers/:classifierId/examples/:exampleId': { base: () => ({ label: 'a' }), status: 404 },
  'DELETE /v1/classifiers/:classifierId/examples/:exampleId': {
    stored: ({ ids: { classifierId } }) => ({
      absent: { path: `/v1/classifiers/${classifierId}/examples/none` },
    }),
  },
  'GET /v1/jobs': { stored: plain('/v1/jobs') },
  'GET /v1/jobs/:jobId': { stored: () => ({ absent: { path: '/v1/jobs/none' } }) },
  'DELETE /v1/jobs/:jobId': { stored: () => ({ absent: { path: '/v1/jobs/none' } }) },
  'POST /v1/ai/summarize': {
    base: () => ({ context: ['A word. Another one.'] }),
    spots: [['context', 0]],
    stored: (prepared) =>
      eachRows(prepared, (queryId) => ({
        path: '/v1/ai/summarize',
        body: JSON.stringify({ queryId, text: 'v' }),
      })),
  },
  ...boardFixtures,
  ...watchFixtures(createQuery),
  'POST /v1/keys': {
    base: () => ({ name: 'k', limits: { context: { a: 1 } } }),
    spots: [['limits', 'context', 'a']],
  },
  'GET /v1/keys': { stored: plain('/v1/keys') },
  'GET /v1/keys/current': { stored: plain('/v1/keys/current') },
  'PUT /v1/keys/:keyId': {
    base: () => ({ limits: { context: { a: 1 } } }),
    spots: [['limits', 'context', 'a']],
  },
  'POST /v1/keys/:keyId/rotate': { base: () => ({}) },
  'DELETE /v1/keys/:keyId': {
    stored: madeBefore(async ({ hub: { api } }) => {
      return `/v1/keys/${(await api.ok(api.post('/v1/keys', { name: 'k' }))).keyId}`;
    }),
  },
  'GET /v1/keys/:keyId/usage': {
    stored: ({ ids: { keyId } }) => ({ plain: { path: `/v1/keys/${keyId}/usage` } }),
  },
  'GET /v1/people': { stored: plain('/v1/people') },
  'GET /v1/people/current': { stored: () => ({ absent: { path: '/v1/people/current' } }) },
  'DELETE /v1/people/current/sessions': {
    stored: () => ({ absent: { path: '/v1/people/current/sessions' } }),
  },
  'PUT /v1/people/:personId': {
    path: () => '/v1/people/none',
    base: () => ({ disabled: true }),
    status: 404,
  },
  'DELETE /v1/people/:personId': { stored: () => ({ absent: { path: '/v1/people/none' } }) },
  'DELETE /v1/people/:personId/sessions': {
    stored: () => ({ absent: { path: '/v1/people/none/sessions' } }),
  },
  'POST /v1/grants': { base: () => ({ who: { group: 'data' }, role: 'viewer' }) },
  'GET /v1/grants': { stored: plain('/v1/grants') },
  'DELETE /v1/grants/:grantId': { stored: () => ({ absent: { path: '/v1/grants/none' } }) },
  'GET /v1/agents': { stored: plain('/v1/agents') },
  'DELETE /v1/agents/:agentId': { stored: () => ({ absent: { path: '/v1/agents/none' } }) },
  'POST /v1/clients': {
    base: () => ({ name: 'c', redirectUris: ['https://example.com/back'] }),
    spots: [['redirectUris'], ['redirectUris', 0]],
  },
  'GET /v1/clients': { stored: plain('/v1/clients') },
  'DELETE /v1/clients/:clientId': { stored: () => ({ absent: { path: '/v1/clients/none' } }) },
  'GET /v1/audit': { stored: plain('/v1/audit') },
  'POST /mcp': {
    headers: mcpHeaders,
    base: () => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'most__0', arguments: { a: 1 } },
    }),
    spots: [['params', 'arguments'], ['params', 'arguments', 'a'], ['params'], ['id']],
    stored: () => ({
      list: mcp('tools/list'),
      ...eachDefinition((name) => mcp('tools/call', { name: `${name}__0`, arguments: {} })),
    }),
  },
};
