import { Ajv2020 } from 'ajv/dist/2020.js';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, database, engines } from '../support/hub.ts';

interface Listed {
  name: string;
  queryId: string;
  reads: boolean;
  knowsVariables: boolean;
  context: string;
  row: string;
}

let hubId: string;
let sourceId: string;
const ids: Record<string, string> = {};
const engine = engines[0] as string;

const store = async (label: string, query: string, change: object = {}) => {
  const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query, ...change }));
  ids[label] = stored.config.query.queryId;
};

const read = async (options?: Parameters<typeof api.get>[1], of = hubId) =>
  api.ok(api.get(`/v1/hubs/${of}/openapi.json`, options));
const listed = (document: any, label: string): Listed =>
  document['x-datahub-queries'].find(({ queryId }: Listed) => queryId === ids[label]);
const resolve = (document: any, ref: string) => document.components.schemas[ref.split('/').at(-1) as string];

it('names the address of the hub', async () => {
  expect((await read()).servers).toEqual([{ url: 'https://hub.example' }]);
});

beforeAll(async () => {
  ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'Documented' })));
  sourceId = await createSource(hubId);
  await store(
    'By region',
    'SELECT id, region FROM sales WHERE region = :region AND id IN (:ids) ORDER BY id',
    {
      context: [
        { key: 'region', type: 'string', required: true, description: 'of the sale' },
        { key: 'ids', type: 'bigint[]', value: [1, 2, 3] },
      ],
    },
  );
  await store('By region', 'SELECT region, count(*) AS n FROM sales WHERE region = :region GROUP BY region');
  await store('add', 'INSERT INTO scratch (id, label) VALUES (:id, :label)', {
    command: 'INSERT',
    context: [{ key: 'id', type: 'integer' }],
  });
  await store('*/ evil(); /* <b>', 'SELECT 1 AS one');
  await store('broken', 'SELECT no_such_column FROM sales');
});

describe('GET /v1/hubs/:hubId/openapi.json', () => {
  it('describes each query over GET, and all of them in one operation', async () => {
    const document = await read();
    expect(document).toMatchObject({ openapi: '3.1.0', info: { title: 'Documented' } });
    const names = document['x-datahub-queries'].map(({ name }: Listed) => name);
    expect(names).toEqual(['byRegion', 'byRegion2', 'add', 'evilB', 'broken']);
    const reading = Object.keys(document.paths).filter((path) => path.endsWith('/data'));
    expect(reading).toHaveLength(4);
    expect(document.paths[`/v1/queries/${ids.add}/data`]).toBeUndefined();
    const { post } = document.paths['/v1/queries/execute'];
    expect(post.requestBody.content['application/json'].schema.oneOf).toHaveLength(5);
    const operations = Object.values<any>(document.paths).flatMap((path) => Object.values<any>(path));
    const operationIds = operations.map(({ operationId }) => operationId);
    expect(new Set(operationIds).size).toBe(operationIds.length);
  });

  it('has variables with their declared types, and marks required ones', async () => {
    const document = await read();
    const operations = Object.values<any>(document.paths);
    const { parameters } = operations.find(({ get }) => get?.operationId === 'byRegion').get;
    expect(parameters.slice(0, 2)).toMatchObject([
      { name: 'region', in: 'query', required: true, description: 'of the sale', schema: { type: 'string' } },
      { name: 'ids', in: 'query', required: false, schema: { type: 'array', items: { format: 'int64' } } },
    ]);
    const query = document['x-datahub-queries'].find(({ name }: Listed) => name === 'byRegion');
    expect(resolve(document, query.context)).toMatchObject({
      properties: { region: { type: 'string' }, ids: { type: ['array', 'null'], default: [1, 2, 3] } },
      required: ['region'],
    });
    const { row } = document['x-datahub-queries'].find(({ name }: Listed) => name === 'byRegion2');
    expect(Object.keys(resolve(document, row).properties)).toEqual(['region', 'n']);
    expect(resolve(document, row).required).toEqual(['region', 'n']);
    // A text with `numbers: "string"`.
    expect(resolve(document, listed(document, 'add').row)).toMatchObject({
      properties: { affectedRows: { type: ['integer', 'string'] } },
      required: ['affectedRows'],
    });
  });

  it('uses the declarations of a query that its source rejects', async () => {
    const document = await read();
    expect(listed(document, 'broken')).toMatchObject({ knowsVariables: false });
    expect(resolve(document, listed(document, 'broken').row)).toEqual({ type: 'object' });
    expect(document.paths[`/v1/queries/${ids.broken}/data`].get.description).toContain('SQL_REJECTED');
  });

  it('describes real answers', async () => {
    const document = await read();
    const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
    ajv.addSchema({ $id: 'hub', components: document.components });
    const names = Object.keys(document.components.schemas);
    const validators = new Map(
      names.map((name) => [name, ajv.compile({ $ref: `hub#/components/schemas/${name}` })]),
    );
    const expectValid = (ref: string, body: unknown) => {
      const validate = validators.get(ref.split('/').at(-1) as string);
      expect([validate?.(body), ajv.errorsText(validate?.errors)]).toEqual([true, 'No errors']);
    };
    const values: Record<string, object> = {
      byRegion: { region: 'north', ids: [1, '2'] },
      byRegion2: { region: 'north' },
      add: { id: 901, label: 'x' },
      evilB: {},
    };
    const { examples } = document.paths['/v1/queries/execute'].post.requestBody.content['application/json'];
    expect(examples.byRegion).toMatchObject({ summary: 'By region', value: { context: { region: 'text' } } });
    for (const { name, queryId, reads, context } of document['x-datahub-queries'] as Listed[]) {
      if (values[name] === undefined) continue;
      expectValid(context, values[name]);
      expectValid(context.replace('_Context', '_Execution'), examples[name].value);
      expectValid(context.replace('_Context', '_Execution'), { queryId, context: values[name] });
      const result = context.replace('_Context', '_Result');
      const body = { queryId, context: values[name], options: { meta: true } };
      expectValid(result, await api.ok(api.post('/v1/queries/execute', body)));
      if (!reads) continue;
      const form = new URLSearchParams();
      for (const [key, value] of Object.entries(values[name]))
        for (const one of [value].flat()) form.append(key, String(one));
      expectValid(result, await api.ok(api.get(`/v1/queries/${queryId}/data?${form}`)));
    }
    expectValid('Problem', (await api.get(`/v1/queries/${ids.broken}/data`)).body);
    expect(validators.get('byRegion_Context')?.({ ids: [1] })).toBe(false);
    const withoutContext = (name: string) => ({ queryId: examples[name].value.queryId, context: null });
    expectValid('evilB_Execution', withoutContext('evilB'));
    await api.ok(api.post('/v1/queries/execute', withoutContext('evilB')));
    expect(validators.get('byRegion_Execution')?.(withoutContext('byRegion'))).toBe(false);
    expect((await api.post('/v1/queries/execute', withoutContext('byRegion'))).status).toBe(422);
  });

  it('has neither credentials nor the texts of queries', async () => {
    const { text } = await api.get(`/v1/hubs/${hubId}/openapi.json`);
    const { password, host } = database(engine);
    for (const secret of ['INSERT INTO', 'FROM sales', password, host].filter((one) => one.length > 3)) {
      expect(text).not.toContain(secret);
    }
  });

  it('leaves out pinned variables, and queries that the key may not use', async () => {
    const limits = { queryIds: [ids.add], context: { label: 'pinned' } };
    const scopes = ['queries:read', 'queries:execute', 'queries:execute:write'];
    const { key } = await api.ok(api.post('/v1/keys', { name: 'narrow', scopes, limits }));
    const document = await read({ key });
    expect(document['x-datahub-queries']).toHaveLength(1);
    expect(JSON.stringify(document)).not.toMatch(/pinned|"label":\{|byRegion/);
    expect(Object.keys(resolve(document, listed(document, 'add').context).properties)).toEqual(['id']);
  });

  it('needs a key that may read the queries of the hub', async () => {
    const path = `/v1/hubs/${hubId}/openapi.json`;
    const { key } = await api.ok(api.post('/v1/keys', { name: 'runs', scopes: ['queries:execute'] }));
    expect((await api.get(path, { key })).status).toBe(403);
    expect((await api.get(path, { key: null })).status).toBe(401);
    expect((await api.get(path, { key: inject('hub').otherKey })).status).toBe(404);
  });

  it('has an ETag, and pages', async () => {
    const path = `/v1/hubs/${hubId}/openapi.json`;
    const { headers } = await api.get(path);
    const etag = headers.get('etag') ?? '';
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('vary')).toContain('x-service-api-key');
    const again = await api.get(path, { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    const page = await api.get(`${path}?offset=1&limit=2`);
    expect(page.body['x-datahub-queries'].map(({ name }: Listed) => name)).toEqual(['byRegion', 'add']);
    expect(page.body.info.description).toContain('2 further queries');
    expect(page.headers.get('x-total-count')).toBe('5');
    await api.ok(api.put(`/v1/queries/${ids.add}`, { meta: { label: 'insert' } }));
    expect((await api.get(path, { headers: { 'if-none-match': etag } })).status).toBe(200);
    await api.ok(api.put(`/v1/queries/${ids.add}`, { meta: { label: 'add' } }));
  });

  it('of a hub without queries has no operation', async () => {
    const empty = await api.ok(api.post('/v1/hubs', { label: 'empty' }));
    expect(await read({}, empty.hubId)).toMatchObject({ paths: {}, 'x-datahub-queries': [] });
  });
});
