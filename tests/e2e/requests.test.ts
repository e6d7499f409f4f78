import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, sourceBody } from '../support/hub.ts';

let hubId: string;
let sourceId: string;

beforeAll(async () => {
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'requests' })));
  sourceId = await createSource(hubId);
});

const pointers = (body: { errors?: { pointer: string }[] }) =>
  (body.errors ?? []).map(({ pointer }) => pointer).sort();

describe('bodies', () => {
  it('that lack all members get every fault at once', async () => {
    const { status, body } = await api.post('/v1/sources', {});
    expect(status).toBe(400);
    expect(pointers(body)).toEqual(['/connectionSettings', '/engine', '/hubId', '/label']);
    const inner = await api.post('/v1/sources', { ...sourceBody(hubId), connectionSettings: {} });
    expect(pointers(inner.body)).toEqual(
      ['database', 'host', 'password', 'port', 'user'].map((name) => `/connectionSettings/${name}`),
    );
  });

  it('that name a member twice are refused, for one of the two would be lost', async () => {
    const raw = '{"label":"first","label":"second"}';
    const { status, body } = await api.post('/v1/hubs', undefined, { raw });
    expect([status, body.code, pointers(body)]).toEqual([400, 'VALIDATION', ['/label']]);
  });

  const required: [string, () => Record<string, unknown>][] = [
    ['/v1/hubs', () => ({ label: 'x' })],
    ['/v1/sources', () => sourceBody(hubId)],
    ['/v1/queries', () => ({ hubId, label: 'x', sourceId, query: 'SELECT 1' })],
    ['/v1/queries/execute', () => ({ queryId: 'dh.q.x' })],
    ['/v1/ai/summarize', () => ({ context: [['One.']] })],
  ];

  it.each(required)('of %s need each required member, of the right type', async (path, make) => {
    for (const name of Object.keys(make())) {
      const { [name]: _, ...rest } = make();
      const missing = await api.post(path, rest);
      expect([missing.status, missing.body.code, pointers(missing.body)]).toEqual([
        400,
        'VALIDATION',
        [`/${name}`],
      ]);
      for (const wrong of [null, 17.5, true, ['x', 1], { a: 1 }]) {
        const answer = await api.post(path, { ...rest, [name]: wrong });
        if (name === 'connectionSettings' && typeof wrong === 'object' && !Array.isArray(wrong) && wrong)
          continue;
        expect([answer.status, answer.body.code]).toEqual([400, 'VALIDATION']);
        expect(pointers(answer.body)[0]).toMatch(new RegExp(`^/${name}`));
      }
    }
  });

  it.each(required)('of %s name members that are not known', async (path, make) => {
    const { status, body } = await api.post(path, { ...make(), surprise: 1, 'a/b~c': 2 });
    expect(status).toBe(400);
    expect(pointers(body)).toEqual(['/a~1b~0c', '/surprise']);
  });

  it.each([
    ['an empty label', { label: '' }],
    ['a label of spaces', { label: '   ' }],
    ['a label of 201 characters', { label: 'x'.repeat(201) }],
    ['a label with a control character', { label: 'a\u0007b' }],
    ['a lone surrogate', { label: 'a\ud800b' }],
  ])('with %s are refused', async (_name, body) => {
    const { status, body: problem } = await api.post('/v1/hubs', body);
    expect(status).toBe(400);
    expect(pointers(problem)).toContain('/label');
  });

  it('take a label of 200 characters of any script', async () => {
    const label = `${'语'.repeat(199)}😀`;
    expect((await api.ok(api.post('/v1/hubs', { label }))).label).toBe(label);
  });

  it.each([
    ['cut short', '{"label":'],
    ['no JSON', 'label=x'],
    ['two values', '{} {}'],
    ['nested too deep', '['.repeat(50_000)],
    ['a NUL', '{"label":"a\u0000"}'],
  ])('that are %s get 400, not the parser’s words', async (_name, raw) => {
    const { status, body } = await api.post('/v1/hubs', undefined, { raw });
    expect([status, body.code]).toEqual([400, 'VALIDATION']);
    expect(body.detail).not.toMatch(/Unexpected|JSON at|stack/);
  });

  it.each([
    ['/v1/classifiers', { name: 1 }, '/name must be a string or null.'],
    ['/v1/classifiers', [], 'The body must be an object.'],
    ['/v1/classifiers', null, 'The body must be an object.'],
    ['/v1/hubs', null, 'The body must be an object.'],
    ['/v1/classifiers', { nam: 'x' }, '/nam is an unknown property.'],
    ['/v1/hubs', { label: '' }, '/label must have at least 1 character.'],
    ['/v1/ai/summarize', { context: [[1]] }, '/context/0/0 must be a string.'],
    ['/v1/ai/summarize', { context: [['a'], 1] }, '/context/1 must be an array or a string.'],
    ['/v1/ai/summarize', { context: [['a'], 'b'] }, '/context must contain only arrays or only strings.'],
    [
      '/v1/keys',
      { name: 'page', limits: { origins: ['https://shop.example/'] } },
      '/limits/origins/0 must be an origin such as https://shop.example, without a path or a slash at its end.',
    ],
    [
      '/v1/keys',
      { name: 'page', limits: { origins: ['http://a.example', 'https://Shop.example:443'] } },
      '/limits/origins/1 must be written as browsers send it: https://shop.example.',
    ],
  ])('that do not fit %s (%j) are told why in plain words, once', async (path, sent, detail) => {
    const { status, body } = await api.post(path, sent);
    expect([status, body.detail, body.errors.length]).toEqual([400, detail, 1]);
  });

  it('of a classifier name missing and unknown members together', async () => {
    const told = async (path: string, body: object) => {
      const answer = await api.post(`/v1/classifiers/x/${path}`, body);
      return [answer.status, pointers(answer.body)];
    };
    expect(await told('train', { label: 'x', contxt: 'y' })).toEqual([400, ['/context', '/contxt']]);
    expect(await told('predict', { contxt: 'y' })).toEqual([400, ['/context', '/contxt']]);
    expect(await told('predict', { contexts: ['a'], contxt: 1 })).toEqual([400, ['/contxt']]);
  });

  it('with very many faults get some of them and their number, and delay no other request', async () => {
    const members = Array.from({ length: 9_000 }, (_, i) => `"a${i.toString(36)}":0`);
    const raw = `{${members.join(',')}}`;
    const { status, body } = await api.post('/v1/hubs', undefined, { raw });
    expect([status, body.code, body.errors.length]).toEqual([400, 'VALIDATION', 50]);
    expect(body.detail).toMatch(
      /"errors" lists 49 more faults\. The body is large, and only a part of it was validated\.$/,
    );
    const larger = Array.from({ length: 800_000 }, (_, i) => `"${i.toString(36)}":0`);
    const refused = await api.post('/v1/ai/summarize', undefined, { raw: `{${larger.join(',')}}` });
    expect([refused.status, refused.body.code]).toEqual([413, 'TOO_LARGE']);
    expect(refused.body.detail).toContain('an object with more than 10000 members');
  });

  it('may contain members that only the hub sets, also if a new resource is made from a read one', async () => {
    const hub = await api.ok(api.get(`/v1/hubs/${hubId}`));
    const copy = await api.ok(api.post('/v1/hubs', hub));
    expect(copy).toMatchObject({ label: hub.label, archived: 0 });
    expect(copy.hubId).not.toBe(hubId);
    const folder = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'read back' }));
    const twin = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, folder));
    expect(twin.nodeId).not.toBe(folder.nodeId);
  });

  it('that are not UTF-8 get 400', async () => {
    const raw = new Uint8Array([...Buffer.from('{"label":"'), 0xff, 0xfe, ...Buffer.from('"}')]);
    expect((await api.post('/v1/hubs', undefined, { raw })).status).toBe(400);
  });

  it('are needed, in JSON, and not too large', async () => {
    expect((await api.post('/v1/hubs')).status).toBe(400);
    const media = await api.post('/v1/hubs', undefined, {
      raw: 'x',
      headers: { 'content-type': 'text/plain' },
    });
    expect([media.status, media.body.code]).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
    const zipped = await api.post('/v1/hubs', undefined, {
      raw: new Uint8Array(gzipSync('{"label":"x"}')),
      headers: { 'content-encoding': 'gzip' },
    });
    expect([zipped.status, zipped.body.detail]).toEqual([415, 'Send the body uncompressed.']);
    const plain = await api.post('/v1/hubs', { label: 'x' }, { headers: { 'content-encoding': 'Identity' } });
    expect(plain.status).toBe(200);
    const { url, key } = inject('hub');
    const statusOf = async (transferCoding: string) => {
      const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
      const sent = request(`${url}/v1/hubs`, {
        method: 'POST',
        headers: { ...headers, 'transfer-encoding': transferCoding },
      });
      sent.end('{"label":"x"}');
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    };
    expect([await statusOf('chunked'), await statusOf('gzip, chunked')]).toEqual([200, 415]);
    const large = await api.post('/v1/hubs', { label: 'x'.repeat(1_100_000) });
    expect([large.status, large.body.code]).toEqual([413, 'TOO_LARGE']);
  });

  it('that are far too large get an answer too, instead of a closed connection', async () => {
    const raw = JSON.stringify({ label: 'x'.repeat(10_000_000) });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => api.post('/v1/hubs', undefined, { raw })),
    );
    const told = answers.map(({ status, body, headers }) => [status, body.code, headers.get('connection')]);
    // Where it is closed, what is still on its way resets it, often before the answer is read.
    expect(told.filter(([, , connection]) => connection === 'close')).toEqual([]);
    expect(told.map(([status, code]) => [status, code])).toEqual(told.map(() => [413, 'TOO_LARGE']));
  });

  it('that are no JSON get that answer only with a key that allows the call', async () => {
    const { key } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['hubs:read'] }));
    const send = (options: object) => api.post('/v1/hubs', undefined, { raw: '{"label"', ...options });
    expect([(await send({})).status, (await send({ key })).status]).toEqual([400, 403]);
  });

  it('of what takes none may be empty, and hold nothing', async () => {
    const { hubId: asleep } = await api.ok(api.post('/v1/hubs', { label: 'asleep' }));
    for (const path of [`/v1/hubs/${asleep}/archive`, `/v1/hubs/${asleep}/unarchive`]) {
      for (const body of [undefined, {}]) expect((await api.post(path, body)).status).toBe(200);
      const { status, body } = await api.post(path, { archived: 0 });
      expect([status, body.errors]).toEqual([
        400,
        [{ pointer: '/archived', detail: 'is an unknown property' }],
      ]);
    }
    expect((await api.post(`/v1/sources/${sourceId}/test`, { connectionSettings: {} })).status).toBe(400);
  });

  it('of a DELETE may say JSON and be empty', async () => {
    const { hubId: gone } = await api.ok(api.post('/v1/hubs', { label: 'gone' }));
    const { status } = await api.delete(`/v1/hubs/${gone}`, {
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(200);
  });
});

describe('paths and methods', () => {
  it('of a route are not ids of another', async () => {
    for (const [method, path] of [
      ['GET', '/v1/queries/execute'],
      ['PUT', '/v1/queries/execute'],
      ['DELETE', '/v1/queries/check'],
    ] as const) {
      const { status, body, headers } = await api.call(method, path, method === 'PUT' ? { body: {} } : {});
      expect([status, body.code, headers.get('allow')]).toEqual([405, 'METHOD_NOT_ALLOWED', 'POST, OPTIONS']);
    }
  });

  it('that are unknown get 404 and 405', async () => {
    const path = await api.get('/v1/nothing');
    expect([path.status, path.body.code]).toEqual([404, 'NOT_FOUND']);
    const method = await api.call('PATCH', '/v1/hubs');
    expect([method.status, method.body.code]).toEqual([405, 'METHOD_NOT_ALLOWED']);
    expect(method.headers.get('allow')).toContain('POST');
    expect((await api.call('POST', `/v1/hubs/${hubId}`)).status).toBe(405);
    for (const name of ['QUERY', 'PROPFIND', 'PATCH']) {
      const answer = await api.call(name, `/v1/hubs/${hubId}/contents`);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
    for (const open of ['/healthz', '/readyz', '/openapi.json']) {
      const answer = await api.call('POST', open);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS']);
    }
    const raw = { raw: 'x', headers: { 'content-type': 'text/plain' } };
    expect((await api.post('/v1/nothing', undefined, raw)).status).toBe(404);
    const slash = await api.post('/v1/hubs/', { label: 'x' });
    expect([slash.status, slash.body.code]).toEqual([404, 'NOT_FOUND']);
  });

  it('with a switch that is neither on nor off get 400', async () => {
    const list = async (query: string) => (await api.get(`/v1/hubs?${query}`)).status;
    for (const value of ['1', 'true', '0', 'false']) expect(await list(`archived=${value}`)).toBe(200);
    for (const value of ['2', 'yes', '', '1&archived=1']) expect(await list(`archived=${value}`)).toBe(400);
    const { hubId: kept } = await api.ok(api.post('/v1/hubs', { label: 'kept' }));
    expect((await api.delete(`/v1/hubs/${kept}?recursive=yes`)).status).toBe(400);
    expect((await api.delete(`/v1/hubs/${kept}?recursive=1`)).status).toBe(200);
    expect((await api.get('/v1/queries/x?signature=on')).status).toBe(400);
  });

  it('that name a thing twice in the query get 400', async () => {
    for (const path of [
      `/v1/audit?resourceId=${hubId}&resourceId=${hubId}`,
      '/v1/audit?keyId=a&keyId=b',
      '/v1/audit?action=a&action=b',
      `/v1/sources?hubId=${hubId}&hubId=${hubId}`,
      `/v1/queries?hubId=${hubId}&hubId=${hubId}`,
    ]) {
      expect([path, (await api.get(path)).status]).toEqual([path, 400]);
    }
    const { body } = await api.get('/v1/audit?keyId=a&keyId=b');
    expect(body.errors).toEqual([{ pointer: 'query/keyId', detail: 'must be sent once' }]);
  });

  it.each(['hubs', 'sources', 'queries', 'classifiers'])(
    'with an unknown id below %s get 404',
    async (kind) => {
      for (const id of [
        'x',
        '..',
        '%00',
        'dh.hub.0',
        '😀',
        'a'.repeat(250),
        hubId.replace('.hub.', '.src.'),
      ]) {
        const { status } = await api.get(`/v1/${kind}/${encodeURIComponent(id)}`);
        expect(status).toBe(404);
      }
    },
  );
});

describe('an unknown parameter of the query string', () => {
  it.each([
    [
      'GET',
      '/v1/audit?keyid=a',
      'keyid',
      'is unknown; the parameters are offset, limit, resourceId, keyId, personId, action',
    ],
    [
      'GET',
      '/v1/classifiers/none/examples?lable=a',
      'lable',
      'is unknown; the parameters are after, limit, label',
    ],
    ['GET', '/v1/keys/current?x=1', 'x', 'is unknown; there are no parameters'],
    ['POST', '/v1/queries/check?signature=1', 'signature', 'is unknown; there are no parameters'],
    [
      'GET',
      '/v1/queries?hubId=none&ofset=1',
      'ofset',
      'is unknown; the parameters are hubId, offset, limit, state',
    ],
  ])('is refused: %s %s', async (method, path, name, detail) => {
    const { status, body } = await api.call(method, path, method === 'POST' ? { body: {} } : {});
    expect([status, body.code]).toEqual([400, 'VALIDATION']);
    expect(body.errors).toEqual([{ pointer: `query/${name}`, detail: expect.stringContaining(detail) }]);
  });

  it.each(['/v1/hubs?lable=a', '/v1/classifiers?x=1'])(
    'is ignored by a route of the reference API: %s',
    async (path) => {
      expect((await api.get(path)).status).toBe(200);
    },
  );
});
