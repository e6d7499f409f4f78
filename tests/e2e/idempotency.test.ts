import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

const once = (key: string) => ({ headers: { 'idempotency-key': key } });

describe('a POST with an Idempotency-Key', () => {
  it('is carried out once and answered alike', async () => {
    const key = randomUUID();
    const first = await api.post('/v1/hubs', { label: 'once' }, once(key));
    const again = await api.post('/v1/hubs', { label: 'once' }, once(key));
    expect([first.status, again.status]).toEqual([200, 200]);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('etag')).toBe('"1"');
    expect(again.headers.get('cache-control')).toBe(first.headers.get('cache-control'));
    expect([first.headers.get('idempotency-replayed'), again.headers.get('idempotency-replayed')]).toEqual([
      null,
      'true',
    ]);
  });

  it('makes one thing of many at the same time', async () => {
    const key = randomUUID();
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => api.post('/v1/hubs', { label: 'many' }, once(key))),
    );
    const made = new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body.hubId));
    expect(made.size).toBe(1);
    for (const { status, body } of answers) {
      if (status !== 200) expect([status, body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    }
  });

  it('refuses another body under the same key, and takes the key on another path for another', async () => {
    const key = randomUUID();
    await api.ok(api.post('/v1/hubs', { label: 'a' }, once(key)));
    const other = await api.post('/v1/hubs', { label: 'b' }, once(key));
    expect([other.status, other.body.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    expect((await api.post('/v1/classifiers', { name: 'a' }, once(key))).status).toBe(200);
  });

  it('is the only request that accepts one; reads ignore it', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'a' }));
    for (const [method, body] of [
      ['PUT', { label: 'b' }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await api.call(method, `/v1/hubs/${hubId}`, { ...once(randomUUID()), body });
      expect([answer.status, answer.body.errors]).toMatchObject([
        400,
        [{ pointer: 'header/idempotency-key' }],
      ]);
    }
    expect((await api.ok(api.get(`/v1/hubs/${hubId}`, once('x')))).label).toBe('a');
  });

  it('is carried out once for a key and for those that replace it', async () => {
    const made = await api.ok(api.post('/v1/keys', { name: 'rotated', scopes: ['*'] }));
    const key = randomUUID();
    const create = (apiKey: string, label = 'rotated') =>
      api.post('/v1/hubs', { label }, { ...once(key), key: apiKey });
    const first = await api.ok(create(made.key));
    const next = await api.ok(api.post(`/v1/keys/${made.keyId}/rotate`));
    const last = await api.ok(api.post(`/v1/keys/${next.keyId}/rotate`));
    for (const replacing of [next.key, last.key]) {
      const { status, body } = await create(replacing);
      expect([status, body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
      expect(body.detail).toContain('the API key that yours replaced');
    }
    expect(await api.ok(create(made.key))).toEqual(first);
    // Another key is another caller.
    const other = await api.ok(api.post('/v1/keys', { name: 'other', scopes: ['*'] }));
    expect((await create(other.key)).status).toBe(200);
  });

  it('that did nothing frees its key', async () => {
    const key = randomUUID();
    const hubId = 'dh.hub.000000000000000000000000000000';
    const body = { hubId, label: 'q', sourceId: 'dh.src.0', query: 'SELECT 1' };
    expect((await api.post('/v1/queries', body, once(key))).status).toBe(404);
    expect((await api.post('/v1/queries', body, once(key))).status).toBe(404);
    expect((await api.post('/v1/queries', { ...body, label: 'r' }, once(key))).status).toBe(404);
  });

  it('never shows a secret twice, but names its key', async () => {
    const key = randomUUID();
    const made = await api.ok(api.post('/v1/keys', { name: 'once' }, once(key)));
    expect(made.key).toMatch(/^dhk_/);
    const again = await api.post('/v1/keys', { name: 'once' }, once(key));
    expect([again.status, again.body.code]).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    expect(again.text).not.toContain('dhk_');
    expect(again.body.detail).toContain(made.keyId);

    const replace = () => api.post(`/v1/keys/${made.keyId}/rotate`, {}, once(key));
    const { keyId } = await api.ok(replace());
    expect((await replace()).body.detail).toContain(keyId);
  });

  it.each(['', 'a b', 'ä', 'x'.repeat(256)])('is refused when the key is %j', async (key) => {
    const { status } = await api.post(
      '/v1/hubs',
      { label: 'x' },
      once(encodeURI(key) === key ? key : Buffer.from(key).toString('latin1')),
    );
    expect(status).toBe(400);
  });

  describe.each(engines)('executing on %s', (engine) => {
    let queryId: string;
    let hubId: string;
    let sourceId: string;

    beforeAll(async () => {
      ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'idempotent executions' })));
      sourceId = await createSource(hubId, engine);
      const query = {
        hubId,
        sourceId,
        label: 'insert',
        command: 'INSERT',
        query: 'INSERT INTO scratch (id, label) VALUES (:id, :label)',
      };
      queryId = (await api.ok(api.post('/v1/queries', query))).config.query.queryId;
    });

    it('writes once', async () => {
      const key = randomUUID();
      const id = 1_000_000 + Math.floor(Math.random() * 1e8);
      const run = () =>
        api.post('/v1/queries/execute', { queryId, context: { id, label: 'once' } }, once(key));
      const answers = [await run(), await run(), await run()];
      expect(answers.map(({ status, body }) => [status, body.data[0].affectedRows])).toEqual([
        [200, 1],
        [200, 1],
        [200, 1],
      ]);
      const clash = await api.post('/v1/queries/execute', { queryId, context: { id, label: 'once' } });
      expect([clash.status, clash.body.code]).toEqual([409, 'CONSTRAINT']);
    });

    const store = async (text: string, command?: string) => {
      const query = { hubId, sourceId, label: 'answer', query: text, command };
      return (await api.ok(api.post('/v1/queries', query))).config.query.queryId as string;
    };

    it('is not answered again to a key that has lost the query by its name', async () => {
      const [hub, path] = [`named-${randomUUID().slice(0, 8)}`, 'insert'];
      const { hubId: named } = await api.ok(api.post('/v1/hubs', { label: 'named', path: hub }));
      const at = await createSource(named, engine);
      const text = 'INSERT INTO once_named (n) VALUES (1)';
      const ddl = async (query: string, command: string) => {
        const body = { hubId: named, sourceId: at, label: 'q', query, command };
        const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
        await api.ok(api.post('/v1/queries/execute', { queryId }));
      };
      await ddl('CREATE TABLE once_named (n int)', 'CREATE');
      const body = { hubId: named, sourceId: at, label: 'q', query: text, command: 'INSERT', path };
      const { queryId: insert } = (await api.ok(api.post('/v1/queries', body))).config.query;
      const scopes = ['queries:execute', 'queries:execute:write'];
      const limits = { queries: [`${hub}/${path}`] };
      const { key } = await api.ok(api.post('/v1/keys', { name: 'named', scopes, limits }));
      const headers = { 'idempotency-key': randomUUID() };
      const run = () => api.post('/v1/queries/execute', { queryId: insert }, { headers, key });
      await api.ok(run());
      const steps = [{ queryId: insert }];
      const runAll = () => api.post('/v1/queries/transaction', { steps }, { headers, key });
      await api.ok(runAll());
      for (const again of [run, runAll])
        expect((await again()).headers.get('idempotency-replayed')).toBe('true');
      await api.ok(api.put(`/v1/queries/${insert}`, { meta: { path: 'other' } }));
      for (const again of [run, runAll])
        expect((await again()).body).toMatchObject({ status: 409, code: 'IDEMPOTENCY_CONFLICT' });
      await ddl('DROP TABLE once_named', 'DROP');
    });

    it('keeps its key if it failed without a transaction, because a part may have been made', async () => {
      const drop = await store('DROP TABLE no_such_table', 'DROP');
      const key = randomUUID();
      const run = async () => {
        const { status, body } = await api.post('/v1/queries/execute', { queryId: drop }, once(key));
        return [status, body.code];
      };
      expect(await run()).toEqual([422, 'SQL_REJECTED']);
      expect(await run()).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
    });

    it('reads each time, and keeps nothing of it', async () => {
      const key = randomUUID();
      const read = await store('SELECT :n AS n');
      const run = (n: number) =>
        api.post('/v1/queries/execute', { queryId: read, context: { n } }, once(key));
      // Another body would be refused where anything was kept of the first one.
      for (const n of [1, 1, 2]) {
        const answer = await run(n);
        expect([answer.status, Number(answer.body.data[0].n)]).toEqual([200, n]);
        expect(answer.headers.get('idempotency-replayed')).toBeNull();
      }
    });

    // MySQL has no RETURNING.
    if (engine !== 'mysql')
      it.each(['application/json', 'application/x-ndjson', 'text/csv'])(
        'answers up to 64 KiB of %s again, streamed or not, and says so of what is not kept',
        async (accept) => {
          const insert = async (rows: number) => {
            const from = 1_000_000_000 + Math.floor(Math.random() * 1e8) * 10;
            const values = Array.from({ length: rows }, (_, i) => `(${from + i}, 'x')`).join(', ');
            const returning = "RETURNING id, REPEAT('x', 100) AS filler";
            return store(`INSERT INTO scratch (id, label) VALUES ${values} ${returning}`, 'INSERT');
          };
          const run = async (of: string, key: string, options = {}) =>
            api.post(
              '/v1/queries/execute',
              { queryId: of, options },
              { headers: { accept, 'idempotency-key': key } },
            );
          const kept = randomUUID();
          const small = await insert(250);
          const first = await run(small, kept);
          expect(first.text.length).toBeGreaterThan(20_000);
          const again = await run(small, kept);
          expect([again.status, again.text === first.text]).toEqual([200, true]);
          expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
          expect(again.headers.get('idempotency-replayed')).toBe('true');

          const large = randomUUID();
          const larger = await insert(900);
          expect((await run(larger, large)).text.length).toBeGreaterThan(65_536);
          const refused = await run(larger, large);
          expect([refused.status, refused.body.detail]).toEqual([
            409,
            'The request was carried out. The answer was too large to be stored.',
          ]);

          const cut = randomUUID();
          const cutShort = await insert(250);
          await run(cutShort, cut, { maxRows: 1 });
          const { status, body } = await run(cutShort, cut, { maxRows: 1 });
          if (accept !== 'text/csv') expect(status).toBe(200);
          else expect([status, body.detail]).toEqual([409, expect.stringContaining('truncated')]);
        },
      );

    if (engine === 'postgres')
      it('frees its key when the answer broke off and nothing was done', async () => {
        const table = `late_${randomUUID().slice(0, 8)}`;
        const run = async (of: string, headers = {}) =>
          api.post('/v1/queries/execute', { queryId: of }, { headers });
        const create = `CREATE TABLE ${table} (n int UNIQUE DEFERRABLE INITIALLY DEFERRED, filler text)`;
        expect((await run(await store(create, 'CREATE'))).status).toBe(200);
        const insert = `INSERT INTO ${table} SELECT 1, REPEAT('x', 100) FROM generate_series(1, 3000) RETURNING *`;
        const twice = await store(insert, 'INSERT');
        const headers = { 'idempotency-key': randomUUID() };
        await expect(run(twice, headers)).rejects.toThrow();
        // It is freed a moment after the answer broke off.
        await vi.waitFor(() => expect(run(twice, headers)).rejects.toThrow(), 60_000);
        expect((await run(await store(`SELECT COUNT(*) AS n FROM ${table}`))).body.data).toEqual([{ n: 0 }]);
      });
  });
});
