import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { tableFromIPC } from 'apache-arrow';
import { MongoClient } from 'mongodb';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { accessOf } from '../support/databases.ts';
import { api, createSource, database, engines } from '../support/hub.ts';
import { watch } from '../support/watcher.ts';

interface Prediction {
  label: string;
  confidence: number;
}

const examples = [
  { label: 'payment, "open"', context: 'I was charged twice' },
  { label: 'payment, "open"', context: 'please refund the amount' },
  { label: 'delivery', context: 'my parcel has not arrived' },
  { label: 'delivery', context: 'where is my order?' },
];
const texts = ['the parcel is late', 'refund my "charge", please', 'order', 'die Straße, 東京', '', ' \t'];
const blank = 2;

async function trained(): Promise<string> {
  const { id } = await api.ok(api.post('/v1/classifiers', {}));
  await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
  return id;
}

async function predicted(classifier: string, contexts: string[]): Promise<Prediction[]> {
  const { predictions } = await api.ok(api.post(`/v1/classifiers/${classifier}/predict`, { contexts }));
  return predictions.map(({ label, confidence }: Prediction) => ({ label, confidence }));
}

const execute = (queryId: string, options: object, more: { accept?: string; key?: string } = {}) =>
  api.post(
    '/v1/queries/execute',
    { queryId, options },
    {
      headers: { accept: more.accept ?? 'application/json' },
      ...(more.key === undefined ? {} : { key: more.key }),
    },
  );

/** Arrow is not text, which `execute` reads. */
async function executeArrow(queryId: string, options: object) {
  const { url, key } = inject('hub');
  const answer = await fetch(`${url}/v1/queries/execute`, {
    method: 'POST',
    headers: {
      'x-service-api-key': key,
      'content-type': 'application/json',
      accept: 'application/vnd.apache.arrow.stream',
    },
    body: JSON.stringify({ queryId, options }),
  });
  expect(answer.status).toBe(200);
  return tableFromIPC(await answer.arrayBuffer());
}

/** A SELECT of rows with an id and a text, of which the last ones are blank or NULL. */
const literals = (engine: string) => {
  const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;
  const rows = texts.map((text, i) => `SELECT ${i} AS id, ${quote(text)} AS body`);
  return [...rows, `SELECT ${texts.length}, ${engine === 'postgres' ? 'NULL::text' : 'NULL'}`].join(
    ' UNION ALL ',
  );
};

const many: Record<string, string> = {
  postgres:
    "SELECT n AS id, 'parcel ' || n % 97 || ' refund ' || n % 89 AS body FROM generate_series(1, 5000) AS s(n)",
  mariadb: "SELECT seq AS id, CONCAT('parcel ', seq % 97, ' refund ', seq % 89) AS body FROM seq_1_to_5000",
  mysql:
    "SELECT n AS id, CONCAT('parcel ', n % 97, ' refund ', n % 89) AS body FROM JSON_TABLE(CONCAT('[0', REPEAT(',0', 4999), ']'), '$[*]' COLUMNS (n FOR ORDINALITY)) AS s",
};

describe.each(engines.filter((engine) => engine !== 'mongodb'))('annotate on %s', (engine) => {
  let classifier: string;
  let hubId: string;
  let sourceId: string;
  let queryId: string;
  let expected: (Prediction | { label: null; confidence: null })[];

  const store = async (query: string, more: object = {}): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more }))).config.query
      .queryId;
  const annotate = (change: object = {}) => ({
    annotate: [{ classifier, text: 'body', as: 'topic', ...change }],
  });

  beforeAll(async () => {
    classifier = await trained();
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'annotate' })));
    sourceId = await createSource(hubId, engine);
    queryId = await store(literals(engine));
    const labels = await predicted(classifier, texts.slice(0, -blank));
    expected = [...labels, ...Array(blank + 1).fill({ label: null, confidence: null })];
  });

  it('adds the answers of predict, in every format', async () => {
    const rows = expected.map(({ label, confidence }, i) => ({
      id: i,
      body: texts[i] ?? null,
      topic: label,
      topicConfidence: confidence,
    }));
    const { body } = await execute(queryId, annotate());
    expect(body).toEqual({ data: rows });

    const ndjson = await execute(queryId, annotate(), { accept: 'application/x-ndjson' });
    expect(ndjson.text).toBe(rows.map((row) => `${JSON.stringify(row)}\n`).join(''));

    const table = await executeArrow(queryId, annotate());
    expect(table.schema.fields.map(({ name, type }) => `${name}: ${type}`).slice(2)).toEqual([
      'topic: Utf8',
      'topicConfidence: Float64',
    ]);
    expect(table.toArray().map((row) => ({ ...row.toJSON(), id: Number(row.id) }))).toEqual(rows);

    const csv = await execute(queryId, annotate(), { accept: 'text/csv' });
    const field = (value: string | number | null) =>
      value === '' || /[",]/.test(String(value))
        ? `"${String(value).replaceAll('"', '""')}"`
        : String(value ?? '');
    expect(csv.text).toBe(
      `${[
        'id,body,topic,topicConfidence',
        ...rows.map((row) => Object.values(row).map(field).join(',')),
      ].join('\r\n')}\r\n`,
    );
  });

  it('accepts several classifiers, and reports the columns and truncation', async () => {
    const second = await trained();
    const options = {
      annotate: [
        { classifier, text: 'body', as: 'topic' },
        { classifier: second, text: 'id', as: 'odd' },
      ],
      meta: true,
      maxRows: 2,
    };
    const { body } = await execute(queryId, options);
    const [first, other] = await predicted(second, ['0', '1']);
    expect(body.truncated).toBe(true);
    expect(body.data).toMatchObject([
      { id: 0, topic: expected[0]?.label, odd: first?.label, oddConfidence: first?.confidence },
      { id: 1, topicConfidence: expected[1]?.confidence, oddConfidence: other?.confidence },
    ]);
    expect(body.meta.columns.map(({ name }: { name: string }) => name)).toEqual([
      'id',
      'body',
      'topic',
      'topicConfidence',
      'odd',
      'oddConfidence',
    ]);
  });

  it('accepts the name of a classifier, unless several have it', async () => {
    const name = `topics ${engine} ${randomBytes(4).toString('hex')}`;
    await api.ok(api.put(`/v1/classifiers/${classifier}`, { name }));
    const { body } = await execute(queryId, annotate({ classifier: name }));
    expect(body.data.map((row: { topic: string | null }) => row.topic)).toEqual(
      expected.map(({ label }) => label),
    );
    expect((await execute(queryId, annotate({ classifier: `${name}?` }))).body).toMatchObject({
      status: 404,
    });
    await api.ok(api.post('/v1/classifiers', { name }));
    expect((await execute(queryId, annotate({ classifier: name }))).body).toMatchObject({
      status: 400,
      errors: [{ pointer: '/options/annotate/0/classifier', detail: expect.stringContaining('several') }],
    });
  });

  it('streams thousands of rows in their order', async () => {
    const { body } = await execute(await store(many[engine] as string), annotate());
    expect(body.data).toHaveLength(5_000);
    const sample = [0, 99, 100, 101, 2_500, 4_999].map((i) => body.data[i]);
    const wanted = await predicted(
      classifier,
      sample.map(({ body: text }) => text),
    );
    expect(sample.map(({ topic, topicConfidence }) => [topic, topicConfidence])).toEqual(
      wanted.map(({ label, confidence }) => [label, confidence]),
    );
    expect(body.data.every(({ id }: { id: number }, i: number) => id === i + 1)).toBe(true);
  });

  it('labels the rows of several batches of Arrow', async () => {
    // A batch ends with its first MiB.
    const wide = await store(`SELECT t.*, REPEAT('x', 500) AS filler FROM (${many[engine]}) AS t`);
    const { data } = (await execute(wide, annotate())).body;
    const table = await executeArrow(wide, annotate());
    expect(table.batches.length).toBeGreaterThan(1);
    expect(table.numRows).toBe(data.length);
    const [topics, confidences] = [table.getChild('topic'), table.getChild('topicConfidence')];
    const others = data.filter(
      (row: { topic: string; topicConfidence: number }, i: number) =>
        topics?.get(i) !== row.topic || confidences?.get(i) !== row.topicConfidence,
    );
    expect(others).toEqual([]);
  });

  it('answers an empty result', async () => {
    const empty = await store(`SELECT id, body FROM (${literals(engine)}) AS t WHERE id < 0`);
    expect((await execute(empty, annotate())).text).toBe('{"data":[]}');
    const csv = await execute(empty, annotate(), { accept: 'text/csv' });
    expect(csv.text).toBe('id,body,topic,topicConfidence\r\n');
    expect((await executeArrow(empty, annotate())).numRows).toBe(0);
    expect((await execute(empty, annotate({ text: 'nope' }))).status).toBe(400);
  });

  it.each([
    [{ as: 'body' }, '/options/annotate/0/as', 'would add a second column named body'],
    [{ text: 'nope' }, '/options/annotate/0/text', 'is not a column of the result'],
  ])('refuses %j, which does not fit the columns', async (change, pointer, detail) => {
    const { status, body } = await execute(queryId, annotate(change));
    expect([status, body.code, body.errors]).toEqual([400, 'VALIDATION', [{ pointer, detail }]]);
    const renamed = await store('SELECT 1 AS topicConfidence, 2 AS body');
    if (engine !== 'postgres') expect((await execute(renamed, annotate())).status).toBe(400);
  });

  it('refuses invalid or forbidden annotations before the query runs', async () => {
    const twice = [
      { classifier, text: 'body', as: 'topic' },
      { classifier, text: 'body', as: 'topic' },
    ];
    expect((await execute(queryId, { annotate: twice })).status).toBe(400);
    expect((await execute(queryId, { annotate: [] })).status).toBe(400);
    expect((await execute(queryId, annotate({ classifier: 'nope' }))).body.code).toBe('NOT_FOUND');
    const { id: untrained } = await api.ok(api.post('/v1/classifiers', {}));
    expect((await execute(queryId, annotate({ classifier: untrained }))).body.code).toBe('NOT_TRAINED');
    const writing = await store('DELETE FROM nothing_is_here', { command: 'DELETE' });
    expect((await execute(writing, annotate())).body.code).toBe('OPTION_REFUSED');
    const other = await api.post(
      '/v1/queries/execute',
      { queryId, options: annotate() },
      { key: inject('hub').otherKey },
    );
    expect(other.status).toBe(404);
  });

  it('needs both scopes, and applies the limits of the key', async () => {
    const keyWith = async (body: object) => (await api.ok(api.post('/v1/keys', { name: 'k', ...body }))).key;
    const reader = await keyWith({ scopes: ['queries:execute'] });
    expect((await execute(queryId, annotate(), { key: reader })).body.code).toBe('SCOPE_DENIED');
    const predicting = await keyWith({ scopes: ['classifiers:predict'] });
    expect((await execute(queryId, annotate(), { key: predicting })).body.code).toBe('SCOPE_DENIED');
    const scopes = ['queries:execute', 'classifiers:predict'];
    const narrow = await keyWith({ scopes, limits: { queryIds: [await store('SELECT 1 AS body')] } });
    expect((await execute(queryId, annotate(), { key: narrow })).body.code).toBe('SCOPE_DENIED');
    const few = await keyWith({ scopes, limits: { maxRows: 1 } });
    expect((await execute(queryId, annotate(), { key: few })).body).toMatchObject({
      data: [{ topic: expected[0]?.label }],
      truncated: true,
    });
  });

  it('cancels the statement when the client disconnects', async () => {
    const watcher = await watch(engine, database(engine));
    const mark = `annotated_${engine}`;
    const rows =
      engine === 'postgres'
        ? 'generate_series(1, 5000) AS s(n), generate_series(1, 5000) AS t(m)'
        : undefined;
    const query =
      rows === undefined
        ? `SELECT /* ${mark} */ t.* FROM (${many[engine]}) AS t, (${many[engine]}) AS u`
        : `SELECT /* ${mark} */ n, 'parcel ' || n AS body FROM ${rows}`;
    const body = JSON.stringify({ queryId: await store(query), options: annotate() });
    const { url, key } = inject('hub');
    await new Promise<void>((left) => {
      const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
      const call = request(`${url}/v1/queries/execute`, { method: 'POST', agent: false, headers });
      call.on('response', (response) => response.once('data', () => call.destroy()));
      call.on('error', () => {});
      call.on('close', () => left());
      call.end(body);
    });
    await expect.poll(() => watcher.running(mark), { timeout: 60_000, interval: 50 }).toBe(0);
    await watcher.close();
  });
});

const { MONGODB_URL } = process.env;

describe.skipIf(MONGODB_URL === undefined)('annotate on mongodb (needs MONGODB_URL)', () => {
  const name = `e2e_annotate_${randomBytes(4).toString('hex')}`;
  let client: MongoClient;
  let classifier: string;
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    classifier = await trained();
    client = await new MongoClient(MONGODB_URL as string).connect();
    await client
      .db(name)
      .collection<{ _id: number }>('mails')
      .insertMany([
        { _id: 1, body: 'the parcel' },
        { _id: 2 },
        { _id: 3, body: { nested: '}' } },
        { _id: 4, topic: 'mine' },
      ] as never);
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'annotate' })));
    const connectionSettings = { ...accessOf(MONGODB_URL as string), database: name };
    const source = { hubId, label: 'mails', engine: 'mongodb', connectionSettings };
    ({ sourceId } = await api.ok(api.post('/v1/sources', source)));
  });
  afterAll(async () => {
    await client.db(name).dropDatabase();
    await client.close();
  });

  const run = async (query: object, accept = 'application/json') => {
    const body = { hubId, sourceId, label: 'q', query: JSON.stringify(query) };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    return execute(queryId, { annotate: [{ classifier, text: 'body', as: 'topic' }] }, { accept });
  };

  it('classifies each document that has the text', async () => {
    const { body } = await run({ find: 'mails', filter: { _id: { $lt: 4 } }, sort: { _id: 1 } });
    const [first, nested] = await predicted(classifier, ['the parcel', '{"nested":"}"}']);
    expect(body.data).toEqual([
      { _id: 1, body: 'the parcel', topic: first?.label, topicConfidence: first?.confidence },
      { _id: 2, topic: null, topicConfidence: null },
      { _id: 3, body: { nested: '}' }, topic: nested?.label, topicConfidence: nested?.confidence },
    ]);
    const csv = await run({ find: 'mails', filter: { _id: 1 }, projection: { _id: 1, body: 1 } }, 'text/csv');
    expect(csv.text).toMatch(/^_id,body,topic,topicConfidence\r\n1,the parcel,/);
  });

  it('refuses a document that already has a member with the added name', async () => {
    const { status, body } = await run({ find: 'mails', filter: { _id: 4 } });
    expect([status, body.errors?.[0]?.pointer]).toEqual([400, '/options/annotate/0/as']);
    expect((await run({ find: 'mails', filter: { _id: 5 } })).text).toBe('{"data":[]}');
  });
});
