import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource } from '../support/hub.ts';

describe('paths', () => {
  let hubId: string;
  let sourceId: string;
  let other: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'shop', path: 'shop' })));
    sourceId = await createSource(hubId, 'postgres');
    ({ hubId: other } = await api.ok(api.post('/v1/hubs', { label: 'other' })));
  });

  const create = async (members: object): Promise<string> => {
    const body = { hubId, sourceId, label: 'q', query: 'SELECT :n::int AS n', ...members };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
  };
  const execute = (path: string, context: object = { n: 7 }, of = 'shop') =>
    api.post('/v1/queries/execute', { hubId: of, path, context });

  it('run a query over POST and GET, by the id or the path of its hub', async () => {
    const queryId = await create({ path: 'reports/by-region' });
    for (const of of ['shop', hubId]) {
      expect((await api.ok(execute('reports/by-region', { n: 7 }, of))).data).toEqual([{ n: 7 }]);
      const url = `/v1/hubs/${of}/data/reports/by-region?n=8`;
      expect((await api.ok(api.get(url))).data).toEqual([{ n: 8 }]);
    }
    const encoded = '/v1/hubs/shop/data/reports%2Fby-region?n=9';
    expect((await api.ok(api.get(encoded))).data).toEqual([{ n: 9 }]);
    const saved = await api.ok(api.get(`/v1/queries/${queryId}`));
    expect(saved.meta.path).toBe('reports/by-region');
    expect((await api.ok(api.get(`/v1/hubs/${hubId}`))).path).toBe('shop');
    for (const url of ['/v1/hubs/shop/data/reports', '/v1/hubs/nothing/data/reports/by-region'])
      expect((await api.get(url)).status).toBe(404);
    expect((await api.post('/v1/hubs/shop/data/x', {})).status).toBe(405);
  });

  it('are in force when their change is answered', async () => {
    const [first, second] = [
      await create({ query: "SELECT 'first' AS was" }),
      await create({ query: "SELECT 'second' AS was" }),
    ];
    const give = (queryId: string, path: string | null) =>
      api.ok(api.put(`/v1/queries/${queryId}`, { meta: { path } }));
    for (let round = 0; round < 5; round++) {
      const [now, before] = round % 2 === 0 ? [first, second] : [second, first];
      await give(before, null);
      expect((await execute('moving', {})).status).toBe(404);
      await give(now, 'moving');
      const was = now === first ? 'first' : 'second';
      expect((await api.ok(execute('moving', {}))).data).toEqual([{ was }]);
    }
    await api.ok(api.delete(`/v1/queries/${first}`));
    expect((await execute('moving', {})).status).toBe(404);
    await give(second, 'moving');
    expect((await api.ok(execute('moving', {}))).data).toEqual([{ was: 'second' }]);
    await api.ok(api.put(`/v1/hubs/${hubId}`, { label: 'shop', path: 'store' }));
    expect((await execute('moving', {})).status).toBe(404);
    expect((await execute('moving', {}, 'store')).status).toBe(200);
    await api.ok(api.put(`/v1/hubs/${hubId}`, { label: 'shop', path: 'shop' }));
  });

  it('are taken once, and name every mistake', async () => {
    await create({ path: 'once' });
    const again = await api.post('/v1/queries', {
      hubId,
      sourceId,
      label: 'q',
      query: 'SELECT 1',
      path: 'once',
    });
    expect(again).toMatchObject({ status: 409, body: { code: 'PATH_TAKEN' } });
    const hub = await api.put(`/v1/hubs/${other}`, { label: 'other', path: 'shop' });
    expect(hub).toMatchObject({ status: 409, body: { code: 'PATH_TAKEN' } });
    const pointersOf = async (body: object) => {
      const { status, body: problem } = await api.post('/v1/queries/execute', body);
      return [status, problem.errors.map(({ pointer }: { pointer: string }) => pointer)];
    };
    expect(await pointersOf({})).toEqual([400, ['/queryId']]);
    expect(await pointersOf({ hubId: 'shop' })).toEqual([400, ['/path']]);
    expect(await pointersOf({ path: 'once' })).toEqual([400, ['/hubId']]);
    expect(await pointersOf({ queryId: 'x', hubId: 'shop', path: 'once' })).toEqual([
      400,
      ['/hubId', '/path'],
    ]);
    expect(await pointersOf({ hubId: 'shop', path: 'A//b' })).toEqual([400, ['/path']]);
  });

  it('run a write with an idempotency key once', async () => {
    const path = 'writes/add';
    const query = 'INSERT INTO scratch (id, label) VALUES (771, $$by path$$) RETURNING id';
    await create({ query, command: 'INSERT', path });
    const headers = { 'idempotency-key': `path-${hubId}` };
    const send = () => api.post('/v1/queries/execute', { hubId: 'shop', path }, { headers });
    const [one, two] = [await send(), await send()];
    expect(one.status).toBe(200);
    expect(two.body).toEqual(one.body);
  });

  it('are counted under the query, and hold the limits of keys', async () => {
    const queryId = await create({ path: 'limited' });
    const { key } = await api.ok(
      api.post('/v1/keys', {
        name: 'one query',
        scopes: ['queries:execute'],
        limits: { queryIds: [await create({})] },
      }),
    );
    expect((await execute('limited')).status).toBe(200);
    const body = { hubId: 'shop', path: 'limited', context: { n: 1 } };
    const refused = await api.post('/v1/queries/execute', body, { headers: { 'x-service-api-key': key } });
    expect(refused).toMatchObject({ status: 403, body: { code: 'SCOPE_DENIED' } });
    await expect
      .poll(async () => (await api.ok(api.get(`/v1/queries/${queryId}/usage`))).count, { timeout: 60_000 })
      .toBe(1);
  });

  it('name the queries in the document of a hub, which is the same for each hub of the same files', async () => {
    const declared = { query: 'SELECT 1 AS one' };
    const inOrder = ['b', 'a-2', 'a-1'].map((name) => ({ path: `documented/${name}`, ...declared }));
    for (const members of inOrder) await create(members);
    const named = await api.ok(api.get('/v1/hubs/shop/openapi.json'));
    expect(await api.ok(api.get(`/v1/hubs/${hubId}/openapi.json`))).toEqual(named);
    const listed = named['x-datahub-queries'].filter(({ path }: any) => path?.startsWith('documented/'));
    expect(listed.map(({ name, hubId, path }: any) => [name, hubId, path])).toEqual([
      ['documentedA1', 'shop', 'documented/a-1'],
      ['documentedA2', 'shop', 'documented/a-2'],
      ['documentedB', 'shop', 'documented/b'],
    ]);
    expect(JSON.stringify(listed)).not.toContain('dh.q.');
    expect(named.paths['/v1/hubs/shop/data/documented/b'].get.operationId).toBe('documentedB');
    const { examples } = named.paths['/v1/queries/execute'].post.requestBody.content['application/json'];
    const { value } = examples.documentedB;
    expect(value).toEqual({ hubId: 'shop', path: 'documented/b' });
    expect((await api.ok(api.post('/v1/queries/execute', value))).data).toEqual([{ one: 1 }]);
    const elsewhere = await api.get('/v1/hubs/nothing/openapi.json');
    expect(elsewhere).toMatchObject({ status: 404, body: { detail: 'There is no such hub.' } });
  });

  it('keep a tool, a presentation and secret variables beside the text', async () => {
    const tool = { name: `sales_${hubId.slice(-8)}`, description: 'Sales of a region' };
    const presentation = { chart: { kind: 'bar', x: 1.1 }, pinned: true };
    const context = [{ key: 'pin', type: 'string', secret: true }];
    const query = 'SELECT :pin AS pin';
    const queryId = await create({ query, context, tool, presentation });
    const path = `/v1/queries/${queryId}`;
    const saved = await api.ok(api.get(path));
    expect(saved.config).toMatchObject({ tool, presentation, context: [{ key: 'pin', secret: true }] });
    expect(await api.ok(api.put(path, saved))).toEqual({});
    const over = await api.get(`${path}/data?pin=hunter2`);
    expect(over).toMatchObject({ status: 400, body: { code: 'VALIDATION' } });
    expect(JSON.stringify(over.body)).not.toContain('hunter2');
    const run = await api.ok(api.post('/v1/queries/execute', { queryId, context: { pin: 'hunter2' } }));
    expect(run.data).toEqual([{ pin: 'hunter2' }]);
    const document = await api.ok(api.get(`/v1/hubs/${hubId}/openapi.json`));
    expect(document.paths).not.toHaveProperty(`${path}/data`);
    await api.ok(api.put(path, { config: { tool: null, presentation: null } }));
    const { config } = await api.ok(api.get(path));
    expect(config).not.toHaveProperty('tool');
    expect(config).not.toHaveProperty('presentation');
    expect(await api.ok(api.get(`${path}/versions`))).toHaveLength(1);
    const bad = await api.post('/v1/queries', {
      hubId,
      sourceId,
      label: 'q',
      query,
      context: [{ key: 'pin', secret: true, value: 'x' }],
    });
    expect([bad.status, bad.body.errors[0].pointer]).toEqual([400, '/context/0/value']);
  });
});
