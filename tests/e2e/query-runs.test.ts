import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';

let hubId: string;
let sourceId: string;

const store = async (label: string, query = 'SELECT id FROM sales WHERE id <= :n'): Promise<string> =>
  (await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }))).config.query.queryId;
const runs = (queryId: string, search = '', options = {}) =>
  api.ok(api.get(`/v1/queries/${queryId}/runs${search}`, options));
const until = (count: number, queryId: string, options = {}) =>
  expect.poll(async () => (await runs(queryId, '', options)).length, { timeout: 20_000 }).toBe(count);

beforeAll(async () => {
  hubId = (await api.ok(api.post('/v1/hubs', { label: 'runs' }))).hubId;
  sourceId = await createSource(hubId);
});

describe('the runs of a query', () => {
  it('say who called how, what became of it, and in which time', async () => {
    const queryId = await store('kept');
    const body = { name: 'program', scopes: ['queries:execute'] };
    const { key, keyId } = await api.ok(api.post('/v1/keys', body));
    const before = Date.now();
    await api.ok(api.post('/v1/queries/execute', { queryId, context: { n: 2 } }, { key }));
    await api.ok(api.get(`/v1/queries/${queryId}/data?n=3`, { key }));
    const headers = { 'x-datahub-form': 'console' };
    await api.ok(api.post('/v1/queries/execute', { queryId, context: { n: 1 } }, { headers }));
    expect((await api.post('/v1/queries/execute', { queryId })).body.code).toBe('CONTEXT_INVALID');
    await until(4, queryId);
    const all = await runs(queryId);
    const byForm = (form: string) => all.find((run: any) => run.form === form && run.outcome === 'ok');
    expect(byForm('data')).toMatchObject({
      keyId,
      keyName: 'program',
      user: null,
      code: null,
      cached: false,
    });
    expect(byForm('console').rows).toBe(1);
    const executed = byForm('execute');
    expect(executed).toMatchObject({ rows: 2, runId: expect.stringMatching(/\.qrun\./) });
    expect(executed.at).toMatch(timestamp);
    expect(Date.parse(executed.at)).toBeGreaterThanOrEqual(before - 1_000);
    for (const time of ['queueMs', 'databaseMs', 'totalMs']) expect(executed[time]).toBeGreaterThanOrEqual(0);
    const [failed, ...more] = await runs(queryId, '?outcome=failed');
    expect(more).toEqual([]);
    expect(failed).toMatchObject({ code: 'CONTEXT_INVALID', databaseMs: null, form: 'execute' });
    expect(JSON.stringify(all)).not.toContain('"n"');
  });

  it('keep their values if the query says so, without secret and pinned ones', async () => {
    const query = "SELECT id FROM sales WHERE id <= :n AND region = :region AND :token <> ''";
    const context = [
      { key: 'n', type: 'decimal' },
      { key: 'token', type: 'string', secret: true },
    ];
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'values', query, context, keepValues: true }),
    );
    const { queryId } = stored.config.query;
    expect(stored.config.keepValues).toBe(true);
    const pinned = { scopes: ['queries:execute'], limits: { context: { region: 'north' } } };
    const { key } = await api.ok(api.post('/v1/keys', { name: 'pinned', ...pinned }));
    const text = `{"queryId":"${queryId}","context":{"n":2.10,"region":"north","token":"s3cret","typo":1}}`;
    const headers = { 'content-type': 'application/json', 'x-service-api-key': key };
    const sent = await fetch(`${inject('hub').url}/v1/queries/execute`, {
      method: 'POST',
      headers,
      body: text,
    });
    expect(sent.status).toBe(200);
    await until(1, queryId);
    const address = `${inject('hub').url}/v1/queries/${queryId}/runs`;
    const raw = await (await fetch(address, { headers })).text();
    expect(raw).toContain('"values":{"n":2.10}');
    expect(raw).not.toMatch(/s3cret|north|typo/);
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { keepValues: false } }));
    expect((await api.ok(api.get(`/v1/queries/${queryId}`))).config).not.toHaveProperty('keepValues');
    expect((await runs(queryId))[0].values).toBeNull();
    expect((await api.ok(api.get(`/v1/queries/${queryId}/versions`)))[1].keepValues).toBe(true);
  });

  it('are those of the key, unless it may read the audit', async () => {
    const queryId = await store('own');
    const body = { name: 'a', scopes: ['queries:execute'], limits: { queryIds: [queryId] } };
    const [a, b] = await Promise.all([
      api.ok(api.post('/v1/keys', body)),
      api.ok(api.post('/v1/keys', { ...body, name: 'b' })),
    ]);
    await api.ok(api.post('/v1/queries/execute', { queryId, context: { n: 1 } }, { key: a.key }));
    await api.ok(api.post('/v1/queries/execute', { queryId, context: { n: 1 } }, { key: b.key }));
    await until(2, queryId);
    const own = await runs(queryId, '', { key: a.key });
    expect(own.map(({ keyId, keyName }: any) => [keyId, keyName])).toEqual([[a.keyId, null]]);
    expect(await runs(queryId, '?own=1')).toEqual([]);
    const reader = await api.ok(api.post('/v1/keys', { name: 'r', scopes: ['queries:read'] }));
    expect((await api.get(`/v1/queries/${queryId}/runs`, { key: reader.key })).status).toBe(403);
    const wrong = await api.get(`/v1/queries/${queryId}/runs?outcome=maybe`);
    expect(wrong.body).toMatchObject({ code: 'VALIDATION', errors: [{ pointer: 'query/outcome' }] });
  });
});
