/** What procedures hand back: several results, OUT parameters, cursors. */

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient } from '../../packages/client/dist/index.js';
import { operateOn } from '../support/databases.ts';
import { createDatahub } from '../support/datahub.ts';
import { api, createSource, database, engines } from '../support/hub.ts';
import { read } from '../support/streaming.ts';

const onMysql = [
  'CREATE PROCEDURE two_results() BEGIN SELECT 1 AS a; SELECT 2 AS a UNION ALL SELECT 3; END',
  "CREATE PROCEDURE long_then_short() BEGIN SELECT a.id, REPEAT('x', 2000) AS t FROM sales a, sales b, sales c, sales d, sales e; SELECT 1 AS z; END",
  'CREATE PROCEDURE doubles(n INT, OUT twice INT) BEGIN SET twice = 2 * n; END',
];
const onPostgres = [
  'CREATE PROCEDURE doubles(n int, OUT twice int) LANGUAGE plpgsql AS $$ BEGIN twice := 2 * n; END $$',
  "CREATE PROCEDURE opens_cursor(INOUT c refcursor) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO scratch VALUES (77, 'x'); OPEN c FOR SELECT 1; END $$",
  'CREATE FUNCTION cursors() RETURNS SETOF refcursor LANGUAGE plpgsql AS $$ DECLARE c refcursor; BEGIN OPEN c FOR SELECT 1; RETURN NEXT c; END $$',
];
const names = ['PROCEDURE two_results', 'PROCEDURE long_then_short', 'PROCEDURE doubles'];
const namesOnPostgres = ['PROCEDURE doubles', 'PROCEDURE opens_cursor', 'FUNCTION cursors'];

describe.each(engines)('a procedure on %s', (engine) => {
  const isPostgres = engine === 'postgres';
  const drops = (isPostgres ? namesOnPostgres : names).map(
    (name) => `DROP ${name.replace(' ', ' IF EXISTS ')}`,
  );
  let hubId: string;
  let sourceId: string;

  beforeAll(async () => {
    await operateOn(database(engine), engine, [...drops, ...(isPostgres ? onPostgres : onMysql)]);
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `${engine} procedures` })));
    sourceId = await createSource(hubId, engine);
  });
  afterAll(() => operateOn(database(engine), engine, drops));

  const store = async (query: string, command = 'CALL') =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, command }))).config.query
      .queryId as string;
  const run = (queryId: string, options: object = {}, accept = 'application/json', context: object = {}) =>
    api.post('/v1/queries/execute', { queryId, context, options }, { headers: { accept } });

  it('returns its OUT parameters', async () => {
    const queryId = await store(isPostgres ? 'CALL doubles(:n::int, NULL)' : 'CALL doubles(:n, :twice)');
    const context = isPostgres ? { n: 4 } : { n: 4, twice: null };
    expect((await run(queryId, {}, undefined, context)).body).toEqual({ data: [{ twice: 8 }] });
    const { body } = await run(queryId, { results: 'all', meta: true }, undefined, context);
    expect(body.results).toEqual([
      { columns: [{ name: 'twice', type: isPostgres ? 'integer' : 'int' }], rows: [{ twice: 8 }] },
    ]);
    const { results } = await createClient(inject('hub')).results(queryId, context);
    expect(results).toEqual(body.results);
    expect(body.meta).toEqual({
      rowCount: 1,
      durationMs: expect.any(Number),
      queueMs: expect.any(Number),
    });
  });

  it('returns all results only as JSON, and only if the query writes', async () => {
    const write = await store(isPostgres ? 'CALL doubles(4, NULL)' : 'CALL two_results()');
    for (const accept of ['text/csv', 'application/x-ndjson', 'application/vnd.apache.arrow.stream']) {
      const { status, body } = await run(write, { results: 'all' }, accept);
      expect([status, body.code]).toEqual([422, 'OPTION_REFUSED']);
      expect(body.detail).toContain('JSON');
    }
    const reads = await run(await store('SELECT 1 AS a', 'SELECT'), { results: 'all' });
    expect([reads.status, reads.body.code]).toEqual([422, 'OPTION_REFUSED']);
    const unknown = await run(write, { results: 'some' });
    expect(unknown.status).toBe(400);
  });

  if (isPostgres) {
    it('is refused before it runs if it returns a cursor', async () => {
      const text = 'CALL opens_cursor(NULL)';
      for (const [query, command] of [
        [text, 'CALL'],
        ['SELECT cursors() AS c', 'CALL'],
        ['SELECT cursors() AS c', 'SELECT'],
      ] as const) {
        const { status, body } = await run(await store(query, command));
        expect([status, body.code]).toEqual([422, 'SQL_REJECTED']);
        expect(body.detail).toContain('cursor in its column "c"');
      }
      const left = await run(await store('SELECT id FROM scratch WHERE id = 77', 'SELECT'));
      expect(left.body).toEqual({ data: [] });
    });
    return;
  }

  it('says in each format that there are further results', async () => {
    const queryId = await store('CALL two_results()');
    const json = await run(queryId);
    expect(json.body).toEqual({ data: [{ a: 1 }], truncated: true, moreResults: true });
    expect((await run(queryId, {}, 'application/x-ndjson')).text).toBe('{"a":1}\n{"truncated":true}\n');
    for (const accept of ['text/csv', 'application/vnd.apache.arrow.stream']) {
      const reader = read(inject('hub'), { queryId, accept });
      await reader.begun;
      reader.resume();
      const { complete, trailers } = await reader.ended;
      expect([complete, trailers]).toEqual([true, { 'x-truncated': 'true', 'x-more-results': 'true' }]);
    }
    expect(json.headers.get('x-more-results')).toBe('true');
    const all = await run(queryId, { results: 'all' });
    expect(all.body.results.map(({ rows }: { rows: object[] }) => rows)).toEqual([
      [{ a: 1 }],
      [{ a: 2 }, { a: 3 }],
    ]);
    expect(all.headers.get('x-more-results')).toBeNull();
  });

  it('says so at the end of a long first result', async () => {
    const queryId = await store('CALL long_then_short()');
    const { body } = await run(queryId);
    expect([body.data.length, body.truncated, body.moreResults]).toEqual([243, true, true]);
    const { results } = (await run(queryId, { results: 'all' })).body;
    expect([results[0].rows.length, results[1]]).toEqual([
      243,
      { columns: [{ name: 'z', type: expect.stringMatching(/int/) }], rows: [{ z: 1 }] },
    ]);
  });

  it('is run by the command line, which shows further results', async () => {
    const { url, key } = inject('hub');
    const program = await createDatahub({ DATAHUB_URL: url, DATAHUB_API_KEY: key });
    try {
      const queryId = await store('CALL two_results()');
      const first = await program.run(['run', queryId, '--format', 'csv']);
      expect(first).toMatchObject({ stdout: 'a\r\n1\r\n', stderr: expect.stringContaining('--all-results') });
      const all = JSON.parse(await program.ok(['run', queryId, '--all-results']));
      expect(all.results).toHaveLength(2);
    } finally {
      await program.close();
    }
  });
});
