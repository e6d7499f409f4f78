import { randomBytes } from 'node:crypto';
import { connect } from 'node:net';
import { describe, expect, inject, it } from 'vitest';
import { api, createSource, timestamp } from '../support/hub.ts';

const newKey = async (body: object) => api.ok(api.post('/v1/keys', { name: 'test', scopes: ['*'], ...body }));

describe('a request without a good key', () => {
  it('is answered that a key is missing', async () => {
    const { status, body, headers } = await api.get('/v1/hubs', { key: null });
    expect([status, body.code]).toEqual([401, 'KEY_MISSING']);
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(headers.get('www-authenticate')).toContain('x-service-api-key');
    expect(body).toEqual({
      type: expect.any(String),
      title: expect.any(String),
      status: 401,
      detail: expect.stringContaining('x-service-api-key'),
      instance: '/v1/hubs',
      code: 'KEY_MISSING',
      requestId: headers.get('x-request-id'),
    });
  });

  it.each([
    'x',
    'dhk_',
    `dhk_${'0'.repeat(38)}`,
    'a b',
    'ä'.repeat(20),
    `${'a'.repeat(31)}!`,
    'a'.repeat(32),
    'a'.repeat(300),
    randomBytes(24).toString('hex'),
  ])('is refused in the same words, whatever the key is (%j)', async (key) => {
    const answer = await api.get('/v1/hubs', { key: encodeURIComponent(key) === key ? key : encodeURI(key) });
    const { requestId: _, ...rest } = answer.body;
    expect([answer.status, rest]).toEqual([
      401,
      {
        type: 'urn:datahub:problem:key-invalid',
        title: 'The key is not valid',
        status: 401,
        detail: 'This key is unknown or was revoked.',
        instance: '/v1/hubs',
        code: 'KEY_INVALID',
      },
    ]);
  });

  it('is refused when the header comes twice, and when the key is in the URL', async () => {
    const { port } = new URL(inject('hub').url);
    const { key } = inject('hub');
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1', () => {
        socket.write(
          `GET /v1/hubs HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-service-api-key: ${key}\r\nx-service-api-key: ${key}\r\n\r\n`,
        );
      });
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
    });
    expect(answer).toMatch(/^HTTP\/1\.1 401/);
    expect((await api.get(`/v1/hubs?x-service-api-key=${key}`, { key: null })).status).toBe(401);
  });
});

describe('keys', () => {
  it('are made, listed without their text, and revoked', async () => {
    const made = await newKey({ name: 'for a job', scopes: ['hubs:read'] });
    expect(made).toEqual({
      keyId: expect.stringMatching(/\.key\./),
      key: expect.stringMatching(/^dhk_[0-9a-z]{38}$/),
      name: 'for a job',
      scopes: ['hubs:read'],
      limits: {},
      createdAt: expect.stringMatching(timestamp),
      expiresAt: null,
    });
    const list = await api.get('/v1/keys');
    expect(list.text).not.toContain(made.key);
    expect(list.body.find(({ keyId }: { keyId: string }) => keyId === made.keyId)).toMatchObject({
      name: 'for a job',
      lastCharacters: made.key.slice(-4),
      madeBy: { keyId: (await api.get('/v1/keys/current')).body.keyId, name: expect.any(String) },
    });
    expect((await api.get('/v1/hubs', { key: made.key })).status).toBe(200);

    expect(await api.ok(api.delete(`/v1/keys/${made.keyId}`))).toEqual({});
    await expect
      .poll(async () => (await api.get('/v1/hubs', { key: made.key })).status, {
        timeout: 60_000,
        interval: 100,
      })
      .toBe(401);
  });

  it('do only what their scopes allow', async () => {
    const { key } = await newKey({ scopes: ['hubs:read'] });
    expect((await api.get('/v1/hubs', { key })).status).toBe(200);
    const refused = await api.post('/v1/hubs', { label: 'no' }, { key });
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
    expect((await api.post('/v1/hubs', { wrong: true }, { key })).status).toBe(403);
    expect((await api.post('/v1/keys', { name: 'more' }, { key })).status).toBe(403);
  });

  it('do not hand on more than they have', async () => {
    const { key } = await newKey({ scopes: ['keys:admin', 'hubs:read'] });
    expect((await api.post('/v1/keys', { name: 'all' }, { key })).status).toBe(403);
    expect((await api.post('/v1/keys', { name: 'less', scopes: ['hubs:read'] }, { key })).status).toBe(200);
  });

  it('hand on their limits and their end', async () => {
    const limits = { context: { tenant: 7 }, maxRows: 5, ratePerMinute: 600 };
    const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
    const other = await newKey({});
    const { key } = await newKey({ limits, expiresAt });
    const make = async (body: object) =>
      (await api.post('/v1/keys', { name: 'next', scopes: ['*'], ...body }, { key })).status;
    expect(await make({ limits, expiresAt })).toBe(200);
    expect(await make({ limits })).toBe(403);
    expect(await make({ expiresAt })).toBe(403);
    expect(await make({ limits: { ...limits, context: { tenant: 8 } }, expiresAt })).toBe(403);
    expect(await make({ limits: { ...limits, maxRows: 6 }, expiresAt })).toBe(403);
    // Nor does it get at a stronger one by replacing it.
    expect((await api.post(`/v1/keys/${other.keyId}/rotate`, {}, { key })).status).toBe(403);
  });

  it('end only keys that may do no more than themselves', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'administered' }));
    const limited = { scopes: ['keys:admin', 'hubs:read'], limits: { hubIds: [hubId] } };
    const { key, keyId } = await newKey(limited);
    const stronger = [
      await newKey({}),
      await newKey({ scopes: ['hubs:read'] }),
      await newKey({ ...limited, scopes: ['hubs:read', 'hubs:write'] }),
    ];
    for (const { keyId: other, key: text } of stronger) {
      const refused = await api.delete(`/v1/keys/${other}`, { key });
      expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
      expect((await api.post(`/v1/keys/${other}/rotate`, {}, { key })).status).toBe(403);
      expect((await api.get('/v1/hubs', { key: text })).status).toBe(200);
    }
    const weaker = await api.ok(
      api.post('/v1/keys', { name: 'w', ...limited, scopes: ['hubs:read'] }, { key }),
    );
    expect(await api.ok(api.delete(`/v1/keys/${weaker.keyId}`, { key }))).toEqual({});
    expect((await api.delete(`/v1/keys/${weaker.keyId}`, { key })).status).toBe(404);
    expect(await api.ok(api.delete(`/v1/keys/${keyId}`, { key }))).toEqual({});
  });

  it('are limited to hubs', async () => {
    const mine = await api.ok(api.post('/v1/hubs', { label: 'mine' }));
    const other = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const { key } = await newKey({ limits: { hubIds: [mine.hubId] } });
    expect((await api.get('/v1/hubs', { key })).body.map(({ hubId }: { hubId: string }) => hubId)).toEqual([
      mine.hubId,
    ]);
    const twice = await newKey({ limits: { hubIds: [mine.hubId, mine.hubId] } });
    expect((await api.get('/v1/hubs', { key: twice.key })).body).toHaveLength(1);
    expect((await api.get(`/v1/hubs/${other.hubId}`, { key })).status).toBe(403);
  });

  it('are limited to queries, in lists and trees, too', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'queries' }));
    const sourceId = await createSource(hubId);
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      const query = { hubId, sourceId, label: `query ${i}`, query: 'SELECT 1 AS one' };
      ids.push((await api.ok(api.post('/v1/queries', query))).config.query.queryId);
    }
    const [, second, , last] = ids as [string, string, string, string];
    const { key } = await newKey({ limits: { queryIds: [last, second, last] } });
    const page = async (search: string) => {
      const { body, headers } = await api.get(`/v1/queries?hubId=${hubId}${search}`, { key });
      const found = body.map(
        ({ config }: { config: { query: { queryId: string } } }) => config.query.queryId,
      );
      return [found, headers.get('x-total-count')];
    };
    expect(await page('')).toEqual([[second, last], '2']);
    expect(await page('&limit=1')).toEqual([[second], '2']);
    expect(await page('&limit=1&offset=1')).toEqual([[last], '2']);
    const { text } = await api.get(`/v1/hubs/${hubId}/contents`, { key });
    expect(ids.map((id) => text.includes(id))).toEqual([false, true, false, true]);
    const removed = await api.delete(`/v1/hubs/${hubId}?recursive=true`, { key });
    expect([removed.status, removed.body.code]).toEqual([403, 'SCOPE_DENIED']);
    expect((await api.get(`/v1/queries/${ids[0]}`)).status).toBe(200);
  });

  it('are limited to origins', async () => {
    const { key } = await newKey({ limits: { origins: ['https://app.example'] } });
    const from = (origin: string) => api.get('/v1/hubs', { key, headers: { origin } });
    expect((await from('https://app.example')).status).toBe(200);
    expect((await from('https://evil.example')).status).toBe(403);
    expect((await api.get('/v1/hubs', { key })).status).toBe(403);
  });

  it('are limited in rate, and the standard headers say so', async () => {
    const { key } = await newKey({ limits: { ratePerMinute: 3 } });
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push(await api.get('/v1/hubs', { key }));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
    const last = answers[3]?.headers;
    expect(Number(last?.get('retry-after'))).toBeGreaterThan(0);
    expect(last?.get('ratelimit-policy')).toContain('q=3');
    expect(last?.get('ratelimit')).toContain('r=0');
  });

  it('expire', async () => {
    const expiresAtMs = Date.now() + 3_000;
    const { key } = await newKey({ expiresAt: new Date(expiresAtMs).toISOString() });
    const { status } = await api.get('/v1/hubs', { key });
    if (Date.now() < expiresAtMs) expect(status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, expiresAtMs + 100 - Date.now()));
    const late = await api.get('/v1/hubs', { key });
    expect([late.status, late.body.code]).toEqual([401, 'KEY_EXPIRED']);
    for (const expiresAt of ['2020-01-01T00:00:00Z', '2130-02-30T00:00:00Z', '2130-02-01']) {
      const refused = await api.post('/v1/keys', { name: 'refused', expiresAt });
      expect([refused.status, refused.body.errors?.[0].pointer]).toEqual([400, '/expiresAt']);
    }
  });

  it('are rotated: the new one works at once, the old one for the overlap', async () => {
    const old = await newKey({ scopes: ['hubs:read'] });
    const next = await api.ok(api.post(`/v1/keys/${old.keyId}/rotate`, { overlapSeconds: 0 }));
    expect(next.scopes).toEqual(['hubs:read']);
    const again = await api.post(`/v1/keys/${old.keyId}/rotate`);
    expect([again.status, again.body.code]).toEqual([409, 'CONFLICT']);
    expect((await api.get('/v1/hubs', { key: next.key })).status).toBe(200);
    await expect
      .poll(async () => (await api.get('/v1/hubs', { key: old.key })).status, {
        timeout: 60_000,
        interval: 100,
      })
      .toBe(401);
  });
});
