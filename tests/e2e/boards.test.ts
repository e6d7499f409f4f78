import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, idShape } from '../support/hub.ts';

let hubId: string;
let queryId: string;

beforeAll(async () => {
  hubId = (await api.ok(api.post('/v1/hubs', { label: 'boards' }))).hubId;
  const query = { hubId, sourceId: await createSource(hubId), label: 'q', query: 'SELECT 1 AS n' };
  queryId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
});

describe('boards', () => {
  it('are created, listed, replaced under If-Match and deleted, and keep the digits of values', async () => {
    const cards = [{ text: '# Now' }, { queryId, size: 'large', values: { ids: [1, 2] } }, { path: 'a/b' }];
    const raw = JSON.stringify({ hubId, label: ' Sales ', path: 'sales', cards, refreshMinutes: 5 });
    const body = raw.replace('{"hubId"', '{"values":{"id":12345678901234567890.10},"hubId"');
    const headers = { 'content-type': 'application/json' };
    const made = await api.post('/v1/boards', undefined, { raw: body, headers });
    expect(made.status).toBe(200);
    expect(made.text).toContain('"id":12345678901234567890.10');
    const { boardId } = made.body;
    expect(boardId).toMatch(idShape('brd'));
    expect(made.body).toMatchObject({
      label: 'Sales',
      path: 'sales',
      cards,
      refreshMinutes: 5,
      updatedAt: null,
    });
    const got = await api.get(`/v1/boards/${boardId}`);
    expect(got.text).toBe(made.text);
    const etag = got.headers.get('etag') ?? '';
    const change = { label: 'Sales', cards: [] };
    const path = `/v1/boards/${boardId}`;
    expect((await api.put(path, change, { headers: { 'if-match': '"99"' } })).status).toBe(412);
    const changed = await api.ok(api.put(path, change, { headers: { 'if-match': etag } }));
    expect(changed).toMatchObject({ cards: [], values: {}, path: null, refreshMinutes: null, hubId });
    expect(changed.updatedAt).not.toBeNull();
    const listed = await api.ok(api.get(`/v1/boards?hubId=${hubId}`));
    expect(listed.map(({ label }: { label: string }) => label)).toEqual(['Sales']);
    const audit = await api.ok(api.get(`/v1/audit?resourceId=${boardId}`));
    expect(audit.map(({ action }: { action: string }) => action)).toEqual(['board.update', 'board.create']);
    await api.ok(api.delete(path));
    expect((await api.get(path)).status).toBe(404);
  });

  it.each([
    ['no content', [{ size: 'wide' }], '/cards/0'],
    ['two contents', [{ text: 'x' }, { text: 'x', path: 'a' }], '/cards/1'],
    ['an unknown size', [{ text: 'x', size: 'huge' }], '/cards/0/size'],
    ['a value that no address can say', [{ path: 'a', values: { a: { b: 1 } } }], '/cards/0/values/a'],
    ['too many cards', Array.from({ length: 51 }, () => ({ text: 'x' })), '/cards'],
    ['too many bytes', Array.from({ length: 7 }, () => ({ text: 'x'.repeat(9_999) })), '/cards'],
  ])('with %s are refused', async (_, cards, pointer) => {
    const { status, body } = await api.post('/v1/boards', { hubId, label: 'x', cards });
    expect([status, body.errors?.[0]?.pointer]).toEqual([400, pointer]);
  });

  it('keep no values of secret variables, and no variable becomes secret while a board or a watch has its value', async () => {
    const sourceId = await createSource(hubId);
    const query = { hubId, sourceId, label: 'q', path: 'with-pw', query: 'SELECT 1 AS n WHERE :pw = :pw' };
    const { queryId: id } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const set = (secret: boolean) =>
      api.put(`/v1/queries/${id}`, {
        config: { context: [{ key: 'pw', type: 'string', required: true, secret }] },
      });
    const cards = [{ queryId: id }];
    const { boardId } = await api.ok(
      api.post('/v1/boards', { hubId, label: 'b', cards, values: { pw: 'x' } }),
    );
    const refused = await set(true);
    expect([refused.status, refused.body.detail]).toEqual([409, expect.stringContaining('The board "b"')]);
    await api.ok(api.put(`/v1/boards/${boardId}`, { label: 'b', cards }));
    const { hubId: elsewhere } = await api.ok(api.post('/v1/hubs', { label: 'elsewhere' }));
    const far = { hubId: elsewhere, label: 'far', cards: [{ queryId: id, values: { pw: 'x' } }] };
    await api.ok(api.post('/v1/boards', far));
    expect((await set(true)).body.detail).toContain('The board "far"');
    await api.ok(api.delete(`/v1/hubs/${elsewhere}?recursive=true`));
    const schedule = { everyS: 86_400 };
    const watch = { hubId, queryId: id, label: 'w', schedule, when: 'failed', context: { pw: 'x' } };
    const { watchId } = await api.ok(api.post('/v1/watches', watch));
    expect((await set(true)).body.detail).toContain('The watch "w"');
    await api.ok(api.delete(`/v1/watches/${watchId}`));
    await api.ok(set(true));
    for (const [board, pointer] of [
      [{ label: 'b', cards, values: { pw: 'x' } }, '/values/pw'],
      [{ label: 'b', cards: [{ path: 'with-pw', values: { pw: 'x' } }] }, '/cards/0/values/pw'],
    ] as const) {
      const { status, body } = await api.put(`/v1/boards/${boardId}`, board);
      expect([status, body.errors?.map((one: any) => one.pointer)]).toEqual([400, [pointer]]);
    }
  });

  it('have unique paths in their hub, and go with it', async () => {
    const other = (await api.ok(api.post('/v1/hubs', { label: 'other' }))).hubId;
    const board = { label: 'x', path: 'same', cards: [] };
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId: other, ...board }));
    await api.ok(api.post('/v1/boards', { hubId, ...board }));
    expect((await api.post('/v1/boards', { hubId, ...board })).body.code).toBe('PATH_TAKEN');
    await api.ok(api.delete(`/v1/hubs/${other}?recursive=true`));
    await expect.poll(async () => (await api.get(`/v1/boards/${boardId}`)).status).toBe(404);
  });
});
