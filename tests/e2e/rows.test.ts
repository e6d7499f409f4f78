/** Records in bulk: a query that writes runs for each record of a streamed body. */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, execute } from '../support/hub.ts';

const sqlEngines = engines.filter((engine) => engine !== 'mongodb');
const ndjson = { 'content-type': 'application/x-ndjson' };
const lines = (from: number, to: number, toRecord = (id: number): object => ({ id, amount: id * 2 })) => {
  const all: string[] = [];
  for (let id = from; id <= to; id++) all.push(JSON.stringify(toRecord(id)));
  return `${all.join('\n')}\n`;
};

describe.each(sqlEngines)('records in bulk at %s', (engine) => {
  const table = `bulk_${randomBytes(4).toString('hex')}`;
  let hubId: string;
  let sourceId: string;
  let insert: string;
  let plain: string;
  let read: string;
  const ddl = (query: string) =>
    execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
  const store = async (query: string, more: object = {}) => {
    const command = query.split(' ', 1)[0];
    const body = { hubId, sourceId, label: 'q', query, command, ...more };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId as string;
  };
  const load = (raw: string, query = '', headers: Record<string, string> = ndjson, queryId = insert) =>
    api.call('POST', `/v1/queries/${queryId}/rows${query}`, { raw, headers });
  const stored = async () => {
    const { data } = await api.ok(api.post('/v1/queries/execute', { queryId: read }));
    return { count: Number(data[0].n), sum: Number(data[0].s ?? 0) };
  };

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} rows` })));
    sourceId = await createSource(hubId, engine);
    await ddl(
      `CREATE TABLE ${table} (id INT NOT NULL PRIMARY KEY, amount DECIMAL(30, 10), note VARCHAR(200))`,
    );
    insert = await store(`INSERT INTO ${table} (id, amount, note) VALUES (:id, :amount, :note)`, {
      context: [
        { key: 'id', type: 'integer', required: true },
        { key: 'amount', type: 'decimal', required: false },
        { key: 'note', type: 'string', required: false },
      ],
    });
    plain = await store(`INSERT INTO ${table} (id, amount, note) VALUES (:id, :amount, :note)`);
    read = await store(`SELECT COUNT(*) AS n, SUM(amount) AS s FROM ${table}`);
  });
  afterEach(() => ddl(`DELETE FROM ${table}`));
  afterAll(() => ddl(`DROP TABLE ${table}`));

  it('are written in one transaction, with every digit', async () => {
    const body = `${lines(1, 2_500)}\n{"id": 2501, "amount": 1234567890123456789.5, "note": "ä"}`;
    const first = await load(body);
    expect([first.status, first.body]).toEqual([
      200,
      { records: 2_501, affectedRows: 2_501, committedLines: 2_502 },
    ]);
    const { data } = await execute({
      ...{ hubId, sourceId, command: 'SELECT' },
      query: `SELECT CAST(amount AS CHAR(40)) AS a FROM ${table} WHERE id = 2501`,
    });
    expect(data[0].a.trim()).toBe('1234567890123456789.5000000000');
    expect(await stored()).toMatchObject({ count: 2_501 });
  });

  it('of CSV are typed as the values of a URL', async () => {
    const csv = 'amount,note,id\r\n1.50,"a, ""b""\nc",1\r\n,,2\r\n';
    const { status, body } = await load(csv, '', { 'content-type': 'text/csv' });
    expect([status, body]).toEqual([200, { records: 2, affectedRows: 2, committedLines: 4 }]);
    const { data } = await execute({
      ...{ hubId, sourceId, command: 'SELECT' },
      query: `SELECT id, amount, note FROM ${table} ORDER BY id`,
    });
    expect(data).toMatchObject([
      { id: 1, amount: 1.5, note: 'a, "b"\nc' },
      { id: 2, amount: null, note: '' },
    ]);
    const unknown = await load('id,other\n3,1\n', '', { 'content-type': 'text/csv' });
    expect([unknown.status, unknown.body.code, unknown.body.line]).toEqual([400, 'VALIDATION', 2]);
  });

  it('of CSV have lists as JSON, as the hub writes them', async () => {
    const queryId = await store(
      `INSERT INTO ${table} (id, note) SELECT :id, CASE WHEN 'p' IN (:tags) THEN 'p' ELSE '-' END FROM (SELECT 1 AS one) AS o`,
      {
        context: [
          { key: 'id', type: 'integer' },
          { key: 'tags', type: 'string[]', value: ['p'] },
        ],
      },
    );
    const csv = 'id,tags\n1,"[""q"",""p""]"\n2,"[""q""]"\n3,[]\n4,\n5,p\n';
    const answer = await load(csv, '', { 'content-type': 'text/csv' }, queryId);
    expect([answer.status, answer.body.records]).toEqual([200, 5]);
    const { data } = await execute({
      ...{ hubId, sourceId, command: 'SELECT' },
      query: `SELECT id, note FROM ${table} ORDER BY id`,
    });
    expect(data.map(({ note }: { note: string }) => note)).toEqual(['p', '-', '-', 'p', 'p']);
    const cut = await load('id,tags\n6,[q\n', '', { 'content-type': 'text/csv' }, queryId);
    expect([cut.status, cut.body.code, cut.body.line]).toEqual([422, 'CONTEXT_INVALID', 2]);
  });

  it.each([
    ['violates a constraint', '{"id": 7, "amount": 1}', 409, 'CONSTRAINT'],
    ['lacks a value', '{"amount": 1}', 422, 'CONTEXT_INVALID'],
    ['is no JSON', '{"id": ', 422, 'CONTEXT_INVALID'],
    ['is no object', '[1]', 422, 'CONTEXT_INVALID'],
    ['has a member twice', '{"id": 9000, "id": 9001}', 422, 'CONTEXT_INVALID'],
    ['has half of a surrogate pair', '{"id": 9000, "note": "x\\ud800y"}', 422, 'CONTEXT_INVALID'],
    [
      'is nested too deeply',
      `{"id": 9000, "note": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      400,
      'VALIDATION',
    ],
  ])('change nothing if one of them %s, and the problem has its line', async (_, bad, status, code) => {
    const answer = await load(`${lines(1, 2_300)}${bad}\n${lines(3_000, 3_500)}`);
    expect([answer.status, answer.body.code, answer.body.line]).toEqual([status, code, 2_301]);
    expect(answer.body.detail).toMatch(/^Line 2301/);
    expect(await stored()).toMatchObject({ count: 0 });
  });

  it('with a member that is no variable are refused, as such columns of CSV are', async () => {
    const refused = await load('{"id": 1, "amout": 5}\n');
    expect([refused.status, refused.body.code]).toEqual([422, 'CONTEXT_INVALID']);
    expect(refused.body.detail).toContain('amout');
    expect(await stored()).toMatchObject({ count: 0 });
  });

  it('change nothing if a value does not fit its column', async () => {
    const tooLong = (id: number) => ({ id, amount: null, note: id === 1_700 ? 'x'.repeat(300) : 'y' });
    const { status, body } = await load(lines(1, 2_000, tooLong), '', ndjson, plain);
    expect([status, body.code, body.line]).toEqual([422, 'SQL_REJECTED', 1_700]);
    expect(await stored()).toMatchObject({ count: 0 });
  });

  it('are committed in portions if asked, and go on from the next line', async () => {
    const body = `${lines(1, 1_250)}{"id": 1}\n${lines(2_000, 2_100)}`;
    const failed = await load(body, '?commitEvery=100');
    expect([failed.status, failed.body]).toMatchObject([
      409,
      { code: 'CONSTRAINT', line: 1_251, committedLines: 1_200 },
    ]);
    expect(await stored()).toMatchObject({ count: 1_200 });
    const mended = body.replace('{"id": 1}\n', '{"id": 1999}\n');
    const rest = await load(mended, `?commitEvery=100&from=${failed.body.committedLines + 1}`);
    expect([rest.status, rest.body]).toEqual([
      200,
      { records: 152, affectedRows: 152, committedLines: 1_352 },
    ]);
    expect(await stored()).toMatchObject({ count: 1_352 });
  });

  if (engine === 'postgres')
    it('say what is committed if the connection breaks in a later portion', async () => {
      const end = 'pg_terminate_backend(CASE WHEN :id = 7 THEN pg_backend_pid() END)';
      const breaking = await store(`INSERT INTO ${table} (id) SELECT :id WHERE ${end} IS NOT TRUE`, {
        context: [{ key: 'id', type: 'integer', required: true }],
      });
      const body = lines(1, 8, (id) => ({ id }));
      const failed = await load(body, '?commitEvery=3', ndjson, breaking);
      expect([failed.status, failed.body]).toMatchObject([
        502,
        { code: 'SOURCE_UNREACHABLE', committedLines: 6, detail: expect.not.stringContaining('nothing') },
      ]);
      expect(await stored()).toMatchObject({ count: 6 });
      const whole = await load(
        lines(7, 8, (id) => ({ id })),
        '',
        ndjson,
        breaking,
      );
      expect([whole.status, whole.body.detail]).toEqual([
        502,
        expect.stringContaining('nothing was changed'),
      ]);
    });

  it('are rolled back if the client leaves', async () => {
    const { url, key } = inject('hub');
    const { hostname, port } = new URL(url);
    const options = { method: 'POST', path: `/v1/queries/${insert}/rows`, hostname, port };
    const call = request({ ...options, headers: { ...ndjson, 'x-service-api-key': key } });
    call.on('error', () => {});
    call.write(lines(1, 30_000));
    // The next upload waits for the locks of this one, or finds its rows gone.
    await new Promise((resolve) => setTimeout(resolve, 200));
    call.destroy();
    expect((await load(lines(1, 3))).body).toMatchObject({ records: 3 });
    expect(await stored()).toMatchObject({ count: 3 });
  });

  it('report progress as NDJSON', async () => {
    const headers = { ...ndjson, accept: 'application/x-ndjson' };
    const { status, text } = await load(lines(1, 10), '', headers);
    const last = JSON.parse(text.trim().split('\n').at(-1) as string);
    expect([status, last]).toEqual([200, { records: 10, affectedRows: 10, committedLines: 10 }]);
  });

  it.each([
    ['no records', '\n\n', ndjson, '', 400, 'VALIDATION'],
    ['JSON', '{"id": 1}', { 'content-type': 'application/json' }, '', 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a bad parameter', '{"id": 1}', ndjson, '?commitEvery=0', 400, 'VALIDATION'],
    ['an unknown parameter', '{"id": 1}', ndjson, '?x=0', 400, 'VALIDATION'],
    ['an Idempotency-Key', '{"id": 1}', { ...ndjson, 'idempotency-key': 'k' }, '', 400, 'VALIDATION'],
  ])('are refused with %s', async (_, raw, headers, query, status, code) => {
    const answer = await load(raw, query, headers);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('are refused by a query that reads, and by a key that may not write', async () => {
    const reads = await load('{}\n', '', ndjson, read);
    expect([reads.status, reads.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const { key } = await api.ok(api.post('/v1/keys', { name: 'reader', scopes: ['queries:execute'] }));
    const denied = await api.call('POST', `/v1/queries/${insert}/rows`, {
      raw: '{"id":1}',
      headers: ndjson,
      key,
    });
    expect([denied.status, denied.body.code]).toEqual([403, 'SCOPE_DENIED']);
  });
});
