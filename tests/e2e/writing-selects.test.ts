/** SELECT and WITH under a command that writes: they run as writes and return their rows. */

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

describe.each(engines)('on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} writing selects` })));
    sourceId = await createSource(hubId, engine);
  });
  beforeEach(() => execute({ hubId, sourceId, query: 'DELETE FROM scratch', command: 'DELETE' }));

  const store = async (query: string, change: object = {}) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...change }))).config.query
      .queryId as string;
  const run = (queryId: string, options: object = {}) =>
    api.post('/v1/queries/execute', { queryId, options });
  const select = (query: string) => execute({ hubId, sourceId, query });

  it('writes with a SELECT if the command writes, and returns its rows', async () => {
    const ids = async () => (await select('SELECT id FROM scratch')).data;
    const text =
      engine === 'postgres'
        ? "WITH w AS (INSERT INTO scratch (id, label) VALUES (1, 'x') RETURNING id) SELECT id FROM w"
        : 'SELECT write_scratch() AS id';
    const reads = await run(await store(text));
    expect([reads.body.code, reads.body.detail]).toEqual([
      'SQL_REJECTED',
      expect.stringContaining('set the command to CALL'),
    ]);
    const queryId = await store(text, { command: 'CALL' });
    const dry = await run(queryId, { dryRun: true });
    expect(dry.body).toEqual({ data: [{ id: expect.anything() }] });
    expect(await ids()).toEqual([]);
    const counted = await run(queryId, { maxAffected: 9 });
    expect([counted.status, counted.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const reader = await api.ok(api.post('/v1/keys', { name: 'reads', scopes: ['queries:execute'] }));
    const denied = await api.post('/v1/queries/execute', { queryId }, { key: reader.key });
    expect([denied.status, denied.body.code]).toEqual([403, 'SCOPE_DENIED']);
    expect((await api.get(`/v1/queries/${queryId}/data`)).status).toBe(405);
    expect(await ids()).toEqual([]);
    expect((await run(queryId)).body).toEqual(dry.body);
    expect(await ids()).toHaveLength(1);
  });

  it('runs a SELECT that writes to its end, whatever maxRows says', async () => {
    const queryId = await store('SELECT write_row(id) AS id FROM sales', { command: 'CALL' });
    const { body } = await run(queryId, { maxRows: 1 });
    expect([body.data?.length, body.truncated]).toEqual([1, true]);
    expect((await select('SELECT COUNT(*) AS n FROM scratch')).data).toEqual([{ n: 3 }]);
  });
});
