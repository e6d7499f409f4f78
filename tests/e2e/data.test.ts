import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

const context = [
  { key: 'region', type: 'string' },
  { key: 'ids', type: 'bigint[]', value: [7] },
  { key: 'price', type: 'decimal', value: 1.5 },
  { key: 'open', type: 'boolean', value: true },
];

describe.each(engines.filter((engine) => engine !== 'mongodb'))('GET …/data on %s', (engine) => {
  let hubId: string;
  let sourceId: string;
  let queryId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'data' })));
    sourceId = await createSource(hubId, engine);
    const query =
      'SELECT :region AS region, 9 AS nine, :price AS price, :open AS open WHERE 9007199254740993 IN (:ids) OR 7 IN (:ids)';
    queryId = await store({ query, context });
  });

  const store = async (body: object): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', ...body }))).config.query.queryId;
  const read = (search = '', options: object = {}) =>
    api.get(`/v1/queries/${queryId}/data${search}`, options);
  const executed = (body: object, headers = {}) =>
    api.post('/v1/queries/execute', { queryId, ...body }, { headers });

  it('returns the same bytes as POST, in every format', async () => {
    for (const accept of ['application/json', 'application/x-ndjson', 'text/csv']) {
      const headers = { accept };
      const got = await read('?region=n%26o+r%C3%A4&ids=9007199254740993&ids=2&price=0.50&open=false', {
        headers,
      });
      const posted = await executed(
        { context: { region: 'n&o rä', ids: ['9007199254740993', 2], price: '0.50', open: false } },
        headers,
      );
      expect([got.status, got.text]).toEqual([200, posted.text]);
      expect(got.text).toContain('n&o rä');
      expect(got.headers.get('content-type')).toBe(posted.headers.get('content-type'));
      expect(got.headers.get('referrer-policy')).toBe('no-referrer');
      expect(got.headers.get('cache-control')).toBe('no-store');
      expect(got.headers.get('vary')).toContain('accept');
      expect(got.headers.get('etag')).toBeNull();
    }
  });

  it('accepts a list with one value, and options', async () => {
    expect((await read('?region=x&ids=9007199254740993')).body.data).toHaveLength(1);
    expect((await read('?region=x&ids=1')).body.data).toHaveLength(0);
    const { body } = await read('?region=x&options.maxRows=0&options.meta=1&options.numbers=string');
    expect((await read('?region=x&options.numbers=long')).body.errors[0].detail).toBe(
      'must be one of auto, string, number',
    );
    expect(body).toMatchObject({ data: [], truncated: true, meta: { rowCount: 0 } });
  });

  it('says how the rows ended, if asked, also from the cache', async () => {
    const many = await store({
      query: "SELECT 'a long text that is compressed, a long text' AS a",
      cache: { maxAgeS: 60 },
    });
    const headers = { accept: 'application/x-ndjson', 'accept-encoding': 'br' };
    const path = `/v1/queries/${many}/data`;
    const { text: plain, headers: plainHeaders } = await api.get(path, { headers });
    const condition = { 'if-none-match': plainHeaders.get('etag') as string };
    for (const more of [{}, {}, condition]) {
      const {
        status,
        text,
        headers: got,
      } = await api.get(`${path}?options.ending=1`, {
        headers: { ...headers, ...more },
      });
      expect([status, text, got.get('etag')]).toEqual([200, `${plain}\x1e{}\n`, null]);
    }
  });

  it.each([
    ['?region=x&regoin=y', 'query/regoin', 'is not a variable of this query'],
    ['?region=x&region=y', 'query/region', 'must be sent once, because it is not declared as a list'],
    ['?region=x&options.maxRows=-1', 'query/options.maxRows', 'must be a whole number from 0 to 4294967295'],
    ['?region=%ff', 'query', 'must be UTF-8 in valid percent-encoding'],
  ])('refuses %s', async (search, pointer, detail) => {
    const { status, body, headers } = await read(search);
    expect([status, body.code, body.errors]).toEqual([400, 'VALIDATION', [{ pointer, detail }]]);
    expect(body.instance).toBe(`/v1/queries/${queryId}/data`);
    expect(headers.get('referrer-policy')).toBe('no-referrer');
  });

  it('uses the defaults for the empty fields of a form, except those of texts', async () => {
    expect((await read('?region=&ids=&price=&open=&submit=')).body.code).toBe('VALIDATION');
    const { data } = (await read('?region=&ids=&price=&open=')).body;
    expect(data).toEqual((await executed({ context: { region: '' } })).body.data);
    expect(data).toMatchObject([{ region: '', price: 1.5 }]);
  });

  it('accepts every maxRows up to the largest', async () => {
    for (const maxRows of [2_147_483_646, 2_147_483_647, 2_147_483_648, 4_294_967_295]) {
      const { status, body } = await read(`?region=x&options.maxRows=${maxRows}`);
      expect([status, body.data?.length]).toEqual([200, 1]);
    }
  });

  it('lists the variables of the query', async () => {
    expect((await read('?region=x&nope=y')).body.detail).toContain(
      'The query takes region, price, open, ids.',
    );
  });

  it('refuses a value of the wrong type and a missing one as POST does, without repeating it', async () => {
    const { status, body, text } = await read('?region=x&ids=1&ids=secret7');
    expect([status, body.code]).toEqual([422, 'CONTEXT_INVALID']);
    expect(body.errors[0].pointer).toBe('query/ids');
    expect(text).not.toContain('secret7');
    expect((await read()).body.errors).toEqual([{ pointer: 'query/region', detail: 'is missing' }]);
  });

  it('accepts a pinned name, overrides it, and never lists it', async () => {
    const { key } = await api.ok(
      api.post('/v1/keys', { name: 'pinned', limits: { context: { region: 'mine' } } }),
    );
    const { body } = await read('?region=theirs&region=again', { key });
    expect(body.data[0].region).toBe('mine');
    const unknown = await read('?nope=1', { key });
    expect(unknown.status).toBe(400);
    expect(unknown.text).not.toContain('region');
  });

  it('refuses a query that writes after ownership and scope, and HEAD does too', async () => {
    const writing = await store({ query: 'DELETE FROM no_such_table', command: 'DELETE' });
    for (const method of ['GET', 'HEAD']) {
      const { status, headers } = await api.call(method, `/v1/queries/${writing}/data?a=1`);
      expect([status, headers.get('allow')]).toEqual([405, '']);
    }
    const { key } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['queries:read'] }));
    const refused = await api.get(`/v1/queries/${writing}/data`, { key });
    expect([refused.status, refused.body.code]).toEqual([403, 'SCOPE_DENIED']);
    const other = await api.get(`/v1/queries/${writing}/data`, { key: inject('hub').otherKey });
    expect(other.status).toBe(404);
    const { key: executes } = await api.ok(api.post('/v1/keys', { name: 'executes' }));
    expect((await api.get(`/v1/queries/${writing}/data`, { key: executes })).status).toBe(405);
    expect((await read('?region=x', { key: executes })).status).toBe(200);
  });

  it('checks HEAD and runs nothing', async () => {
    const failing = await store({ query: 'SELECT n FROM no_such_table WHERE n = :n' });
    const head = await api.call('HEAD', `/v1/queries/${failing}/data?n=1`, {
      headers: { accept: 'text/csv' },
    });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers.get('content-type')).toContain('text/csv');
    for (const name of ['etag', 'content-length', 'server-timing']) expect(head.headers.get(name)).toBeNull();
    expect((await api.get(`/v1/queries/${failing}/data?n=1`)).status).toBe(422);
    expect((await api.call('HEAD', `/v1/queries/${failing}/data?m=1`)).status).toBe(400);
    const { key } = await api.ok(
      api.post('/v1/keys', { name: 'of another', limits: { queryIds: [failing] } }),
    );
    expect((await api.call('HEAD', `/v1/queries/${queryId}/data?region=x`, { key })).status).toBe(403);
  });

  it('is counted as an execution, and so is HEAD', async () => {
    const counted = await store({ query: 'SELECT 1 AS one' });
    await api.ok(api.get(`/v1/queries/${counted}/data`));
    await api.call('HEAD', `/v1/queries/${counted}/data`);
    const count = async () =>
      (await api.ok(api.get(`/v1/audit?resourceId=${counted}&action=query.execute`)))[0]?.count;
    await expect.poll(count, { timeout: 60_000, interval: 250 }).toBe(2);
  });

  it('accepts a key for the hub’s own origin in same-origin GETs, which have no Origin', async () => {
    const keyFor = async (origin: string) =>
      (await api.ok(api.post('/v1/keys', { name: 'page', limits: { origins: [origin] } }))).key;
    const [own, other] = [await keyFor('https://hub.example'), await keyFor('https://shop.example')];
    const from = async (key: string, headers: Record<string, string>) =>
      (await read('?region=x', { key, headers })).status;
    const sameOrigin = { 'sec-fetch-site': 'same-origin' };
    expect(await from(own, sameOrigin)).toBe(200);
    expect(await from(own, { 'sec-fetch-site': 'same-site' })).toBe(403);
    expect(await from(own, {})).toBe(403);
    expect(await from(own, { ...sameOrigin, origin: 'https://shop.example' })).toBe(403);
    expect(await from(other, sameOrigin)).toBe(403);
    const posted = await api.post('/v1/queries/execute', { queryId }, { key: own, headers: sameOrigin });
    expect(posted.status).toBe(403);
  });

  it('reports its times', async () => {
    const shape = /^queue;dur=[\d.e-]+, connect;dur=[\d.e-]+, db;dur=[\d.e-]+, total;dur=[\d.e-]+$/;
    expect((await read('?region=x')).headers.get('server-timing')).toMatch(shape);
    expect((await executed({ context: { region: 'x' } })).headers.get('server-timing')).toMatch(shape);
    expect((await executed({})).headers.get('server-timing')).toBeNull();
  });
});
