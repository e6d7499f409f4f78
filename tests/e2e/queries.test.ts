import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines, idShape } from '../support/hub.ts';

describe.each(engines)('a stored query on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} queries` })));
    sourceId = await createSource(hubId, engine);
  });

  const create = (change: object = {}) =>
    api.post('/v1/queries', { hubId, label: 'q', sourceId, query: 'SELECT 1 AS one', ...change });

  it('is created with its defaults, context null, below Queries', async () => {
    const body = await api.ok(create({ label: 'first' }));
    const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
    expect(body).toEqual({
      meta: { engine, hubId, label: 'first', parentNodeId: tree.children[0].nodeId },
      config: {
        command: 'SELECT',
        context: null,
        query: { queryId: expect.stringMatching(idShape('q')), query: 'SELECT 1 AS one' },
        source: { sourceId, engine },
      },
    });
    expect(tree.children[0].children).toContainEqual({
      hubId,
      nodeId: body.config.query.queryId,
      parentNodeId: tree.children[0].nodeId,
      nodeType: 'query',
      label: 'first',
      children: [],
    });
  });

  it('is read back with an array for context', async () => {
    const created = await api.ok(create());
    const { queryId } = created.config.query;
    expect(await api.ok(api.get(`/v1/queries/${queryId}`))).toEqual({
      ...created,
      config: { ...created.config, context: [] },
    });
  });

  it('stays in its hub', async () => {
    const path = `/v1/queries/${(await api.ok(create())).config.query.queryId}`;
    const other = await api.ok(api.post('/v1/hubs', { label: 'another' }));
    const { status, body } = await api.put(path, { meta: { label: 'moved', hubId: other.hubId } });
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'VALIDATION', '/meta/hubId']);
    const read = await api.ok(api.get(path));
    expect(read.meta).toMatchObject({ hubId, label: 'q' });
    expect(await api.ok(api.put(path, read))).toEqual({});
  });

  it('takes partial updates, each leaving the rest alone', async () => {
    const { queryId } = (await api.ok(create())).config.query;
    const path = `/v1/queries/${queryId}`;
    let expected = await api.ok(api.get(path));
    const step = async (body: object, change: (query: any) => void) => {
      expect(await api.ok(api.put(path, body))).toEqual({});
      expected = structuredClone(expected);
      change(expected);
      expect(await api.ok(api.get(path))).toEqual(expected);
    };
    await step({}, () => {});
    await step({ meta: { label: 'renamed' } }, (query) => {
      query.meta.label = 'renamed';
    });
    await step({ config: { query: { query: 'SELECT :n AS n' } } }, (query) => {
      query.config.query.query = 'SELECT :n AS n';
    });
    const context = [
      { key: 'n', value: 9007199254740991, type: 'bigint', description: 'a number' },
      { key: 'unused', value: null, required: false },
    ];
    await step({ config: { context } }, (query) => {
      query.config.context = context;
    });
    // The answer to a creation has it, and can be sent back.
    await step({ config: { context: null } }, () => {});
    await step(
      { config: { command: 'delete', query: { query: 'DELETE FROM sales WHERE id = -1' } } },
      (query) => {
        query.config.command = 'DELETE';
        query.config.query.query = 'DELETE FROM sales WHERE id = -1';
      },
    );
    const other = await createSource(hubId, engine);
    await step({ config: { source: { sourceId: other } } }, (query) => {
      query.config.source.sourceId = other;
    });
    await step(expected, () => {});
    await step({ config: { context: [] } }, (query) => {
      query.config.context = [];
    });
  });

  it('is deleted for good', async () => {
    const { queryId } = (await api.ok(create())).config.query;
    expect(await api.ok(api.delete(`/v1/queries/${queryId}`))).toEqual({});
    expect((await api.get(`/v1/queries/${queryId}`)).status).toBe(404);
    expect((await api.post('/v1/queries/execute', { queryId })).status).toBe(404);
    expect((await api.delete(`/v1/queries/${queryId}`)).status).toBe(404);
  });

  it('must share a hub with its source', async () => {
    const { hubId: other } = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const { status, body } = await create({ hubId: other });
    expect(status).toBe(400);
    expect(body.errors).toMatchObject([{ pointer: '/sourceId' }]);
  });

  it.each([
    ['two statements', 'SELECT 1; DELETE FROM sales', undefined, 422],
    ['a DELETE without its command', 'DELETE FROM sales', undefined, 422],
    ['a SHOW declared as DELETE', 'SHOW TABLES', 'DELETE', 422],
    ['a placeholder in quotes', "SELECT '{{name}}'", undefined, 422],
    ['an open string', "SELECT 'oops", undefined, 422],
  ])('is refused when saved with %s', async (_name, query, command, status) => {
    const answer = await create({ query, ...(command === undefined ? {} : { command }) });
    expect(answer.status).toBe(status);
    expect(answer.body.code).toMatch(/^(SQL_REJECTED|COMMAND_MISMATCH)$/);
    expect(answer.body.detail.length).toBeGreaterThan(20);
  });
});
