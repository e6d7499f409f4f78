import { beforeAll, describe, expect, inject, it } from 'vitest';
import type { Route } from '../../services/gateway/src/http/route.ts';
import { describeRoutes } from '../../services/gateway/src/routes.ts';
import type { Answer } from '../support/api.ts';
import { api, bodyFor, makeResources, sentTo, sourceBody } from '../support/hub.ts';

/**
 * Ids by the parameter or member that accepts them: of the first account, of the other one, and deleted ones of both.
 */
const mine: Record<string, string> = {};
const theirs: Record<string, string> = {};
const deleted: Record<string, string> = {};
const theirDeleted: Record<string, string> = {};
const other = { key: inject('hub').otherKey };
/** For each name, an id of a resource of another kind. */
const otherKind = (ids: Record<string, string>) => ({
  hubId: ids.sourceId as string,
  nodeId: ids.queryId as string,
  sourceId: ids.hubId as string,
  queryId: ids.classifierId as string,
  classifierId: ids.keyId as string,
  classId: ids.nodeId as string,
  keyId: ids.classId as string,
  clientId: ids.keyId as string,
  jobId: ids.classifierId as string,
  exampleId: ids.classId as string,
});
const random: Record<string, string> = {
  hubId: 'dh.hub.01m7xzzzzz0000000000000000zzzz',
  nodeId: 'dh.hrt.01m7xzzzzz0000000000000000zzzz',
  sourceId: 'dh.src.01m7xzzzzz0000000000000000zzzz',
  queryId: 'dh.q.01m7xzzzzz0000000000000000zzzz',
  classifierId: 'dh.clfr.01m7xzzzzz0000000000000000zzzz',
  classId: 'dh.clfc.01m7xzzzzz0000000000000000zzzz',
  keyId: 'dh.key.01m7xzzzzz0000000000000000zzzz',
  clientId: 'dh.clnt.01m7xzzzzz0000000000000000zzzz',
  jobId: 'dh.job.01m7xzzzzz0000000000000000zzzz',
  exampleId: '1.0.00000000zz',
};

async function end(ids: Record<string, string>, key?: typeof other): Promise<void> {
  for (const path of [
    `/v1/jobs/${ids.jobId}`,
    `/v1/classifiers/${ids.classifierId}/classes/${ids.classId}`,
    `/v1/classifiers/${ids.classifierId}`,
    `/v1/keys/${ids.keyId}`,
    `/v1/clients/${ids.clientId}`,
    `/v1/grants/${ids.grantId}`,
    `/v1/queries/${ids.queryId}`,
    `/v1/sources/${ids.sourceId}`,
    `/v1/folders/${ids.nodeId}`,
    `/v1/hubs/${ids.hubId}?recursive=true`,
  ]) {
    await api.ok(api.delete(path, key));
  }
}

beforeAll(async () => {
  await makeResources(mine);
  await makeResources(deleted);
  await makeResources(theirs, other);
  await makeResources(theirDeleted, other);
  await end(deleted);
  await end(theirDeleted, other);
});

/** Returns the name of every id in a request. */
function idsOf({ method, path: url, query }: Pick<Route, 'method' | 'path' | 'query'>): string[] {
  const inPath = [...url.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const inBody = method === 'GET' || method === 'DELETE' ? {} : bodyFor(url, mine);
  const inSearch = query?.includes('hubId') ? ['hubId'] : [];
  return [...inPath, ...inSearch, ...Object.keys(mine).filter((name) => name in (inBody ?? {}))];
}

const routes = describeRoutes().filter(
  ({ path, body, query }) =>
    path.includes(':') || query?.includes('hubId') || JSON.stringify(body ?? {}).includes('Id"'),
);
const collections = new Set(['POST /v1/hubs', 'POST /v1/classifiers', 'POST /v1/keys']);

describe('another account', () => {
  it.each(
    routes
      .filter(({ method, path }) => !collections.has(`${method} ${path}`))
      .map((route) => [`${route.method} ${route.path}`, route] as const),
  )(
    'gets the same answer for our resources as for unknown ones with %s',
    async (_name, { method, path: url, query }) => {
      const ask = async (ids: Record<string, string>) => {
        const path = url.replace(/:(\w+)/g, (_, name) => ids[name] as string);
        const search = query?.includes('hubId') ? `?hubId=${ids.hubId}` : '';
        const isSent = method === 'POST' || method === 'PUT';
        const sent = isSent ? sentTo(url, bodyFor(url, ids)) : {};
        const answer = await api.call(method, path + search, { ...other, ...sent });
        // Each of several executions has an answer of its own.
        const { status, body: problem } = answer.body?.executions?.[0] ?? answer;
        const { requestId: _, instance: __, ...rest } = problem;
        return { status, ...rest };
      };
      const unknown = await ask(random);
      expect([unknown.status, unknown.code]).toEqual([404, 'NOT_FOUND']);
      for (const ids of [mine, deleted, theirDeleted, otherKind(mine), otherKind(theirs)]) {
        expect(await ask(ids)).toEqual(unknown);
      }
      // Replaces one id at a time. All other ids are the caller's own.
      for (const name of idsOf({ path: url, query, method })) {
        const askWith = (id: string | undefined) => ask({ ...theirs, [name]: id as string });
        const alone = await askWith(random[name]);
        expect([alone.status, alone.code]).toEqual([404, 'NOT_FOUND']);
        for (const ids of [mine, deleted, theirDeleted, otherKind(mine), otherKind(theirs)]) {
          expect(await askWith((ids as Record<string, string>)[name])).toEqual(alone);
        }
      }
    },
  );

  const arrow = { accept: 'application/vnd.apache.arrow.stream' };
  const draft = () => ({ sourceId: theirs.sourceId, query: 'SELECT 1 AS one', context: [] });
  const trained = () => `/v1/classifiers/${theirs.classifierId}/train`;
  const scopes = ['queries:execute'];
  /** Members of requests that name a resource beside the one that the request is about. */
  const members: [string, (ids: Record<string, string>) => Promise<Answer>][] = [
    [
      'an Arrow stream by POST',
      ({ queryId }) => api.post('/v1/queries/execute', { queryId }, { ...other, headers: arrow }),
    ],
    [
      'an Arrow stream by GET',
      ({ queryId }) => api.get(`/v1/queries/${queryId}/data`, { ...other, headers: arrow }),
    ],
    [
      'a comparison of contracts',
      ({ queryId }) => api.post('/v1/queries/check', { ...draft(), compareTo: queryId }, other),
    ],
    [
      'a comparison of rows',
      ({ queryId }) =>
        api.post('/v1/queries/check', { ...draft(), compareTo: queryId, diff: true, values: {} }, other),
    ],
    [
      'rows for training',
      ({ queryId }) => api.post(trained(), { queryId, text: 'one', label: 'one', id: 'one' }, other),
    ],
    [
      'a classifier of rows',
      ({ classifierId }) => {
        const annotate = [{ classifier: classifierId, text: 'one', as: 'guess' }];
        return api.post('/v1/queries/execute', { queryId: theirs.queryId, options: { annotate } }, other);
      },
    ],
    ['a path', ({ hubId }) => api.post('/v1/queries/execute', { hubId, path: 'mine' }, other)],
    [
      'a limit of a key to queries',
      ({ queryId }) => api.post('/v1/keys', { name: 'k', scopes, limits: { queryIds: [queryId] } }, other),
    ],
    [
      'a limit of a key to hubs',
      ({ hubId }) => api.post('/v1/keys', { name: 'k', scopes, limits: { hubIds: [hubId] } }, other),
    ],
  ];

  it.each(members)('gets the same answer for ours as for unknown ones in %s', async (_name, ask) => {
    const answerOf = async (ids: Record<string, string>) => {
      const { status, body } = await ask(ids);
      const { requestId: _, instance: __, ...rest } = body;
      return JSON.parse(
        Object.values(ids).reduce((text, id) => text.replaceAll(id, 'ID'), JSON.stringify({ status, rest })),
      );
    };
    const unknown = await answerOf(random);
    expect(unknown.status).toBeGreaterThanOrEqual(400);
    expect(unknown.status).toBeLessThan(500);
    for (const ids of [mine, deleted, theirDeleted]) expect(await answerOf(ids)).toEqual(unknown);
  });

  it('calls none of our tools, and none of theirs with our classifier', async () => {
    const tool = { name: `ours_${mine.queryId?.slice(-8)}`, description: 'Ours.' };
    await api.ok(api.put(`/v1/queries/${mine.queryId}`, { config: { tool } }));
    const mcp = async (method: string, params: object) => {
      const headers = {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      };
      return api.post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, { ...other, headers });
    };
    expect((await mcp('tools/list', {})).text).not.toContain(tool.name);
    const call = async (name: string, args: object) =>
      (await mcp('tools/call', { name, arguments: args })).text.replaceAll(/"requestId[^,}]*/g, '');
    expect(await call(tool.name, {})).toBe(await call('ours_unknown0', {}));
    expect(await call(tool.name, {})).toContain('NOT_FOUND');
    // The tools of classifiers have their names.
    await api.ok(api.put(`/v1/classifiers/${mine.classifierId}`, { name: tool.name }));
    const classify = `classify__${tool.name}`;
    expect(await call(classify, { text: 'c' })).toBe(await call('classify__unknown', { text: 'c' }));
    const { id } = await api.ok(api.post('/v1/classifiers', { name: tool.name }, other));
    expect(await call(classify, { text: 'c' })).not.toContain('NOT_FOUND');
    await api.delete(`/v1/classifiers/${id}`, other);
  });

  it('sees nothing of our operations by their idempotency keys', async () => {
    const headers = { 'idempotency-key': `tenancy-${mine.hubId}` };
    const ours = await api.ok(api.post('/v1/hubs', { label: 'ours' }, { headers }));
    const its = await api.ok(api.post('/v1/hubs', { label: 'its' }, { ...other, headers }));
    expect([its.label, its.hubId === ours.hubId]).toEqual(['its', false]);
    await api.delete(`/v1/hubs/${its.hubId}`, other);
  });

  it('lists nothing of ours', async () => {
    for (const path of [
      '/v1/hubs',
      '/v1/classifiers',
      '/v1/keys',
      '/v1/audit?limit=1000',
      '/v1/stats',
      '/v1/jobs',
    ]) {
      const { text } = await api.get(path, other);
      for (const id of Object.values(mine)) expect(text).not.toContain(id);
    }
  });

  it('cannot bind our resources to its own', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'theirs' }, other));
    const sourceId = (await api.ok(api.post('/v1/sources', sourceBody(hubId), other))).sourceId;
    const query = { hubId, sourceId, label: 'theirs', query: 'SELECT 1 AS one' };
    const create = (change: object) => api.post('/v1/queries', { ...query, ...change }, other);
    for (const change of [
      { sourceId: mine.sourceId },
      { hubId: mine.hubId },
      { parentNodeId: mine.nodeId },
    ]) {
      expect((await create(change)).status).toBe(404);
    }
    const { queryId } = (await api.ok(create({}))).config.query;
    for (const body of [
      { config: { source: { sourceId: mine.sourceId } } },
      { meta: { parentNodeId: mine.nodeId } },
    ]) {
      expect((await api.put(`/v1/queries/${queryId}`, body, other)).status).toBe(404);
    }
    expect((await api.post('/v1/queries/execute', { queryId }, other)).body).toEqual({ data: [{ one: 1 }] });
  });

  it('has changed nothing of ours', async () => {
    expect((await api.ok(api.get(`/v1/hubs/${mine.hubId}`))).label).toBe('mine');
    expect((await api.ok(api.post('/v1/queries/execute', { queryId: mine.queryId }))).data).toEqual([
      { one: 1 },
    ]);
    expect((await api.ok(api.get(`/v1/classifiers/${mine.classifierId}`))).classes).toHaveLength(1);
  });
});
