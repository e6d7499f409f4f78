/** `limits.queries` of keys: a name stands for the query that has it, if a caller gave it that may create keys. */

import { beforeAll, describe, expect, it } from 'vitest';
import { api, apiOf, createSource } from '../support/hub.ts';

describe('limits.queries', () => {
  let hubId: string;
  let sourceId: string;
  let editor: typeof api;
  const hub = `named-${Date.now().toString(36)}`;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'named', path: hub })));
    sourceId = await createSource(hubId, 'postgres');
    const scopes = [
      'hubs:read',
      'hubs:write',
      'sources:read',
      'queries:read',
      'queries:write',
      'queries:execute',
    ];
    editor = apiOf((await api.ok(api.post('/v1/keys', { name: 'editor', scopes }))).key);
  });

  const create = async (path: string, { as = api, was = path } = {}): Promise<string> => {
    const body = { hubId, sourceId, label: path, query: `SELECT '${was}' AS was`, path };
    return (await as.ok(as.post('/v1/queries', body))).config.query.queryId;
  };
  const keyFor = async (queries: string[], more: object = {}) => {
    const limits = { queries, ...more };
    const scopes = ['queries:execute', 'queries:read', 'hubs:read'];
    const made = await api.ok(api.post('/v1/keys', { name: 'named', scopes, limits }));
    return { ...made, as: apiOf(made.key) };
  };
  const run = async (as: typeof api, path: string, of = hub) => {
    const { status, body } = await as.get(`/v1/hubs/${of}/data/${path}`);
    return status === 200 ? body.data[0].was : status;
  };
  const audited = async (keyId: string) =>
    (await api.ok(api.get(`/v1/audit?resourceId=${keyId}`))).map(({ action }: { action: string }) => action);

  it('allow the named queries alone, by every way to them', async () => {
    const [mine, other] = [await create('orders/mine'), await create('orders/other')];
    const { as, limits } = await keyFor([`${hub}/orders/mine`]);
    expect(limits).toEqual({ queries: [`${hub}/orders/mine`] });
    expect(await run(as, 'orders/mine')).toBe('orders/mine');
    expect(await run(as, 'orders/other')).toBe(403);
    expect((await as.post('/v1/queries/execute', { queryId: other })).status).toBe(403);
    expect((await as.post('/v1/queries/execute', { queryId: mine })).status).toBe(200);
    const listed = await as.ok(as.get(`/v1/queries?hubId=${hubId}`));
    expect(
      listed.map(({ config }: { config: { query: { queryId: string } } }) => config.query.queryId),
    ).toEqual([mine]);
    expect((await as.get(`/v1/hubs/${hubId}/contents`)).text).not.toContain(other);
    expect((await as.get(`/v1/hubs/${hub}/openapi.json`)).text).not.toContain('orders/other');
  });

  it('follow the name when it goes to another query, and say so in the audit', async () => {
    const [first, second] = [
      await create('moving', { was: 'first' }),
      await create('waiting', { was: 'second' }),
    ];
    const { keyId, as } = await keyFor([`${hub}/moving`]);
    expect(await run(as, 'moving')).toBe('first');
    await api.ok(api.put(`/v1/queries/${first}`, { meta: { path: null } }));
    expect((await as.post('/v1/queries/execute', { queryId: first })).status).toBe(403);
    expect(await audited(keyId)).toEqual(['key.loseQuery', 'key.create']);
    await api.ok(api.put(`/v1/queries/${second}`, { meta: { path: 'moving' } }));
    expect(await run(as, 'moving')).toBe('second');
    expect((await as.post('/v1/queries/execute', { queryId: second })).status).toBe(200);
    await api.ok(api.delete(`/v1/queries/${second}`));
    expect(await run(as, 'moving')).toBe(404);
    expect(await audited(keyId)).toEqual(['key.loseQuery', 'key.gainQuery', 'key.loseQuery', 'key.create']);
  });

  it('count only if a caller gave the name that may create keys', async () => {
    const granted = await create('granted');
    const { keyId, as } = await keyFor([`${hub}/granted`]);
    // A change of the text keeps the name, as it keeps an id.
    await editor.ok(
      editor.put(`/v1/queries/${granted}`, { config: { query: { query: "SELECT 'edited' AS was" } } }),
    );
    expect(await run(as, 'granted')).toBe('edited');
    await editor.ok(editor.delete(`/v1/queries/${granted}`));
    const forged = await create('granted', { as: editor, was: 'forged' });
    expect(await run(as, 'granted')).toBe(403);
    expect(await as.ok(as.get(`/v1/queries?hubId=${hubId}`))).toEqual([]);
    const moved = await create('elsewhere', { as: editor });
    await editor.ok(editor.delete(`/v1/queries/${forged}`));
    await editor.ok(editor.put(`/v1/queries/${moved}`, { meta: { path: 'granted' } }));
    expect(await run(as, 'granted')).toBe(403);
    expect(await audited(keyId)).toEqual(['key.loseQuery', 'key.create']);
    // Whoever may create keys grants it by giving the name again.
    await api.ok(api.put(`/v1/queries/${moved}`, { meta: { path: 'granted' } }));
    expect(await run(as, 'granted')).toBe('elsewhere');
    // So does a new key with the name.
    const fresh = await create('fresh', { as: editor });
    const other = await keyFor([`${hub}/fresh`]);
    expect(await run(other.as, 'fresh')).toBe('fresh');
    // A key that is limited to names grants none.
    await api.ok(api.delete(`/v1/queries/${fresh}`));
    await create('fresh', { as: editor, was: 'forged' });
    const body = {
      name: 'parent',
      scopes: ['keys:admin', 'queries:execute'],
      limits: { queries: [`${hub}/granted`] },
    };
    const parent = apiOf((await api.ok(api.post('/v1/keys', body))).key);
    const beyond = { name: 'child', scopes: ['queries:execute'], limits: { queries: [`${hub}/fresh`] } };
    expect((await parent.post('/v1/keys', beyond)).status).toBe(403);
    expect(await run(other.as, 'fresh')).toBe(403);
  });

  it('follow the path of a hub, which counts like that of a query', async () => {
    await create('in-hub');
    const { keyId, as } = await keyFor([`${hub}/in-hub`]);
    await editor.ok(editor.put(`/v1/hubs/${hubId}`, { label: 'named', path: `${hub}-moved` }));
    expect(await run(as, 'in-hub', `${hub}-moved`)).toBe(403);
    await editor.ok(editor.put(`/v1/hubs/${hubId}`, { label: 'named', path: hub }));
    expect(await run(as, 'in-hub')).toBe(403);
    await api.ok(api.put(`/v1/hubs/${hubId}`, { label: 'named', path: hub }));
    expect(await run(as, 'in-hub')).toBe('in-hub');
    expect(await audited(keyId)).toEqual(['key.gainQuery', 'key.loseQuery', 'key.create']);
  });

  it('take ids, and refuse what names nothing', async () => {
    const queryId = await create('by-id');
    const { as } = await keyFor([queryId]);
    expect(await run(as, 'by-id')).toBe('by-id');
    expect(await run(as, 'in-hub')).toBe(403);
    const refused = async (limits: object) => (await api.post('/v1/keys', { name: 'x', limits })).body.errors;
    expect(await refused({ queries: [`${hub}/nothing`, 'no-name'] })).toMatchObject([
      { pointer: '/limits/queries/1' },
    ]);
    expect(await refused({ queries: [`${hub}/nothing`] })).toEqual([
      { pointer: '/limits/queries/0', detail: 'names a query that does not exist' },
    ]);
    expect(await refused({ queries: [queryId], queryIds: [queryId] })).toMatchObject([
      { pointer: '/limits/queries', detail: expect.stringContaining('beside queryIds') },
    ]);
  });
});
