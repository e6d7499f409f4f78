import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource } from '../support/hub.ts';

let queryId: string;
beforeAll(async () => {
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'context names' }));
  const sourceId = await createSource(hubId);
  const stored = await api.post('/v1/queries', {
    hubId,
    sourceId,
    label: 'q',
    query: 'SELECT :a AS a',
    context: [
      { key: 'a', type: 'string', value: 'x' },
      { key: 'unused', value: 1 },
    ],
  });
  ({ queryId } = (await api.ok(Promise.resolve(stored))).config.query);
});

const execute = (body: object, key?: string) =>
  api.post('/v1/queries/execute', { queryId, ...body }, key === undefined ? {} : { key });
const header = 'x-datahub-unknown-context';

describe('a context', () => {
  it('that is null is none', async () => {
    const { status, body, headers } = await execute({ context: null });
    expect([status, body, headers.get(header)]).toEqual([200, { data: [{ a: 'x' }] }, null]);
  });

  it('with names that the query does not know is answered, and they are named', async () => {
    const known = await execute({ context: { a: 'y', unused: 2 } });
    expect([known.body, known.headers.get(header)]).toEqual([{ data: [{ a: 'y' }] }, null]);
    const { status, body, headers } = await execute({ context: { A: 'y', 'b\r\n,': 1 } });
    expect([status, body, headers.get(header)]).toEqual([200, { data: [{ a: 'x' }] }, 'A,b%0D%0A%2C']);
    const many = Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`n${i}`, i]));
    expect((await execute({ context: many })).headers.get(header)).toMatch(/,n9,\+2$/);
    const page = await api.post(
      '/v1/queries/execute',
      { queryId, context: { A: 1 } },
      { headers: { origin: 'https://shop.example' } },
    );
    expect(page.headers.get('access-control-expose-headers')).toContain(header);
  });

  it('with such names is refused if the call or the key is strict', async () => {
    const { key, limits } = await api.ok(api.post('/v1/keys', { name: 'strict', limits: { strict: true } }));
    expect(limits).toEqual({ strict: true });
    for (const answer of [
      await execute({ context: { A: 'y' }, options: { strict: true } }),
      await execute({ context: { A: 'y' } }, key),
    ]) {
      expect([answer.status, answer.body.code, answer.body.errors]).toEqual([
        422,
        'CONTEXT_INVALID',
        [{ pointer: '/context/A', detail: 'is not a variable of this query' }],
      ]);
    }
    expect((await execute({ context: { a: 'y' } }, key)).status).toBe(200);
  });
});
