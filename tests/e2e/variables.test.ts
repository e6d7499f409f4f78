import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

describe.each(engines.filter((engine) => engine !== 'postgres'))('a list on %s', (engine) => {
  it('becomes its elements in any IN, and is refused in a comparison', async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} lists` }));
    const sourceId = await createSource(hubId, engine);
    const numbers = '(SELECT 1 AS id UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 5) t';
    const attempt = (condition: string, values: object) =>
      api.post('/v1/queries/try', {
        sourceId,
        query: `SELECT id FROM ${numbers} WHERE ${condition} ORDER BY id`,
        values,
      });
    const { body } = await attempt('id NOT IN (:ids, 5)', { ids: [1, 2] });
    expect(body.data).toEqual([{ id: 3 }]);
    const { status, body: problem } = await attempt('id <> :ids', { ids: [1] });
    expect([status, problem.code, problem.errors]).toEqual([
      422,
      'CONTEXT_INVALID',
      [
        {
          pointer: '/values/ids',
          detail: 'must not be a list here, because it is compared with one value. Write IN (:ids)',
        },
      ],
    ]);
    const query = `SELECT id FROM ${numbers} WHERE id IN (5, :ids) OR id = :ids`;
    const { problems, signature } = await api.ok(api.post('/v1/queries/check', { sourceId, query }));
    expect(problems).toMatchObject([{ severity: 'warning', code: 'LIST_COMPARED' }]);
    expect(signature.variables).toMatchObject([{ key: 'ids', list: true }]);
  });
});

describe.each(engines)('a declared variable on %s', (engine) => {
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} variables` })));
    sourceId = await createSource(hubId, engine);
  });

  const store = async (query: string, change: object) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...change }))).config.query
      .queryId as string;

  const run = (queryId: string, context?: object) => api.post('/v1/queries/execute', { queryId, context });

  const repeating: Record<string, string> = {
    postgres: 'make_date(:pin, 13, 40)',
    mysql: "ST_SRID(ST_GeomFromText('POINT(1 1)'), :pin)",
  };
  // MariaDB has no such message.
  if (repeating[engine] !== undefined)
    it('is in no message of the database if it is secret, or if the key sets it', async () => {
      const of = (secret: boolean) =>
        store(`SELECT ${repeating[engine]}`, { context: [{ key: 'pin', type: 'integer', secret }] });
      const detailOf = async (queryId: string, context: object, key?: string) => {
        const { status, body } = await api.post('/v1/queries/execute', { queryId, context }, { key });
        return [status, body.detail.includes('748392')];
      };
      const [secret, plain] = [await of(true), await of(false)];
      expect(await detailOf(plain, { pin: 748_392 })).toEqual([422, true]);
      expect(await detailOf(secret, { pin: 748_392 })).toEqual([422, false]);
      const limits = { queryIds: [plain], context: { pin: 748_392 } };
      const { key } = await api.ok(api.post('/v1/keys', { name: 'pins', limits }));
      expect(await detailOf(plain, {}, key)).toEqual([422, false]);
    });

  it('means one moment by a declared timestamp in a comparison, and refuses one that does not exist', async () => {
    const moment =
      engine === 'postgres' ? "TIMESTAMP '2026-01-02 00:00:00'" : "TIMESTAMP'2026-01-02 00:00:00'";
    const context = [{ key: 'at', type: 'timestamp' }];
    const queryId = await store(`SELECT CASE WHEN ${moment} = :at THEN 'same' ELSE 'other' END AS is_it`, {
      context,
    });
    for (const at of ['2026-01-01T24:00:00Z', '2026-01-01T23:59:60Z', '2026-01-01T23:59:59.9999999Z'])
      expect((await run(queryId, { at })).body).toEqual({ data: [{ is_it: 'same' }] });
    for (const at of [
      '2026-02-29T00:00:00Z',
      '2026-01-01T25:00:00Z',
      '2026-01-02T00:00:00+24:00',
      '2026-02-30',
    ])
      expect((await run(queryId, { at })).body).toMatchObject({ status: 422, code: 'CONTEXT_INVALID' });
    const day = await store(`SELECT :day AS day`, { context: [{ key: 'day', type: 'date' }] });
    expect((await run(day, { day: '2026-02-30' })).status).toBe(422);
  });

  it('takes a declared timestamp as it answers one, and any zone for the moment it names', async () => {
    const cast = engine === 'postgres' ? ':at::timestamp' : 'CAST(:at AS DATETIME(3))';
    const context = [{ key: 'at', type: 'timestamp' }];
    const queryId = await store(`SELECT ${cast} AS moment`, { context });
    for (const at of [
      '2026-01-02T03:04:05.123Z',
      '2026-01-02T05:04:05.123+02:00',
      '2026-01-02 03:04:05.123',
    ]) {
      const { body } = await run(queryId, { at });
      expect(body).toEqual({ data: [{ moment: '2026-01-02T03:04:05.123' }] });
    }
  });

  it('takes a default of null for one, and refuses one that no execution could take', async () => {
    const query = 'SELECT COUNT(*) AS n FROM sales WHERE region = :region';
    const declared = (value: unknown) => ({ context: [{ key: 'region', type: 'string', value }] });
    const queryId = await store(query, declared(null));
    expect((await run(queryId)).body).toEqual({ data: [{ n: 0 }] });
    expect((await run(queryId, { region: 'north' })).body).toEqual({ data: [{ n: 1 }] });
    const body = { hubId, sourceId, label: 'q', query, ...declared(5) };
    const { status, body: problem } = await api.post('/v1/queries', body);
    expect([status, problem.errors]).toEqual([
      400,
      [{ pointer: '/context/0/value', detail: 'must be a string' }],
    ]);
  });

  it('takes the values of its enum however they are written, in a body and in a URL', async () => {
    const context = [
      { key: 'big', type: 'bigint', enum: ['9007199254740993', 7] },
      { key: 'one', type: 'decimal', enum: [1.5, 2] },
    ];
    const queryId = await store('SELECT CASE WHEN :big > :one THEN 1 END AS x', { context });
    const post = async (values: string) => {
      const raw = `{"queryId":"${queryId}","context":${values}}`;
      return (await api.post('/v1/queries/execute', undefined, { raw })).status;
    };
    for (const values of [
      '{"big":9007199254740993,"one":1.50}',
      '{"big":"9007199254740993","one":"2.0"}',
      '{"big":"7","one":2}',
    ])
      expect([values, await post(values)]).toEqual([values, 200]);
    expect(await post('{"big":9007199254740992,"one":2}')).toBe(422);
    const get = (big: string) => api.get(`/v1/queries/${queryId}/data?big=${big}&one=1.50`);
    for (const big of ['9007199254740993', '7']) expect((await get(big)).body).toEqual({ data: [{ x: 1 }] });
    expect((await get('9007199254740992')).status).toBe(422);
  });

  it('is what it is, however it is written and sent', async () => {
    const extract = engine === 'postgres' ? 'CAST(:v AS text)' : "CONCAT(JSON_EXTRACT(:v, '$'))";
    const define = async (name: string, value?: string) => {
      const context = `[{"key":"v","type":"json"${value === undefined ? '' : `,"value":${value}`}}]`;
      const tool = `{"name":${JSON.stringify(name)},"description":"d"}`;
      const query = JSON.stringify(`SELECT ${extract} AS v`);
      const raw = `{"hubId":"${hubId}","sourceId":"${sourceId}","label":"q","query":${query},"context":${context},"tool":${tool}}`;
      return (await api.ok(api.post('/v1/queries', undefined, { raw }))).config.query.queryId as string;
    };
    const tool = `shapes_${engine}`;
    const queryId = await define(tool);
    const headers = { accept: 'application/json, text/event-stream' };
    const toolAnswer = (text: string) =>
      JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '').result.content.at(-1).text as string;
    const ask = async (value: string) => {
      const post = `{"queryId":"${queryId}","context":{"v":${value}}}`;
      const rpc = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${tool}","arguments":{"v":${value}}}}`;
      const withDefault = await define(`${tool}_default`, value);
      const answers = [
        (await api.post('/v1/queries/execute', undefined, { raw: post })).text,
        (await api.get(`/v1/queries/${queryId}/data?v=${encodeURIComponent(value)}`)).text,
        toolAnswer((await api.post('/mcp', undefined, { raw: rpc, headers })).text),
        (await run(withDefault)).text,
      ];
      await api.ok(api.delete(`/v1/queries/${withDefault}`));
      return answers.map((text) => JSON.parse(text).data[0].v.replaceAll(' ', ''));
    };
    for (const [value, one, other = one] of [
      ['[]', '[]'],
      ['[ ]', '[]'],
      ['{ }', '{}'],
      ['[[],{}]', '[[],{}]'],
      ['[ 1, "a" ]', '[1,"a"]'],
      ['"[]"', '"[]"'],
      ['"\\u005b\\u005d"', '"[]"'],
      ['9007199254740993', '9007199254740993'],
      ['true', 'true'],
    ] as [string, string, string?][])
      expect([value, ...(await ask(value))]).toEqual([value, ...Array(4).fill(other)]);
  });

  it('keeps its digits in comparisons and arithmetic', async () => {
    const context = [
      { key: 'one', type: 'decimal' },
      { key: 'some', type: 'decimal[]' },
      { key: 'big', type: 'bigint' },
    ];
    const near = 'CAST(9007199254740992.1 AS DECIMAL(30,1))';
    // MySQL itself adds nothing but variables as doubles.
    const sum = engine === 'mysql' ? '0.0 + :one + :one + :one' : ':one + :one + :one';
    const queryId = await store(
      `SELECT ${sum} AS sum, :big + 1 AS next, CASE WHEN ${near} IN (:some) THEN 1 ELSE 0 END AS found`,
      { context },
    );
    const { body } = await run(queryId, {
      one: 0.1,
      some: ['9007199254740992.2', '5'],
      big: '9007199254740993',
    });
    expect(body).toEqual({ data: [{ sum: 0.3, next: '9007199254740994', found: 0 }] });
  });
});
