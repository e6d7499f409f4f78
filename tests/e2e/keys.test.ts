import { describe, expect, inject, it } from 'vitest';
import { api, createSource } from '../support/hub.ts';

const newKey = async (body: object, key?: string) =>
  api.ok(api.post('/v1/keys', { name: 'test', ...body }, key === undefined ? {} : { key }));

describe('a key that is created without scopes', () => {
  it('may execute queries and nothing else', async () => {
    const { key, scopes } = await newKey({});
    expect(scopes).toEqual(['queries:execute']);
    expect((await api.get('/v1/hubs', { key })).status).toBe(403);
    const execution = await api.post('/v1/queries/execute', { queryId: 'unknown' }, { key });
    expect(execution.status).toBe(404);
  });
});

describe('the key of a request', () => {
  it('is shown with its id, its scopes and the names of its limits, without its pinned values', async () => {
    const limits = { context: { tenant: 7 } };
    const { key, keyId } = await newKey({ scopes: ['queries:read', 'ai:summarize'], limits });
    const { status, body } = await api.get('/v1/keys/current', { key });
    expect([status, body]).toEqual([
      200,
      { keyId, scopes: ['queries:read', 'ai:summarize'], limitedBy: ['context'] },
    ]);
    expect((await api.get('/v1/keys/current', { key: 'dhk_unknown' })).body.code).toBe('KEY_INVALID');
  });
});

describe('a key that replaces itself', () => {
  it('can do so again if it does not receive the answer', async () => {
    const { key, keyId } = await newKey({ scopes: ['keys:admin'] });
    const path = `/v1/keys/${keyId}/rotate`;
    const { status, body } = await api.post(path, { overlapSeconds: 0 }, { key });
    expect([status, body.errors[0].pointer]).toEqual([400, '/overlapSeconds']);
    for (const ms of [0, 1, 2, 5, 10, 20])
      await fetch(`${inject('hub').url}${path}`, {
        method: 'POST',
        headers: { 'x-service-api-key': key, 'content-type': 'application/json' },
        body: '{"overlapSeconds":60}',
        signal: AbortSignal.timeout(ms),
      }).catch(() => undefined);
    const next = await api.ok(api.post(path, { overlapSeconds: 60 }, { key }));
    // The new key ends the old one.
    await api.ok(api.call('DELETE', `/v1/keys/${keyId}`, { key: next.key }));
    expect((await api.get('/v1/keys/current', { key: next.key })).body.keyId).toBe(next.keyId);
  });
});

describe('limits that could never match', () => {
  it.each([
    'https://*.shop.example',
    'https://shop.example:443',
    'https://Shop.example',
    'https://bücher.example',
    'https://user@shop.example',
  ])('are refused: origin %s', async (origin) => {
    const { status, body } = await api.post('/v1/keys', { name: 'page', limits: { origins: [origin] } });
    expect([status, body.code, body.errors[0].pointer]).toEqual([400, 'VALIDATION', '/limits/origins/0']);
  });

  it('are refused: unknown ids of queries and hubs', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'limits' }));
    const sourceId = await createSource(hubId);
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'q', query: 'SELECT 1 AS one' }),
    );
    const { queryId } = stored.config.query;
    const own = { hubIds: [hubId], queryIds: [queryId] };
    expect((await newKey({ limits: own })).limits).toEqual(own);
    const limits = { hubIds: [hubId, sourceId], queryIds: ['unknown', queryId, hubId] };
    const { status, body } = await api.post('/v1/keys', { name: 'typo', limits });
    const pointers = body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect([status, pointers]).toEqual([
      400,
      ['/limits/hubIds/1', '/limits/queryIds/0', '/limits/queryIds/2'],
    ]);
    // An id of another account is refused in the same way.
    const foreign = await api.post('/v1/keys', { name: 'x', limits: own }, { key: inject('hub').otherKey });
    expect(foreign.body.errors).toHaveLength(2);
  });
});

describe('a key with a rate limit', () => {
  /** How many calls are admitted besides those that the rate allows meanwhile. */
  const admitted = async (keys: string[], count: number, ratePerMinute = 0) => {
    const statuses: number[] = [];
    const startedAt = performance.now();
    for (let i = 0; i < count; i++)
      statuses.push((await api.get('/v1/hubs', { key: keys[i % keys.length] as string })).status);
    const meanwhile = Math.floor((ratePerMinute * (performance.now() - startedAt)) / 60_000);
    return statuses.filter((status) => status === 200).length - meanwhile;
  };
  const scopes = ['keys:admin', 'hubs:read'];
  // Each gateway may take a share of a minute's budget and not use it, and a minute may end meanwhile.
  const slack = 2 + 2 * inject('hub').replicas;

  it('shares its budget with the keys that it creates, directly and indirectly', async () => {
    const limits = { ratePerMinute: 30 };
    const parent = await newKey({ scopes, limits });
    const children = [
      await newKey({ scopes, limits }, parent.key),
      await newKey({ scopes, limits }, parent.key),
    ];
    const grandchild = await newKey({ scopes, limits: { ratePerMinute: 10 } }, children[0].key);
    expect(await admitted([grandchild.key], 20, 10)).toBeLessThanOrEqual(10 + slack);
    const all = [parent, ...children, grandchild].map(({ key }) => key);
    expect(await admitted(all, 80, 30)).toBeLessThanOrEqual(30 + slack);
    expect(await admitted([(await newKey({ scopes })).key], 40)).toBe(40);
  });

  it('shares the changed budget with the keys that it created', async () => {
    const parent = await newKey({ scopes, limits: { ratePerMinute: 40 } });
    const child = await newKey({ scopes, limits: { ratePerMinute: 40 } }, parent.key);
    const change = { limits: { ratePerMinute: 10 } };
    await api.ok(api.put(`/v1/keys/${parent.keyId}`, change));
    expect(await admitted([child.key, parent.key], 40, 10)).toBeLessThanOrEqual(10 + slack);
  });

  it('shares it with the key that replaces it', async () => {
    const old = await newKey({ scopes, limits: { ratePerMinute: 20 } });
    const keys = [old.key];
    for (let i = 0; i < 3; i++)
      keys.push((await api.ok(api.post(`/v1/keys/${old.keyId}/rotate`, { overlapSeconds: 3_600 }))).key);
    expect(await admitted(keys, 60, 20)).toBeLessThanOrEqual(20 + slack);
  });
});

describe('a change of a key', () => {
  const shown = async (keyId: string) => {
    const keys = await api.ok(api.get('/v1/keys?limit=10000'));
    return keys.find((key: { keyId: string }) => key.keyId === keyId);
  };
  const change = (keyId: string, body: object, key?: string) =>
    api.put(`/v1/keys/${keyId}`, body, key === undefined ? {} : { key });

  it('replaces the limits that it names, and leaves the others', async () => {
    const limits = { maxRows: 10, context: { tenant: 7 }, strict: true };
    const { keyId } = await newKey({ limits, expiresAt: '2099-01-01T00:00:00.000Z' });
    const context = '{"tenant":9007199254740993}';
    const raw = `{"name":"other","limits":{"context":${context},"maxRows":null,"strict":false}}`;
    const { status, body } = await api.call('PUT', `/v1/keys/${keyId}`, { raw });
    expect([status, body.name, Object.keys(body.limits)]).toEqual([200, 'other', ['context']]);
    expect(body.expiresAt).toBe('2099-01-01T00:00:00.000Z');
    const next = await api.ok(change(keyId, { limits: { maxRows: 5 }, expiresAt: null }));
    expect(next).toEqual(await shown(keyId));
    expect([next.limits.maxRows, next.expiresAt]).toEqual([5, null]);
    const entries = await api.ok(api.get(`/v1/audit?resourceId=${keyId}`));
    expect(entries.map(({ action }: { action: string }) => action)).toEqual([
      'key.update',
      'key.update',
      'key.create',
    ]);
  });

  it('takes effect for calls of the key', async () => {
    const { key, keyId } = await newKey({ scopes: ['hubs:read'] });
    await api.ok(change(keyId, { expiresAt: new Date(Date.now() + 3_000).toISOString() }));
    await expect
      .poll(async () => (await api.get('/v1/hubs', { key })).body.code, { timeout: 60_000 })
      .toBe('KEY_EXPIRED');
    // A key that has expired stays so.
    expect((await change(keyId, { expiresAt: null })).body.code).toBe('CONFLICT');
  });

  it('is refused if the caller may do less than the key may before or after it', async () => {
    const admin = await newKey({ scopes: ['keys:admin', 'hubs:read'], limits: { maxRows: 100 } });
    const weak = await newKey({ scopes: ['hubs:read'], limits: { maxRows: 50 } });
    const strong = await newKey({ scopes: ['hubs:read', 'hubs:write'], limits: { maxRows: 50 } });
    const codeOf = async (keyId: string, limits: object) =>
      (await change(keyId, { limits }, admin.key)).body.code;
    expect(await codeOf(strong.keyId, { maxRows: 1 })).toBe('SCOPE_DENIED');
    expect(await codeOf(weak.keyId, { maxRows: 101 })).toBe('SCOPE_DENIED');
    expect(await codeOf(weak.keyId, { maxRows: null })).toBe('SCOPE_DENIED');
    expect(await codeOf(weak.keyId, { maxRows: 100 })).toBeUndefined();
    // The caller can narrow itself, and cannot take that back.
    expect(await codeOf(admin.keyId, { maxRows: 60 })).toBeUndefined();
    expect(await codeOf(admin.keyId, { maxRows: 100 })).toBe('SCOPE_DENIED');
  });

  it('names what is wrong', async () => {
    const { keyId } = await newKey({});
    const pointers = async (body: object) =>
      (await change(keyId, body)).body.errors.map(({ pointer }: { pointer: string }) => pointer);
    expect(await pointers({ scopes: ['*'] })).toEqual(['/scopes']);
    expect(await pointers({ limits: { maxRow: 5 } })).toEqual(['/limits/maxRow']);
    expect(await pointers({ limits: { origins: ['https://A.example'] } })).toEqual(['/limits/origins/0']);
    expect(await pointers({ limits: { queryIds: ['nowhere'] } })).toEqual(['/limits/queryIds/0']);
    expect(await pointers({ expiresAt: '2020-01-01T00:00:00Z' })).toEqual(['/expiresAt']);
    expect((await change('dh.key.none', { name: 'x' })).status).toBe(404);
    const { otherKey } = inject('hub');
    expect((await change(keyId, { name: 'x' }, otherKey)).status).toBe(404);
  });
});
