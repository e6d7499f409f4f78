import { beforeAll, describe, expect, it } from 'vitest';
import { api, createSource, engines } from '../support/hub.ts';

const summarize = (context: unknown, options?: object) =>
  api.post('/v1/ai/summarize', { context, ...(options === undefined ? {} : { options }) });

const article = [
  'The harbour of Elm was closed on Monday after a storm damaged its main pier.',
  'Winds of up to 120 kilometres an hour were measured during the night.',
  'Fishing boats could not leave, and two ferries were sent to other ports.',
  'The mayor said that the pier would be repaired within three weeks.',
  'Engineers found cracks in four of the pillars that carry the pier.',
  'A school near the harbour stayed closed because its roof had been torn off.',
  'The storm was the strongest since the harbour was built in 1962.',
  'Residents helped to clear the streets of fallen trees on Tuesday.',
  'The repair of the pier is expected to cost two million euros.',
  'The regional government promised to pay half of the cost of the repair.',
];

describe('POST /v1/ai/summarize', () => {
  it('returns fewer sentences than the text has, in their order', async () => {
    const { status, body } = await summarize([article]);
    expect(status).toBe(200);
    const chosen = article.filter((sentence) => body.generated.includes(sentence));
    expect(chosen.join(' ')).toBe(body.generated);
    expect(chosen.length).toBeGreaterThan(0);
    expect(chosen.length).toBeLessThan(article.length / 2);
    expect((await summarize([article])).body).toEqual(body);
  });

  it('accepts a flat array, and one text of many sentences', async () => {
    const flat = await summarize([article.join(' ')]);
    expect(flat.status).toBe(200);
    for (const sentence of flat.body.generated.split(/(?<=\.) /)) expect(article).toContain(sentence);
  });

  it('contains a sentence once if two documents have it', async () => {
    const { body } = await summarize([article, article]);
    const sentences = body.generated.split(/(?<=\.) /);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it('respects the requested length', async () => {
    const one = await summarize([article], { sentences: 1 });
    expect(article).toContain(one.body.generated);
    const short = await summarize([article], { maxWords: 30 });
    expect(short.body.generated.split(/\s+/).length).toBeLessThanOrEqual(33);
  });

  it.each(['Only one sentence.', 'no full stop', '你好，世界。', 'สวัสดีชาวโลก'])(
    'returns %j unchanged',
    async (text) => {
      expect((await summarize([[text]])).body.generated).toBe(text);
    },
  );

  it('refuses an unknown language and too few words, and reports the allowed values', async () => {
    for (const [options, pointer, detail] of [
      [{ language: 'xx' }, '/options/language', /^must be one of ar, .*, en, .*zh, optionally with a region/],
      [{ maxWords: 3 }, '/options/maxWords', /^must be at least 11: the shortest sentence has 11 words/],
    ] as const) {
      const { status, body } = await summarize([article], options);
      expect([status, body.errors]).toEqual([400, [{ pointer, detail: expect.stringMatching(detail) }]]);
    }
    expect((await summarize([article], { language: 'en-GB' })).status).toBe(200);
    const { body } = await summarize([article], { maxWords: 11 });
    expect(article).toContain(body.generated);
  });

  it('includes a sentence of each of two short texts', async () => {
    const { body } = await summarize([article.slice(0, 3).join(' '), article.slice(5, 8).join(' ')]);
    expect(article.slice(0, 3).some((sentence) => body.generated.includes(sentence))).toBe(true);
    expect(article.slice(5, 8).some((sentence) => body.generated.includes(sentence))).toBe(true);
  });

  it('refuses too many passages', async () => {
    const { status, body } = await summarize([Array.from({ length: 100_001 }, () => 'Word.')]);
    expect([status, body.code]).toEqual([413, 'TOO_LARGE']);
  });

  it.each([[[]], [[[]]], [[['']]], [[[' ', '\n']]], ['text'], [[1]]])('refuses %j', async (context) => {
    const { status, body } = await summarize(context);
    expect([status, body.code]).toEqual([400, 'VALIDATION']);
  });
});

describe('POST /v1/ai/summarize of a column', () => {
  let hubId: string;
  let sourceId: string;
  let queryId: string;
  const store = async (rows: string[], where = '', more: object = {}): Promise<string> => {
    const selects = rows.map((row, i) => `SELECT ${i} AS id, ${row} AS body`);
    const query = `SELECT id, body FROM (${selects.join(' UNION ALL ')}) AS t ${where}`;
    const stored = api.post('/v1/queries', { hubId, sourceId, label: 'q', query, ...more });
    return (await api.ok(stored)).config.query.queryId;
  };
  const summarizeColumn = (body: object, key?: string) =>
    api.post('/v1/ai/summarize', { text: 'body', ...body }, key === undefined ? {} : { key });

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'summaries' })));
    sourceId = await createSource(
      hubId,
      engines.find((engine) => engine !== 'mongodb'),
    );
    queryId = await store([...article.map((sentence) => `'${sentence}'`), 'NULL', "' '"], 'ORDER BY id');
  });

  it('is the summary of its texts', async () => {
    const options = { sentences: 3 };
    const expected = await api.ok(summarize(article, options));
    expect(await api.ok(summarizeColumn({ queryId, options }))).toEqual(expected);
    const filtered = await store(
      article.map((sentence) => `'${sentence}'`),
      'WHERE id < :most ORDER BY id',
      { context: [{ key: 'most', type: 'integer' }] },
    );
    expect(await api.ok(summarizeColumn({ queryId: filtered, context: { most: 4 }, options }))).toEqual(
      await api.ok(summarize(article.slice(0, 4), options)),
    );
  });

  it('refuses columns that are unknown, have no text or too much of it', async () => {
    const answered = async (body: object) => {
      const { status, body: problem } = await summarizeColumn(body);
      return [status, problem.code, problem.errors?.[0]?.pointer];
    };
    const detailOf = async (body: object) => (await summarizeColumn(body)).body.errors[0].detail;
    expect(await answered({ queryId, text: 'nope' })).toEqual([400, 'VALIDATION', '/text']);
    expect(await detailOf({ queryId, text: 'nope' })).toBe('is not a column of any row');
    expect(await detailOf({ queryId: await store(['NULL']) })).toBe('is NULL or blank in every row');
    expect(await detailOf({ queryId: await store(["'a'"], 'WHERE id > 0') })).toBe(
      'has no text, because the query returned no rows',
    );
    expect(await answered({ queryId, text: undefined })).toEqual([400, 'VALIDATION', '/text']);
    expect(await answered({ queryId, context: ['a'] })).toEqual([400, 'VALIDATION', '/context']);
    expect(await answered({ context: ['a'] })).toEqual([400, 'VALIDATION', '/text']);
    expect(await answered({ queryId: 'nope' })).toEqual([404, 'NOT_FOUND', undefined]);
    const digits = `(SELECT 0 AS n ${Array.from({ length: 9 }, (_, i) => `UNION ALL SELECT ${i + 1}`).join(' ')})`;
    const many = [1, 2, 3, 4, 5].map((i) => `${digits} AS d${i}`).join(' CROSS JOIN ');
    const query = `SELECT 'A sentence of some words.' AS body FROM ${many}`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'many', query }));
    const tooMany = await answered({ queryId: stored.config.query.queryId });
    expect(tooMany).toEqual([422, 'LIMIT_EXCEEDED', undefined]);
  });

  it('needs both scopes', async () => {
    const keyWith = async (scopes: string[], limits: object = {}) =>
      (await api.ok(api.post('/v1/keys', { name: 'k', scopes, limits }))).key;
    const codeWith = async (key: string) => (await summarizeColumn({ queryId }, key)).body.code;
    expect(await codeWith(await keyWith(['ai:summarize']))).toBe('SCOPE_DENIED');
    expect(await codeWith(await keyWith(['queries:execute']))).toBe('SCOPE_DENIED');
    const other = await store(["'x'"]);
    const both = ['ai:summarize', 'queries:execute'];
    expect(await codeWith(await keyWith(both, { queryIds: [other] }))).toBe('SCOPE_DENIED');
    // The summary is of the rows that the key may have, and says so.
    expect((await summarizeColumn({ queryId }, await keyWith(both, { maxRows: 2 }))).body).toEqual({
      ...(await summarize(article.slice(0, 2))).body,
      truncated: true,
    });
  });
});
