import { describe, expect, it } from 'vitest';
import { api } from '../support/hub.ts';

describe('browsers', () => {
  it('can send preflight requests without a key', async () => {
    const { status, headers } = await api.call('OPTIONS', '/v1/queries/execute', {
      key: null,
      headers: {
        origin: 'https://app.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-service-api-key,content-type',
      },
    });
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-headers')).toContain('x-service-api-key');
    expect(headers.get('access-control-allow-methods')).toContain('DELETE');
    expect(headers.get('x-request-id')).toBeTruthy();
  });

  it('can read answers and problems', async () => {
    for (const key of [undefined, null]) {
      const { headers } = await api.get('/v1/hubs', {
        headers: { origin: 'https://app.example' },
        ...(key === null ? { key } : {}),
      });
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-expose-headers')).toContain('etag');
    }
  });
});

describe('every answer', () => {
  it('has the request id of the request, if that is valid', async () => {
    const sane = await api.get('/v1/hubs', { headers: { 'x-request-id': 'my-id.1' } });
    expect(sane.headers.get('x-request-id')).toBe('my-id.1');
    const odd = await api.get('/v1/hubs', { headers: { 'x-request-id': 'a b{}' } });
    expect(odd.headers.get('x-request-id')).not.toBe('a b{}');
  });

  it('forbids caching and content sniffing', async () => {
    for (const path of ['/v1/hubs', '/v1/keys', '/v1/hubs/none', '/v1/none', '/v1/hubs?limit=x']) {
      const { headers } = await api.get(path);
      expect([path, headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
        path,
        'no-store',
        'nosniff',
      ]);
    }
  });
});

describe('without a key', () => {
  it('health, readiness and the contract can be read', async () => {
    const open = (path: string) => api.get(path, { key: null });
    expect((await open('/healthz')).body).toEqual({ status: 'ok' });
    expect((await open('/readyz')).body).toEqual({ status: 'ready' });
    const { body } = await open('/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    const operations = Object.values<object>(body.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
    expect(Object.keys(body.paths)).toContain('/v1/queries/execute');
    expect((await api.get('/metrics')).status).toBe(404);
  });
});

describe('the contract', () => {
  it('lists exactly the request headers that each operation uses', async () => {
    const { paths } = (await api.get('/openapi.json')).body as {
      paths: Record<string, Record<string, { parameters: { name: string; in: string }[] }>>;
    };
    for (const [path, operations] of Object.entries(paths)) {
      for (const [method, { parameters }] of Object.entries(operations)) {
        const named = parameters.filter((one) => one.in === 'header').map((one) => one.name);
        const url = path.replaceAll(/\{\w+\}/g, 'none');
        const body = bodies.find(([start]) => path.startsWith(start))?.[1];
        const headers = { 'if-match': 'malformed' };
        const needed = path.endsWith('/restore')
          ? { body: { version: 1 } }
          : method === 'put'
            ? { body }
            : {};
        const { code } = (await api.call(method.toUpperCase(), url, { headers, ...needed })).body;
        const operation = `${method} ${path}`;
        expect([operation, named.includes('If-Match')]).toEqual([operation, code === 'VERSION_MISMATCH']);
        expect([operation, named.includes('Idempotency-Key')]).toEqual([operation, method === 'post']);
      }
    }
  });

  it('lists the headers of answers', async () => {
    const { paths } = (await api.get('/openapi.json')).body as {
      paths: Record<string, Record<string, { responses: Record<string, { headers: object }> }>>;
    };
    const named = (path: string, method: string, status: string) =>
      Object.keys(paths[path]?.[method]?.responses[status]?.headers ?? {});
    const answer = await api.post('/v1/hubs', { label: 'named' });
    const list = await api.get('/v1/hubs?limit=1');
    const missing = await api.get('/v1/hubs/none');
    for (const [{ headers }, names] of [
      [answer, named('/v1/hubs', 'post', '200')],
      [list, named('/v1/hubs', 'get', '200')],
      [missing, named('/v1/hubs/{hubId}', 'get', 'default')],
    ] as const) {
      const own = [...headers.keys()].filter((name) => ours.has(name));
      expect(own).not.toEqual([]);
      expect(names.map((name) => name.toLowerCase())).toEqual(expect.arrayContaining(own));
    }
    expect([answer.headers.has('etag'), list.headers.has('link')]).toEqual([true, true]);
  });
});

/** Valid bodies of changes, by the start of the path. */
const bodies: [string, object][] = [
  ['/v1/queries', { meta: { label: 'x' } }],
  ['/v1/classifiers/{classifierId}/examples', { context: 'x' }],
  ['/v1/classifiers', { name: 'x' }],
  ['/v1/watches', { label: 'x', queryId: 'none', schedule: { everyS: 60 }, when: 'always' }],
  ['/v1/destinations', { label: 'x', url: 'https://receiver.example/' }],
  ['/v1/people', { disabled: true }],
  ['/v1/boards', { label: 'x', cards: [] }],
  ['', { label: 'x' }],
];

/** The headers that CORS exposes, which are those for clients. */
const ours = new Set([
  'etag',
  'link',
  'x-total-count',
  'retry-after',
  'x-request-id',
  'ratelimit',
  'ratelimit-policy',
]);
