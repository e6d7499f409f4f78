import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rawJSON } from '../../packages/contract/src/exact-json.ts';
import { api, createSource, database, engines, idShape } from '../support/hub.ts';

const engine = engines.find((one) => one === 'postgres');

const jwk = { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' };
const user = {
  ...{ issuer: 'https://id.example/', audience: 'a', claims: { customer: 'sub' } },
  jwks: { keys: [jwk] },
};

describe.skipIf(engine === undefined)('watches (need POSTGRES_URL)', () => {
  const table = `tickets_${randomBytes(4).toString('hex')}`;
  let client: pg.Client;
  let hubId: string;
  let sourceId: string;
  let queryId: string;

  beforeAll(async () => {
    const { host, port, user, password, database: name } = database('postgres');
    client = new pg.Client({ host, port: Number(port), user, password, database: name });
    await client.connect();
    await client.query(`CREATE TABLE ${table} (id bigint, title text, amount numeric, note text)`);
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'watches' })));
    sourceId = await createSource(hubId, 'postgres');
    queryId = await store(`SELECT id, title, amount, note FROM ${table} ORDER BY id`);
  });
  afterAll(async () => {
    await client.query(`DROP TABLE ${table}`);
    await client.end();
  });

  const store = async (query: string, more: object = {}): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more }))).config.query
      .queryId;
  /** It runs only when it is asked to. */
  const yearly = { cron: '0 0 1 1 *', timeZone: 'UTC' };
  const bodyOf = (more: object) => ({ hubId, queryId, label: 'w', schedule: yearly, ...more });
  const create = async (more: object, key?: string): Promise<string> =>
    (await api.ok(api.post('/v1/watches', bodyOf(more), key === undefined ? {} : { key }))).watchId;
  /** Resolves when the run that is asked for has ended. */
  const run = async (watchId: string): Promise<any> => {
    const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
    return ended(watchId, runId);
  };
  const ended = async (watchId: string, runId: string): Promise<any> => {
    await expect
      .poll(async () => (await api.get(`/v1/watches/${watchId}/runs/${runId}`)).status, {
        timeout: 30_000,
        interval: 50,
      })
      .toBe(200);
    return api.ok(api.get(`/v1/watches/${watchId}/runs/${runId}`));
  };
  const insert = (id: number | string, title = 't', amount = '1') =>
    client.query(`INSERT INTO ${table} VALUES ($1, $2, $3, 'inner')`, [id, title, amount]);
  /** All events of a watch. They are shown after 2 s. */
  const eventsOf = async (watchId: string, count: number): Promise<any[]> => {
    let found: any[] = [];
    await expect
      .poll(
        async () => {
          const { events } = await api.ok(api.get(`/v1/events?hubId=${hubId}&limit=500`));
          found = events.filter(({ data }: any) => data.watchId === watchId);
          return found.length;
        },
        { timeout: 30_000, interval: 200 },
      )
      .toBeGreaterThanOrEqual(count);
    return found;
  };

  it('tells each new row once, in the columns that leave the hub, with all digits', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1);
    const watchId = await create({ when: 'new', by: ['id'], include: ['id', 'amount'] });
    expect(watchId).toMatch(idShape('wtch'));
    expect(await run(watchId)).toMatchObject({ outcome: 'ok', rows: 1, changes: null, eventId: null });
    expect(await run(watchId)).toMatchObject({
      rows: 1,
      changes: { new: 0, changed: 0, gone: 0 },
      eventId: null,
    });
    await insert('9007199254740993', 'big', '0.12345678901234567890');
    await insert(3);
    const third = await run(watchId);
    expect(third).toMatchObject({ rows: 3, changes: { new: 2, changed: 0, gone: 0 }, hasRows: true });
    const text = (await api.get(`/v1/watches/${watchId}/runs/${third.runId}/rows`)).text;
    expect(text).toContain('9007199254740993');
    expect(text).toContain('0.12345678901234567890');
    expect(text).not.toContain('inner');
    expect(await run(watchId)).toMatchObject({ rows: 3, changes: { new: 0 }, eventId: null });
    const [event, ...others] = await eventsOf(watchId, 1);
    expect(others).toEqual([]);
    expect(event).toMatchObject({ type: 'watch.rows', hubId, eventId: third.eventId });
    expect(event.data).toMatchObject({ new: 2, rowCount: 3, runId: third.runId });
    expect(event.data.rows).toHaveLength(2);
    expect(JSON.stringify(event)).not.toContain('inner');
    const reader = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['watches:read'] }));
    const listed = await api.ok(api.get(`/v1/events?hubId=${hubId}&limit=500`, { key: reader.key }));
    const seen = listed.events.find(({ eventId }: { eventId: string }) => eventId === third.eventId);
    const { rows: _, ...withoutRows } = event.data;
    expect(seen.data).toEqual(withoutRows);
  });

  it('tells rows that changed, and rows that are gone with their last values', async () => {
    await client.query(`DELETE FROM ${table}`);
    for (const id of [1, 2, 3]) await insert(id, `title ${id}`);
    const changed = await create({ when: 'changed', by: ['id'], include: ['title'] });
    const gone = await create({ when: 'gone', by: ['id'], include: ['title'] });
    await run(changed);
    await run(gone);
    await client.query(`UPDATE ${table} SET title = 'other' WHERE id = 2`);
    await client.query(`DELETE FROM ${table} WHERE id = 3`);
    const rowsOf = async (watchId: string) => {
      const { runId, changes } = await run(watchId);
      return [changes, (await api.ok(api.get(`/v1/watches/${watchId}/runs/${runId}/rows`))).data];
    };
    const changes = { new: 0, changed: 1, gone: 1 };
    expect(await rowsOf(changed)).toEqual([changes, [{ title: 'other' }]]);
    expect(await rowsOf(gone)).toEqual([changes, [{ title: 'title 3' }]]);
  });

  it('tells nothing because its query was published with another text, and tells rows after that', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1);
    const watched = await store(`SELECT id, title FROM ${table}`);
    const watchId = await create({ when: 'new', by: ['id'], queryId: watched });
    const publish = (change: object) => api.ok(api.put(`/v1/queries/${watched}`, change));
    await run(watchId);
    await publish({ config: { query: { query: `SELECT 'EUR' || id AS id, title FROM ${table}` } } });
    expect(await run(watchId)).toMatchObject({ outcome: 'ok', changes: null, eventId: null });
    await insert(2);
    await publish({ meta: { label: 'Another label' } });
    expect(await run(watchId)).toMatchObject({ changes: { new: 1, gone: 0 } });
  });

  it('says once that a condition is met, and once that it is not', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1, 't', '10');
    const when = { column: 'amount', is: '>', value: 9.5, forRuns: 2 };
    const watchId = await create({ when });
    expect((await api.ok(api.get(`/v1/watches/${watchId}`))).state).toBe('unknown');
    expect((await run(watchId)).eventId).toBeNull();
    expect((await run(watchId)).eventId).not.toBeNull();
    expect((await run(watchId)).eventId).toBeNull();
    expect((await api.ok(api.get(`/v1/watches/${watchId}`))).state).toBe('firing');
    await client.query(`UPDATE ${table} SET amount = 9.5`);
    expect((await run(watchId)).eventId).not.toBeNull();
    expect((await run(watchId)).eventId).toBeNull();
    const told = await eventsOf(watchId, 2);
    expect(told.map(({ type }) => type)).toEqual(['watch.firing', 'watch.resolved']);
  });

  it('shows no rows of any event to a key that may not execute queries', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1);
    const to = { label: 'd', url: 'http://127.0.0.1:1/', hubIds: [hubId] };
    const { destinationId } = await api.ok(api.post('/v1/destinations', to));
    const condition = { column: 'id', is: '=', value: 1 };
    const { key, keyId } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['watches:read'] }));
    for (const when of [condition, 'always']) {
      const watchId = await create({ when, include: ['title'], to: [destinationId] });
      const { eventId } = await run(watchId);
      const [{ data }] = (await eventsOf(watchId, 1)) as [any];
      expect(data.rows).toEqual([{ title: 't' }]);
      const { events } = await api.ok(api.get(`/v1/events?hubId=${hubId}&limit=500`, { key }));
      const { rows: _, ...withoutRows } = data;
      expect(events.find((one: any) => one.eventId === eventId).data).toEqual(withoutRows);
    }
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    await api.ok(api.delete(`/v1/destinations/${destinationId}`));
  });

  it('compares numbers with all their digits, and shows the value as it was written', async () => {
    const long = await store('SELECT 9007199254740993 AS v');
    const isMet = async (is: string, digits: string) => {
      const when = { column: 'v', is, value: rawJSON(digits) };
      return (await api.ok(api.post('/v1/watches/try', { ...bodyOf({ when }), queryId: long }))).isMet;
    };
    expect(await isMet('=', '9007199254740993')).toBe(true);
    expect(await isMet('>', '9007199254740993')).toBe(false);
    const watchId = await create({ when: { column: 'v', is: '>', value: rawJSON('9007199254740993') } });
    expect((await api.get(`/v1/watches/${watchId}`)).text).toContain('"value":9007199254740993');
  });

  it('says once that a run failed, keeps what it knew, and says why in the run alone', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1, 'twice');
    const watchId = await create({ when: 'new', by: ['title'] });
    await run(watchId);
    await insert(2, 'twice');
    const failed = await run(watchId);
    expect(failed).toMatchObject({ outcome: 'failed', code: 'KEY_NOT_UNIQUE' });
    expect(failed.detail).toContain('title');
    expect(await run(watchId)).toMatchObject({ outcome: 'failed', eventId: null });
    await client.query(`UPDATE ${table} SET title = 'other' WHERE id = 2`);
    expect(await run(watchId)).toMatchObject({ outcome: 'ok', changes: { new: 1 } });
    const told = await eventsOf(watchId, 2);
    expect(told.map(({ type }) => type)).toEqual(['watch.failed', 'watch.rows']);
    expect(told[0].data).toMatchObject({ code: 'KEY_NOT_UNIQUE' });
    expect(told[0].data.detail).toBeUndefined();
    const { events, after } = await api.ok(api.get(`/v1/events?hubId=${hubId}&newest=1&limit=2`));
    expect(events.map(({ eventId }: any) => eventId)).toEqual([told[1].eventId, told[0].eventId]);
    expect(after).toBe(told[1].eventId);
    expect((await api.get(`/v1/events?newest=1&after=${after}`)).status).toBe(400);
    const { body } = await api.get('/v1/events?after=null');
    expect(body).toMatchObject({ code: 'VALIDATION', errors: [{ pointer: 'query/after' }] });
    // Events are removed because of their age.
    const removed = after.replace(/.{30}$/, '0'.repeat(30));
    const all = await api.ok(api.get(`/v1/events?hubId=${hubId}&after=${removed}`));
    expect(all.events.map(({ eventId }: any) => eventId)).toContain(told[0].eventId);
  });

  it('runs by its schedule, with one record for each tick', async () => {
    const watchId = await create({ when: 'always', schedule: { everyS: 10 } });
    const runs = () => api.ok(api.get(`/v1/watches/${watchId}/runs`));
    await expect.poll(async () => (await runs()).length, { timeout: 40_000, interval: 500 }).toBe(1);
    const [first] = await runs();
    expect(first).toMatchObject({ outcome: 'ok', manual: false, ticks: 1 });
    expect(Date.parse(first.dueAt) % 10_000).toBe(0);
    await api.ok(
      api.put(`/v1/watches/${watchId}`, { ...bodyOf({ when: 'always' }), hubId: undefined, paused: true }),
    );
    expect(await api.ok(api.get(`/v1/watches/${watchId}`))).toMatchObject({ paused: true, nextAt: null });
  });

  it('runs a query that writes', async () => {
    await client.query(`DELETE FROM ${table}`);
    const writing = await store(`INSERT INTO ${table} (id) VALUES (:id)`, {
      command: 'INSERT',
      context: [{ key: 'id', type: 'number' }],
    });
    const watchId = await create({ queryId: writing, when: 'always', context: { id: 7 } });
    expect(await run(watchId)).toMatchObject({ outcome: 'ok' });
    const { rows } = await client.query(`SELECT id FROM ${table}`);
    expect(rows).toEqual([{ id: '7' }]);
    const refused = await api.post('/v1/watches', bodyOf({ queryId: writing, when: 'new' }));
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, '/when']);
    const tried = await api.ok(
      api.post('/v1/watches/try', bodyOf({ queryId: writing, when: 'always', context: { id: 8 } })),
    );
    expect(tried.outcome).toBe('ok');
    const emptying = await store(`TRUNCATE ${table}`, { command: 'TRUNCATE' });
    const untried = await api.post('/v1/watches/try', bodyOf({ queryId: emptying, when: 'always' }));
    expect([untried.status, untried.body.code]).toEqual([422, 'OPTION_REFUSED']);
    expect(untried.body.detail).toMatch(/^The watch cannot be tried/);
    expect((await client.query(`SELECT id FROM ${table}`)).rows).toEqual([{ id: '7' }]);
  });

  it('does not say of a write that it failed if its rows cannot be told', async () => {
    await client.query(`DELETE FROM ${table}`);
    const writing = await store(`INSERT INTO ${table} (id) SELECT generate_series(1, 20) RETURNING id`, {
      command: 'INSERT',
    });
    const limits = { maxRows: 5 };
    const cut = await api.ok(api.post('/v1/keys', { name: 'cut', scopes: ['*'], limits }));
    const body = { queryId: writing, when: 'always' };
    const faults = [
      { code: 'RESULT_TRUNCATED', watchId: await create(body, cut.key) },
      { code: 'VALIDATION', watchId: await create({ ...body, include: ['nope'] }) },
    ];
    for (const { code, watchId } of faults) {
      await client.query(`DELETE FROM ${table}`);
      const { outcome, detail, ...ran } = await run(watchId);
      expect([ran.code, outcome, detail]).toEqual([
        code,
        'unknown',
        expect.stringMatching(/^The query has written/),
      ]);
      expect((await client.query(`SELECT count(*)::int AS n FROM ${table}`)).rows).toEqual([{ n: 20 }]);
    }
    await api.ok(api.delete(`/v1/keys/${cut.keyId}`));
  });

  it('tries a watch that is not stored', async () => {
    await client.query(`DELETE FROM ${table}`);
    await insert(1, 't', '10');
    const when = { column: 'amount', is: '>=', value: 10 };
    const tried = await api.ok(api.post('/v1/watches/try', bodyOf({ when, include: ['id'] })));
    expect(tried).toMatchObject({ outcome: 'ok', rows: 1, isMet: true, told: [{ id: 1 }], baseline: false });
    const missing = await api.ok(api.post('/v1/watches/try', bodyOf({ when: { ...when, column: 'nope' } })));
    expect(missing).toMatchObject({
      outcome: 'failed',
      code: 'VALIDATION',
      detail: 'The rows have no column nope.',
    });
  });

  it('pauses with an event when its key is revoked, and goes on for whoever writes it next', async () => {
    const { keyId, key } = await api.ok(
      api.post('/v1/keys', { name: 'maker', scopes: ['watches:write', 'queries:execute'] }),
    );
    const watchId = await create({ when: 'always' }, key);
    await api.ok(api.delete(`/v1/keys/${keyId}`));
    const paused = await api.ok(api.get(`/v1/watches/${watchId}`));
    expect(paused).toMatchObject({ paused: true, nextAt: null, keyId });
    expect(paused.pausedBecause).toContain('revoked');
    expect((await api.post(`/v1/watches/${watchId}/run`)).status).toBe(409);
    const [event] = await eventsOf(watchId, 1);
    expect(event).toMatchObject({ type: 'watch.paused', data: { code: 'KEY_INVALID' } });
    await api.ok(
      api.put(`/v1/watches/${watchId}`, { label: 'w', queryId, schedule: yearly, when: 'always' }),
    );
    expect(await run(watchId)).toMatchObject({ outcome: 'ok' });
  });

  it('pauses when its key loses the hub, and follows a key that is replaced', async () => {
    const other = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const maker = await api.ok(
      api.post('/v1/keys', { name: 'maker', scopes: ['watches:write', 'queries:execute'] }),
    );
    const watchId = await create({ when: 'always' }, maker.key);
    const next = await api.ok(api.post(`/v1/keys/${maker.keyId}/rotate`, { overlapSeconds: 0 }));
    expect((await api.ok(api.get(`/v1/watches/${watchId}`))).keyId).toBe(next.keyId);
    expect(await run(watchId)).toMatchObject({ outcome: 'ok' });
    await api.ok(api.put(`/v1/keys/${next.keyId}`, { limits: { hubIds: [other.hubId] } }));
    expect(await api.ok(api.get(`/v1/watches/${watchId}`))).toMatchObject({ paused: true });
    await api.ok(api.delete(`/v1/keys/${next.keyId}`));
  });

  it('pauses within five seconds when its key may do less, and cancels what runs', async () => {
    const slow = await store('SELECT pg_sleep(60)');
    const scopes = ['watches:write', 'queries:execute'];
    const other = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const losses = [{ queryIds: [slow] }, { context: { a: 1 } }, { hubIds: [other.hubId] }];
    await Promise.all(
      losses.map(async (limits) => {
        const maker = await api.ok(api.post('/v1/keys', { name: 'maker', scopes }));
        const watchId = await create({ when: 'always', queryId: slow }, maker.key);
        const { runId } = await api.ok(api.post(`/v1/watches/${watchId}/run`));
        const isRunning = async () => (await api.ok(api.get(`/v1/watches/${watchId}`))).running;
        await expect.poll(isRunning, { interval: 100 }).toBe(true);
        await api.ok(api.put(`/v1/keys/${maker.keyId}`, { limits }));
        expect(await api.ok(api.get(`/v1/watches/${watchId}`))).toMatchObject({ paused: true, nextAt: null });
        // The statement would take a minute. An executor may refuse it before the run is stopped.
        const { outcome, durationMs } = await ended(watchId, runId);
        expect([limits, durationMs < 50_000, outcome]).toEqual([limits, true, 'skipped']);
        const [event] = await eventsOf(watchId, 1);
        expect(event).toMatchObject({ type: 'watch.paused', data: { code: 'SCOPE_DENIED' } });
        await api.ok(api.delete(`/v1/keys/${maker.keyId}`));
      }),
    );
  });

  it('is not made, run or tried by a key with limits that it could not keep', async () => {
    const watchId = await create({ when: 'always' });
    for (const limits of [{ queryIds: [queryId] }, { context: { a: 1 } }]) {
      const { key, keyId } = await api.ok(api.post('/v1/keys', { name: 'k', scopes: ['*'], limits }));
      const asked = [
        api.post('/v1/watches', bodyOf({ when: 'always' }), { key }),
        api.post('/v1/watches/try', bodyOf({ when: 'always' }), { key }),
        api.post(`/v1/watches/${watchId}/run`, {}, { key }),
        api.put(`/v1/watches/${watchId}`, { ...bodyOf({ when: 'always' }), hubId: undefined }, { key }),
        api.delete(`/v1/watches/${watchId}`, { key }),
        api.get(`/v1/events?hubId=${hubId}`, { key }),
      ];
      const statuses = (await Promise.all(asked)).map(({ status }) => status);
      expect([limits, statuses]).toEqual([limits, Array(6).fill(403)]);
      await api.ok(api.delete(`/v1/keys/${keyId}`));
    }
    // A key for signed-in users cannot have the scope.
    const forUsers = { scopes: ['watches:write', 'queries:execute'], limits: { user, queryIds: [queryId] } };
    const refused = await api.post('/v1/keys', { name: 'k', ...forUsers });
    expect([refused.status, refused.body.errors?.[0]?.pointer]).toEqual([400, '/limits/user']);
  });

  it('names each fault', async () => {
    const faults = async (more: object) => {
      const { status, body } = await api.post('/v1/watches', bodyOf(more));
      return [status, body.errors?.map(({ pointer }: any) => pointer)];
    };
    expect(await faults({ when: 'often', schedule: { cron: '0 0 30 2 *', timeZone: 'Mars' } })).toEqual([
      400,
      ['/when', '/schedule/cron', '/schedule/timeZone'],
    ]);
    expect(await faults({ when: 'changed', schedule: {} })).toEqual([400, ['/schedule', '/by']]);
    expect(await faults({ when: 'always', schedule: { everyS: 9 } })).toEqual([400, ['/schedule/everyS']]);
    const secret = await store('SELECT :a AS a', { context: [{ key: 'a', secret: true }] });
    expect(await faults({ queryId: secret, when: 'always', context: { a: 'x' } })).toEqual([
      400,
      ['/context/a'],
    ]);
    const path = `w-${randomBytes(3).toString('hex')}`;
    await create({ when: 'always', path });
    expect((await api.post('/v1/watches', bodyOf({ when: 'always', path }))).body.code).toBe('PATH_TAKEN');
  });
});
