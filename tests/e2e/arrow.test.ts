import { tableFromIPC } from 'apache-arrow';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

const accept = 'application/vnd.apache.arrow.stream';
const headers = () => ({ 'x-service-api-key': inject('hub').key, accept });
const execute = (body: object) =>
  fetch(`${inject('hub').url}/v1/queries/execute`, {
    method: 'POST',
    headers: { ...headers(), 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describe.each(engines)('Arrow from %s', (engine) => {
  const ids = { sales: '', failing: '' };

  beforeAll(async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'arrow' }));
    const sourceId = await createSource(hubId, engine);
    const store = async (query: string) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }))).config.query.queryId;
    ids.sales = await store('SELECT id, region, amount FROM sales ORDER BY id');
    ids.failing = await store(
      engine === 'postgres'
        ? 'SELECT n, 1 / (n - 150000) AS x FROM generate_series(1, 200000) n'
        : 'SELECT 1 AS n, (SELECT 1 UNION SELECT 2) AS x',
    );
  });

  it('has typed columns over POST and GET', async () => {
    const post = await execute({ queryId: ids.sales });
    expect(post.headers.get('content-type')).toBe(accept);
    const posted = Buffer.from(await post.arrayBuffer());
    const json = await api.ok(api.post('/v1/queries/execute', { queryId: ids.sales }));
    const table = tableFromIPC(posted);
    expect(table.schema.fields.map(({ name, type }) => [name, String(type)])).toEqual([
      ['id', 'Int32'],
      ['region', 'Utf8'],
      ['amount', 'Decimal[18e+2]'],
    ]);
    expect([...(table.getChild('id') ?? [])]).toEqual(json.data.map(({ id }: { id: number }) => id));
    const get = await fetch(`${inject('hub').url}/v1/queries/${ids.sales}/data`, { headers: headers() });
    expect(Buffer.from(await get.arrayBuffer()).equals(posted)).toBe(true);
  });

  it('says that a limit cut the rows', async () => {
    const response = await execute({ queryId: ids.sales, options: { maxRows: 1 } });
    const stream = Buffer.from(await response.arrayBuffer());
    expect(tableFromIPC(stream).numRows).toBe(1);
    expect(stream.includes('true')).toBe(true);
  });

  it('never ends as if complete if the rows break off', async () => {
    const response = await execute({ queryId: ids.failing });
    if (response.status === 200) await expect(response.arrayBuffer()).rejects.toThrow();
    else expect(response.status).toBe(422);
  });
});
