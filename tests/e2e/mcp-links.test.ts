/** The link to all rows in the result of a tool. */

import { expect, it } from 'vitest';
import { rawJSON } from '../../packages/contract/src/exact-json.ts';
import { api, apiOf, createSource } from '../support/hub.ts';

it('names hub and query by their paths, and a key that names the query can follow it', async () => {
  const path = `links-${Date.now().toString(36)}`;
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: path, path }));
  const sourceId = await createSource(hubId);
  const digits =
    '(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4)';
  const query = `SELECT a.d AS n FROM ${digits} AS a, ${digits} AS b, ${digits} AS c WHERE a.d >= :least`;
  const body = {
    hubId,
    sourceId,
    label: 'many',
    query,
    path: 'lists/many',
    tool: { description: 'Many rows.' },
  };
  const context = [{ key: 'least', type: 'bigint' }];
  const stored = await api.ok(api.post('/v1/queries', { ...body, context }));
  const { queryId } = stored.config.query;
  const limits = { queries: [`${path}/lists/many`] };
  const scopes = ['queries:execute'];
  const { key } = await api.ok(api.post('/v1/keys', { name: 'agent', scopes, limits }));
  const agent = apiOf(key);
  const whole = async () => {
    const params = { name: 'lists__many', arguments: { least: rawJSON('-9007199254740993') } };
    const headers = { accept: 'application/json' };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const { text } = await agent.post('/mcp', message, { headers });
    return JSON.parse(text).result.structuredContent.whole as string;
  };
  const { pathname, search } = new URL(await whole());
  expect(pathname + search).toBe(`/v1/hubs/${path}/data/lists/many?least=-9007199254740993`);
  expect((await agent.ok(agent.get(pathname + search))).data).toHaveLength(125);

  // In a batch, too, whose answers have no link if they have all rows.
  const one = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  const most = { name: 'lists__most', arguments: { n: rawJSON('9007199254740993') } };
  const own = { hubId, sourceId, label: 'most', query: 'SELECT :n AS n', path: 'lists/most' };
  const variables = [{ key: 'n', type: 'decimal' }];
  await api.ok(api.post('/v1/queries', { ...own, context: variables, tool: { description: 'One row.' } }));
  const call = async (message: unknown) =>
    (await api.post('/mcp', message, { headers: { accept: 'application/json' } })).text;
  expect(await call([{ ...one, params: most }])).toContain('9007199254740993');
  // An argument that would be dropped, and an id that would come back as another one.
  const hidden = JSON.parse('{"n":1,"__proto__":{"b":5}}');
  expect(await call({ ...one, params: { ...most, arguments: hidden } })).toContain('CONTEXT_INVALID');
  const { error, id } = JSON.parse(await call({ ...one, id: rawJSON('9007199254740993'), params: most }));
  expect([error.code, id]).toEqual([-32_600, null]);

  // Without a path of the hub, the id leads to the query. The name of the key's limit stands for nothing then.
  await api.ok(api.put(`/v1/hubs/${hubId}`, { label: path, path: null }));
  expect((await agent.get(`/v1/queries/${queryId}/data?least=0`)).status).toBe(403);
});
