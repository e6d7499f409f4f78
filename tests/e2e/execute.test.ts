import { connect } from 'node:net';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute as runOnce } from '../support/hub.ts';
import { read } from '../support/streaming.ts';

const rows = [
  { id: 1, region: 'north', amount: '1234567890123456.78', note: null },
  { id: 2, region: 'south', amount: 10.5, note: 'a:b {{c}}' },
  { id: 3, region: "o'hara", amount: 0.01, note: 'quote' },
];

describe.each(engines)('executing on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} executions` })));
    sourceId = await createSource(hubId, engine);
  });

  const store = async (query: string, change: object = {}) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...change }))).config.query
      .queryId as string;

  const run = (queryId: string, context?: object, options?: object) =>
    api.post('/v1/queries/execute', {
      queryId,
      ...(context === undefined ? {} : { context }),
      ...(options === undefined ? {} : { options }),
    });

  const execute = (query: string, context?: object, change: object = {}) =>
    runOnce({ hubId, sourceId, query, context, ...change });

  it('answers rows in order, keys in column order, exact numbers', async () => {
    const { data } = await execute('SELECT id, region, amount, note FROM sales ORDER BY id');
    expect(data).toEqual(rows);
    expect(Object.keys(data[0])).toEqual(['id', 'region', 'amount', 'note']);
  });

  it('binds variables, whatever they hold', async () => {
    const queryId = await store('SELECT id FROM sales WHERE region = :region ORDER BY id');
    const ids = async (region: unknown) => (await run(queryId, { region })).body.data;
    expect(await ids('north')).toEqual([{ id: 1 }]);
    expect(await ids("o'hara")).toEqual([{ id: 3 }]);
    for (const hostile of [
      "north' OR '1'='1",
      "' OR 1=1 -- ",
      "'; DROP TABLE sales; -- ",
      '\\',
      "\\' OR 1=1 #",
      'north"; SELECT 1',
      ':region',
      '{{region}}',
      '$1',
      '?',
    ]) {
      expect(await ids(hostile)).toEqual([]);
    }
    expect((await execute('SELECT COUNT(*) AS n FROM sales')).data).toEqual([{ n: 3 }]);
  });

  it('takes {{name}} for :name, and one value for both', async () => {
    const { data } = await execute('SELECT id FROM sales WHERE region = {{r}} OR note = :r', { r: 'quote' });
    expect(data).toEqual([{ id: 3 }]);
  });

  it('leaves what is in quotes and comments alone', async () => {
    const { data } = await execute(
      "SELECT ':a' AS a, 'it''s :b' AS b /* :c */, id -- :d\n FROM sales WHERE id = :id",
      {
        id: 2,
      },
    );
    expect(data).toEqual([{ a: ':a', b: "it's :b", id: 2 }]);
  });

  it('binds lists, also empty ones', async () => {
    const inList = await store('SELECT id FROM sales WHERE id IN (:ids) ORDER BY id');
    const notInList = await store('SELECT id FROM sales WHERE id NOT IN (:ids) ORDER BY id');
    expect((await run(inList, { ids: [1, 3] })).body.data).toEqual([{ id: 1 }, { id: 3 }]);
    expect((await run(inList, { ids: [] })).body.data).toEqual([]);
    expect((await run(notInList, { ids: [1, 3] })).body.data).toEqual([{ id: 2 }]);
    expect((await run(notInList, { ids: [] })).body.data).toHaveLength(3);
  });

  it('binds NULL', async () => {
    const queryId = await store('SELECT id FROM sales WHERE note IS NULL AND :v IS NULL', {
      context: [{ key: 'v', type: 'string' }],
    });
    expect((await run(queryId, { v: null })).body.data).toEqual([{ id: 1 }]);
    expect((await run(queryId, { v: 'x' })).body.data).toEqual([]);
  });

  it('falls back to defaults and names everything that is missing', async () => {
    const queryId = await store(
      'SELECT id FROM sales WHERE region = :region AND id > :least AND id < :most',
      {
        context: [{ key: 'region', value: 'south' }],
      },
    );
    const missing = await run(queryId, {});
    expect([missing.status, missing.body.code]).toEqual([422, 'CONTEXT_INVALID']);
    expect(missing.body.errors.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual([
      '/context/least',
      '/context/most',
    ]);
    expect((await run(queryId, { least: 0, most: 9, ignored: true })).body.data).toEqual([{ id: 2 }]);
    expect((await run(queryId, { least: 0, most: 9, region: 'north' })).body.data).toEqual([{ id: 1 }]);
  });

  it('refuses values that do not fit the declared type, without repeating them', async () => {
    const queryId = await store('SELECT id FROM sales WHERE id = :id', {
      context: [{ key: 'id', type: 'integer' }],
    });
    const { status, body, text } = await run(queryId, { id: 'secret-value' });
    expect([status, body.code]).toEqual([422, 'CONTEXT_INVALID']);
    expect(text).not.toContain('secret-value');
  });

  it('answers affected rows for writes, and runs them in one piece', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const insert = await execute(
      "INSERT INTO scratch (id, label) VALUES (:a, 'x'), (:b, 'y')",
      { a: 1, b: 2 },
      { command: 'INSERT' },
    );
    expect(insert.data).toMatchObject([{ affectedRows: 2 }]);
    const again = await store("INSERT INTO scratch (id, label) VALUES (:a, 'x')", { command: 'INSERT' });
    // PostgreSQL has no insertId; MySQL sends none, because the id is given.
    expect((await run(again, { a: 3 }, { numbers: 'string', meta: true })).body).toMatchObject({
      data: [{ affectedRows: '1' }],
      // The object is not a row of the database.
      meta: { columns: [{ name: 'affectedRows', type: 'bigint' }], rowCount: 0 },
    });
    expect((await run(again, { a: 4 }, { numbers: 'number' })).body.data).toMatchObject([
      { affectedRows: 1 },
    ]);
    await execute('DELETE FROM scratch WHERE id > 2', undefined, { command: 'DELETE' });
    const update = await execute("UPDATE scratch SET label = 'z' WHERE id = 1", undefined, {
      command: 'UPDATE',
    });
    expect(update.data).toMatchObject([{ affectedRows: 1 }]);
    expect((await execute('SELECT label FROM scratch ORDER BY id')).data).toEqual([
      { label: 'z' },
      { label: 'y' },
    ]);
  });

  it('answers 409 for a violated constraint and leaves nothing behind', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const queryId = await store("INSERT INTO scratch (id, label) VALUES (7, 'a'), (7, 'b')", {
      command: 'INSERT',
    });
    const { status, body } = await run(queryId);
    expect([status, body.code]).toEqual([409, 'CONSTRAINT']);
    expect((await execute('SELECT id FROM scratch')).data).toEqual([]);
  });

  it('tells what the database refuses, and where', async () => {
    const queryId = await store('SELECT id\nFROM no_such_table');
    const { status, body } = await run(queryId);
    expect([status, body.code, body.instance]).toEqual([422, 'SQL_REJECTED', '/v1/queries/execute']);
    expect(body.sql.state).toMatch(/^42/);
    if (engine !== 'postgres') return;
    expect(body.sql).toMatchObject({ line: 2, column: 6 });
    const cast = await run(await store('SELECT :a::int,\n :a::text, nope'), { a: 1 });
    expect(cast.body.sql).toEqual({ state: '42703', line: 2, column: 12 });
  });

  it('never writes with a SELECT', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const text =
      engine === 'postgres'
        ? "WITH w AS (INSERT INTO scratch (id, label) VALUES (99, 'x') RETURNING id) SELECT id FROM w"
        : 'SELECT write_scratch() AS id';
    const { status } = await run(await store(text));
    expect(status).toBe(422);
    expect((await execute('SELECT id FROM scratch')).data).toEqual([]);
  });

  it('cuts rows only when asked, and says so', async () => {
    const queryId = await store('SELECT id FROM sales ORDER BY id');
    expect((await run(queryId, undefined, { maxRows: 2 })).body).toEqual({
      data: [{ id: 1 }, { id: 2 }],
      truncated: true,
    });
    expect((await run(queryId, undefined, { maxRows: 3 })).body).toEqual({
      data: [{ id: 1 }, { id: 2 }, { id: 3 }],
    });
  });

  it('cuts NDJSON and CSV as openly, however long they are', async () => {
    const queryId = await store(
      'SELECT a.id, a.note FROM sales a, sales b, sales c, sales d, sales e, sales f, sales g, sales h, sales i',
    );
    const as = async (accept: string, options: object) => {
      const reader = read(inject('hub'), { queryId, accept, options });
      await reader.begun;
      reader.resume();
      return reader.ended;
    };
    for (const maxRows of [2, 15_000]) {
      const ndjson = await as('application/x-ndjson', { maxRows });
      expect(ndjson.text.trimEnd().split('\n')).toHaveLength(maxRows + 1);
      expect(ndjson.text).toMatch(/\n\{"truncated":true\}\n$/);
      const csv = await as('text/csv', { maxRows });
      expect([csv.status, csv.complete, csv.trailers]).toEqual([200, true, { 'x-truncated': 'true' }]);
      expect(csv.text.trimEnd().split('\r\n')).toHaveLength(maxRows + 1);
    }
    expect((await as('text/csv', {})).trailers).toEqual({});
    for (const maxRows of [2, 15_000]) {
      const csv = await as('text/csv', { maxRows, ending: true });
      expect(csv.text.slice(csv.text.lastIndexOf('\x1e') + 1)).toBe(
        `{"truncated":true,"rows":${maxRows},"limit":"request"}\n`,
      );
    }
    for (const maxRows of [2, 15_000]) {
      const old = await overOldHttp({ queryId, options: { maxRows } });
      expect(old.trimEnd().split('\r\n')).toHaveLength(maxRows + 1);
    }
  });

  it('writes no row of NDJSON in the bytes of the line that says that rows are missing', async () => {
    const row = '{"truncated": true}\n';
    const value = engine === 'postgres' ? 'true' : "JSON_EXTRACT('[true]', '$[0]')";
    const query = `SELECT ${value} AS truncated UNION ALL SELECT ${value}`;
    const cached = await store(query, { cache: { maxAgeS: 60 } });
    for (const queryId of [await store(query), cached, cached]) {
      const as = (options: object) =>
        api.post(
          '/v1/queries/execute',
          { queryId, options },
          { headers: { accept: 'application/x-ndjson' } },
        );
      expect((await as({})).text).toBe(row + row);
      expect((await as({ maxRows: 1 })).text).toBe(`${row}{"truncated":true}\n`);
    }
  });

  /** A CSV over HTTP/1.0, whose answers end with their connection. */
  async function overOldHttp(body: object): Promise<string> {
    const { url, key } = inject('hub');
    const text = JSON.stringify(body);
    const head = ['POST /v1/queries/execute HTTP/1.0', `x-service-api-key: ${key}`, 'accept: text/csv'];
    head.push('content-type: application/json', `content-length: ${text.length}`, '', text);
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => socket.write(head.join('\r\n')));
    let answer = '';
    for await (const chunk of socket) answer += chunk;
    return answer.slice(answer.indexOf('\r\n\r\n') + 4);
  }

  it('adds meta when asked', async () => {
    const queryId = await store('SELECT id, region FROM sales ORDER BY id');
    const { body } = await run(queryId, undefined, { meta: true });
    expect(body.meta).toMatchObject({
      rowCount: 3,
      durationMs: expect.any(Number),
      queueMs: expect.any(Number),
    });
    expect(body.meta.columns.map(({ name }: { name: string }) => name)).toEqual(['id', 'region']);
  });

  it('writes NDJSON and CSV', async () => {
    const queryId = await store('SELECT id, note FROM sales ORDER BY id');
    const as = (accept: string) => api.post('/v1/queries/execute', { queryId }, { headers: { accept } });
    const ndjson = await as('application/x-ndjson');
    expect(ndjson.headers.get('content-type')).toContain('application/x-ndjson');
    expect(ndjson.text).toBe('{"id":1,"note":null}\n{"id":2,"note":"a:b {{c}}"}\n{"id":3,"note":"quote"}\n');
    const csv = await as('text/csv');
    expect(csv.headers.get('content-type')).toContain('text/csv');
    expect(csv.text.split('\r\n').slice(0, 3)).toEqual(['id,note', '1,', '2,a:b {{c}}']);
    expect((await as('text/*;q=0.9, application/*;q=0.1')).text).toBe(csv.text);
    expect((await as('image/png')).status).toBe(406);
    for (const [accept, type] of [
      ['application/json;q=0, */*', 'application/x-ndjson'],
      ['*/*;q=0.5, application/json;q=0.1', 'application/x-ndjson'],
      ['application/*;q=0, */*', 'text/csv'],
      ['text/csv;q=0.5, application/json;q=0.5', 'text/csv'],
      ['text/html, */*;q=0.1', 'application/json'],
    ] as const) {
      expect([accept, (await as(accept)).headers.get('content-type')?.split(';', 1)[0]]).toEqual([
        accept,
        type,
      ]);
    }
  });

  it('takes digits exactly, in and out', async () => {
    const queryId = await store('SELECT :n AS n', { context: [{ key: 'n', type: 'bigint' }] });
    const answer = await api.post('/v1/queries/execute', undefined, {
      raw: `{"queryId":"${queryId}","context":{"n":9007199254740993}}`,
    });
    expect(answer.body).toEqual({ data: [{ n: '9007199254740993' }] });
  });

  it('stops a statement at its deadline', async () => {
    const queryId = await store(engine === 'postgres' ? 'SELECT pg_sleep(600)' : 'SELECT SLEEP(600)');
    const { status, body } = await run(queryId, undefined, { timeoutMs: 1_500 });
    expect([status, body.code]).toEqual([504, 'STATEMENT_TIMEOUT']);
  });

  it('undoes a dry run', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const queryId = await store("INSERT INTO scratch (id, label) VALUES (1, 'dry')", { command: 'INSERT' });
    expect((await run(queryId, undefined, { dryRun: true })).body.data).toMatchObject([{ affectedRows: 1 }]);
    expect((await execute('SELECT id FROM scratch')).data).toEqual([]);
  });

  it('rolls back a write that touches too many rows', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const queryId = await store("INSERT INTO scratch (id, label) VALUES (1, 'a'), (2, 'b')", {
      command: 'INSERT',
    });
    const { status, body } = await run(queryId, undefined, { maxAffected: 1 });
    expect([status, body.code]).toEqual([409, 'MAX_AFFECTED']);
    expect((await execute('SELECT id FROM scratch')).data).toEqual([]);
    if (engine !== 'postgres') return;
    const both = 'WITH gone AS (DELETE FROM scratch) INSERT INTO scratch (id, label) VALUES (3, $$c$$)';
    const uncounted = await run(await store(both, { command: 'INSERT' }), undefined, { maxAffected: 1 });
    expect([uncounted.status, uncounted.body.code]).toEqual([422, 'OPTION_REFUSED']);
  });

  it('refuses a query that writes, if the call says that it reads', async () => {
    await execute('DELETE FROM scratch', undefined, { command: 'DELETE' });
    const writing = await store("INSERT INTO scratch (id, label) VALUES (1, 'x')", { command: 'INSERT' });
    const refused = await run(writing, undefined, { reads: true });
    expect([refused.status, refused.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const reading = await store('SELECT count(*) AS n FROM scratch');
    expect((await run(reading, undefined, { reads: true })).body.data).toMatchObject([{ n: 0 }]);
  });

  it('answers 404 for an unknown query', async () => {
    const { status, body } = await run('dh.q.000000000000000000000000000000');
    expect([status, body.code]).toEqual([404, 'NOT_FOUND']);
  });
});
