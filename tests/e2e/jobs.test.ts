import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { apiOf, createSource, database, engines, sourceBody } from '../support/hub.ts';

const api = apiOf(inject('hub').jobsKey);
const engine = engines.find((one) => one === 'postgres');

describe.skipIf(engine === undefined)('training from a query (needs POSTGRES_URL)', () => {
  const table = `mails_${randomBytes(4).toString('hex')}`;
  const columns = { text: 'body', label: 'topic', id: 'id' };
  let client: pg.Client;
  let hubId: string;
  let sourceId: string;
  let queryId: string;

  beforeAll(async () => {
    const { host, port, user, password, database: name } = database('postgres');
    client = new pg.Client({ host, port: Number(port), user, password, database: name });
    await client.connect();
    await client.query(`CREATE TABLE ${table} (id text, topic text, body text)`);
    await client.query(
      `INSERT INTO ${table} SELECT n, 'topic ' || n % 3, 'word' || n % 3 || ' and word' || n FROM generate_series(1, 600) n`,
    );
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'jobs' })));
    sourceId = await createSource(hubId, 'postgres', api);
    queryId = await store(`SELECT id, topic, body FROM ${table} ORDER BY length(id), id`);
  });
  afterAll(async () => {
    await client.query(`DROP TABLE ${table}`);
    await client.end();
  });

  const store = async (query: string, more: object = {}): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more }))).config.query
      .queryId;
  const newClassifier = async () => (await api.ok(api.post('/v1/classifiers', {}))).id as string;
  const start = (classifier: string, body: object = {}, key?: string) =>
    api.post(
      `/v1/classifiers/${classifier}/train`,
      { queryId, ...columns, ...body },
      key === undefined ? {} : { key },
    );
  const get = (jobId: string) => api.ok(api.get(`/v1/jobs/${jobId}`));
  const ended = async (jobId: string) => {
    const states = ['done', 'failed'];
    await expect
      .poll(async () => states.includes((await get(jobId)).state), { timeout: 60_000, interval: 100 })
      .toBe(true);
    return get(jobId);
  };
  const train = async (classifier: string, body: object = {}) =>
    ended((await api.ok(start(classifier, body))).jobId);
  const observations = async (classifier: string) => {
    const { classes } = await api.ok(api.get(`/v1/classifiers/${classifier}`));
    return Object.fromEntries(
      classes.map((one: { label: string; observations: number }) => [one.label, one.observations]),
    );
  };
  const keyWith = async (body: object) => api.ok(api.post('/v1/keys', { name: 'k', ...body }));

  it('trains each row once, also in repeated jobs, and corrects changed rows', async () => {
    const classifier = await newClassifier();
    expect(await train(classifier)).toMatchObject({
      classifierId: classifier,
      queryId,
      state: 'done',
      rows: 600,
      trained: 600,
      corrected: 0,
      skipped: 0,
      nullIds: 0,
      invalid: 0,
      truncated: false,
      faults: [],
      error: null,
    });
    expect(await observations(classifier)).toEqual({ 'topic 0': 200, 'topic 1': 200, 'topic 2': 200 });
    expect(await train(classifier)).toMatchObject({ rows: 600, trained: 0, skipped: 600 });

    await client.query(`UPDATE ${table} SET topic = 'topic 2' WHERE id IN ('1', '4')`);
    expect(await train(classifier)).toMatchObject({ trained: 0, corrected: 2, skipped: 598 });
    expect(await observations(classifier)).toEqual({ 'topic 0': 200, 'topic 1': 198, 'topic 2': 202 });
    expect((await train(await newClassifier())).trained).toBe(600);

    await client.query(`UPDATE ${table} SET topic = 'topic 1' WHERE id IN ('1', '4')`);
    expect(await train(classifier)).toMatchObject({ trained: 0, corrected: 2 });
    const examples = await api.get(`/v1/classifiers/${classifier}/examples?limit=1000`);
    expect(examples.headers.get('x-total-count')).toBe('600');
    const texts: string[] = examples.body.map(({ context }: { context: string }) => context);
    expect([texts.length, new Set(texts).size]).toEqual([600, 600]);
  });

  it('is listed, newest first, page by page, to keys that may see it', async () => {
    const classifier = await newClassifier();
    const scopes = ['classifiers:train', 'queries:execute'];
    const { key: limited } = await keyWith({
      scopes,
      limits: { queryIds: [queryId], classifierIds: [classifier] },
    });
    const list = (query = '', more: object = {}) => api.get(`/v1/jobs${query}`, more);
    const idsOf = ({ body }: { body: { jobId: string }[] }) => body.map(({ jobId }) => jobId);
    const { jobId: first } = await api.ok(start(classifier));
    const { jobId: second } = await api.ok(start(classifier, {}, limited));
    const newest = await ended(second);
    const all = await list();
    expect(idsOf(all).slice(0, 2)).toEqual([second, first]);
    expect(all.body[0]).toEqual(newest);
    const page = await list('?limit=1&offset=1');
    expect(idsOf(page)).toEqual([first]);
    expect(page.headers.get('x-total-count')).toBe(`${all.body.length}`);
    expect(page.headers.get('link')).toContain('rel="next"');
    // A key with limits sees only the jobs that it started.
    const own = await list('', { key: limited });
    expect([idsOf(own), own.headers.get('x-total-count')]).toEqual([[second], '1']);
    expect((await api.get(`/v1/jobs/${first}`, { key: limited })).status).toBe(404);
    expect((await api.delete(`/v1/jobs/${first}`, { key: limited })).status).toBe(404);
    expect(idsOf(await list('', { key: inject('hub').otherKey }))).not.toContain(first);
    const { key: reading } = await keyWith({ scopes: ['classifiers:read'] });
    expect((await list('', { key: reading })).body.code).toBe('SCOPE_DENIED');
    expect((await list('?limit=x')).body.errors).toMatchObject([{ pointer: 'query/limit' }]);
    await api.ok(api.delete(`/v1/jobs/${first}`));
    expect(idsOf(await list())).not.toContain(first);
  });

  it('takes longer than the timeout of its statement, as long as rows come', async () => {
    const { hubId: _, ...source } = sourceBody(hubId, 'postgres');
    const connectionSettings = { ...source.connectionSettings, statementTimeoutMs: 500 };
    const slow = await api.ok(api.post('/v1/sources', { ...source, hubId, connectionSettings }));
    // The server sends blocks of 8 KB.
    const rows = `SELECT n AS id, 1 AS topic, repeat('word ', 1000) AS body, pg_sleep(0.02)::text FROM generate_series(1, 60) n`;
    const query = { sourceId: slow.sourceId, context: [] };
    // Each run alone would read the same first rows.
    expect(await train(await newClassifier(), { queryId: await store(rows, query) })).toMatchObject({
      state: 'done',
      trained: 60,
    });
    const stuck = 'SELECT 1 AS id, 1 AS topic, pg_sleep(60)::text AS body';
    expect(await train(await newClassifier(), { queryId: await store(stuck, query) })).toMatchObject({
      state: 'failed',
      error: { code: 'STATEMENT_TIMEOUT' },
    });
  });

  it('reports rows that are not valid examples', async () => {
    const rows = [
      "('1', 'a', 'apple')",
      "(NULL, 'a', 'apple')",
      "('3', NULL, 'apple')",
      "('4', 'a', ' ')",
      "('', 'a', 'b')",
    ];
    const odd = await store(`SELECT * FROM (VALUES ${rows}) AS t (id, topic, body)`);
    expect(await train(await newClassifier(), { queryId: odd })).toMatchObject({
      state: 'done',
      rows: 5,
      trained: 1,
      nullIds: 1,
      invalid: 3,
      faults: [
        { row: 2, detail: 'id is null' },
        { row: 3, detail: 'topic is null' },
        { row: 4, detail: 'body must not be blank' },
        { row: 5, detail: 'id must have 1 to 512 characters' },
      ],
    });
    const halves = String.raw`SELECT id, 'a' AS topic, 'b' AS body FROM (VALUES (json '"1"'), (json '"\ud800"')) AS t (id)`;
    expect(await train(await newClassifier(), { queryId: await store(halves) })).toMatchObject({
      ...{ state: 'done', rows: 2, trained: 1, invalid: 1 },
      faults: [{ row: 2, detail: 'id must be valid Unicode: it holds half of a surrogate pair' }],
    });
  });

  it.each([
    [{ text: 'nope' }, 'No row has a column nope.'],
    [{ label: 'Topic', id: 'ID' }, 'No row has a column ID and Topic.'],
  ])('fails if no row has its column: %j', async (wrong, detail) => {
    const classifier = await newClassifier();
    expect(await train(classifier, wrong)).toMatchObject({
      ...{ state: 'failed', rows: 600, trained: 0 },
      error: { code: 'VALIDATION', detail },
    });
    expect(await observations(classifier)).toEqual({});
  });

  it('uses the context, and applies the row limit of the key', async () => {
    const filtered = await store(`SELECT id, topic, body FROM ${table} WHERE topic = :topic`);
    const { trained } = await train(await newClassifier(), {
      queryId: filtered,
      context: { topic: 'topic 0' },
    });
    expect(trained).toBe(200);
    const { key } = await keyWith({
      scopes: ['classifiers:train', 'queries:execute'],
      limits: { maxRows: 7, context: { topic: 'topic 0' } },
    });
    const { jobId } = await api.ok(start(await newClassifier(), { queryId: filtered }, key));
    expect(await ended(jobId)).toMatchObject({ rows: 7, trained: 7, truncated: true });
  });

  it('takes no values of secret variables, neither stored nor in an address', async () => {
    const context = [{ key: 'pin', secret: true }];
    const secret = await store(`SELECT id, topic, body FROM ${table} WHERE :pin = 'x'`, { context });
    const [classifier, values] = [await newClassifier(), { pin: 's3cret' }];
    const asked = new URLSearchParams({ sort: 'uncertain', queryId: secret, text: 'body' });
    await api.ok(api.post(`/v1/classifiers/${classifier}/train`, { label: 'a', context: 'some words' }));
    const examples = `/v1/classifiers/${classifier}/examples?${asked}`;
    for (const refused of [
      await start(classifier, { queryId: secret, context: values }),
      await api.get(`${examples}&context=${encodeURIComponent(JSON.stringify(values))}`),
    ]) {
      expect([refused.status, refused.body.errors[0].pointer]).toEqual([400, '/context/pin']);
      expect(refused.text).not.toContain('s3cret');
    }
    const limits = { context: { pin: 'x' } };
    const { key } = await keyWith({ scopes: ['classifiers:train', 'queries:execute'], limits });
    const { jobId } = await api.ok(start(classifier, { queryId: secret }, key));
    expect((await ended(jobId)).trained).toBe(600);
  });

  it('is refused at its start if it is invalid or forbidden', async () => {
    const classifier = await newClassifier();
    const codeOf = async (body: object, key?: string) => (await start(classifier, body, key)).body.code;
    expect(await codeOf({ text: undefined })).toBe('VALIDATION');
    expect(await codeOf({ examples: [] })).toBe('VALIDATION');
    expect(await codeOf({ queryId: 'nope' })).toBe('NOT_FOUND');
    expect(await codeOf({ queryId: await store(`DELETE FROM ${table}`, { command: 'DELETE' }) })).toBe(
      'OPTION_REFUSED',
    );
    expect((await start('nope')).status).toBe(404);
    const { key: training } = await keyWith({ scopes: ['classifiers:train'] });
    expect(await codeOf({}, training)).toBe('SCOPE_DENIED');
    const scopes = ['classifiers:train', 'queries:execute'];
    const narrowed = { queryIds: [await store('SELECT 1 AS id')], classifierIds: [classifier] };
    const { key: narrow } = await keyWith({ scopes, limits: narrowed });
    expect(await codeOf({}, narrow)).toBe('SCOPE_DENIED');
    const { jobId } = await api.ok(start(classifier));
    expect((await api.get(`/v1/jobs/${jobId}`, { key: inject('hub').otherKey })).status).toBe(404);
    expect((await api.delete(`/v1/jobs/${jobId}`, { key: inject('hub').otherKey })).status).toBe(404);
    await ended(jobId);
  });

  it('fails if the query fails, and keeps the trained rows', async () => {
    const failing = await store(
      `SELECT id, topic, CASE WHEN length(id) > 2 THEN (1 / (id::int - id::int))::text ELSE body END AS body FROM ${table} ORDER BY length(id), id`,
    );
    const classifier = await newClassifier();
    const job = await train(classifier, { queryId: failing });
    expect(job).toMatchObject({ state: 'failed', error: { code: 'SQL_REJECTED' } });
  });

  it('stops when it is deleted, or when its key is revoked', async () => {
    const slow = await store(
      `SELECT n AS id, 'topic' AS topic, 'word' || n AS body FROM generate_series(1, 1000000) n`,
    );
    const running = async (jobId: string) =>
      expect.poll(async () => (await get(jobId)).trained, { timeout: 60_000 }).toBeGreaterThan(0);

    const stopped = await newClassifier();
    const { jobId: deleted } = await api.ok(start(stopped, { queryId: slow }));
    await running(deleted);
    await api.ok(api.delete(`/v1/jobs/${deleted}`));
    expect((await api.get(`/v1/jobs/${deleted}`)).status).toBe(404);
    const [before] = Object.values(await observations(stopped));
    expect(before).toBeGreaterThan(0);

    const made = await keyWith({ scopes: ['classifiers:train', 'queries:execute'] });
    const classifier = await newClassifier();
    const { jobId: orphan } = await api.ok(start(classifier, { queryId: slow }, made.key));
    await running(orphan);
    await api.ok(api.delete(`/v1/keys/${made.keyId}`));
    const { state, error, trained } = await ended(orphan);
    expect([state, error.code]).toEqual(['failed', 'KEY_INVALID']);
    expect((await observations(classifier)).topic).toBe(trained);
    // The deleted job has stopped by now.
    const after = Number(Object.values(await observations(stopped))[0]);
    expect(after - Number(before)).toBeLessThanOrEqual(2_000);
  });

  it('allows ten jobs of an account at a time', async () => {
    const slow = await store(`SELECT pg_sleep(20)::text AS id, 'a' AS topic, 'b' AS body`);
    const classifier = await newClassifier();
    const jobs: string[] = [];
    for (let i = 0; i < 10; i++) jobs.push((await api.ok(start(classifier, { queryId: slow }))).jobId);
    expect((await start(classifier)).body.code).toBe('QUOTA_EXCEEDED');
    for (const jobId of jobs) await api.ok(api.delete(`/v1/jobs/${jobId}`));
    const atOnce = await Promise.all(Array.from({ length: 30 }, () => start(classifier, { queryId: slow })));
    const accepted = atOnce.filter(({ status }) => status === 200);
    expect(accepted.length).toBeGreaterThan(0);
    expect(accepted.length).toBeLessThanOrEqual(10);
    for (const { body } of accepted) await api.ok(api.delete(`/v1/jobs/${body.jobId}`));
    expect((await start(classifier)).status).toBe(200);
  });

  it('reads rows of any length, and takes ids by all their digits', async () => {
    const long = await store(
      `SELECT ('1234567890123456789' || n)::jsonb AS id, 'topic ' || n % 2 AS topic,
        repeat('word ', 1 + n % 2 * 300000) AS body FROM generate_series(0, 9) n`,
    );
    expect(await train(await newClassifier(), { queryId: long })).toMatchObject({
      ...{ state: 'done', rows: 10, trained: 5, corrected: 0, invalid: 5 },
      faults: expect.arrayContaining([{ row: 2, detail: 'is longer than 1048576 bytes' }]),
    });
  });

  it('counts no rows that were read and not trained', async () => {
    const slow = await store(
      `SELECT n AS id, 't' AS topic, 'b' AS body, pg_sleep(0.01)::text FROM generate_series(1, 2000) n`,
    );
    const made = await keyWith({ scopes: ['classifiers:train', 'queries:execute'] });
    const { jobId } = await api.ok(start(await newClassifier(), { queryId: slow }, made.key));
    await expect.poll(async () => (await get(jobId)).state, { timeout: 60_000 }).toBe('running');
    await api.ok(api.delete(`/v1/keys/${made.keyId}`));
    const { rows, trained, skipped } = await ended(jobId);
    expect([rows, skipped]).toEqual([trained, 0]);
  });
});
