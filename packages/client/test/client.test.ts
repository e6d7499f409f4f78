import { describe, expect, it } from 'vitest';
import { ProblemError, type Query } from '../dist/index.js';
import { type Answer, cutOff, json, problem, useServer } from './server.ts';

const { answers, client, received, url } = useServer();
const read: Query = { queryId: 'dh.q.read', reads: true };
const write = 'dh.q.write';
const rows = { data: [{ id: 1 }] };
const busy = problem(503, { code: 'SOURCE_BUSY', retryable: true }, { 'retry-after': '0' });
const failed = (promise: Promise<unknown>): Promise<ProblemError> =>
  promise.then(
    () => Promise.reject(new Error('It did not fail.')),
    (err) => err,
  );

describe('a request', () => {
  it('has the key, the values and the options, and none that are absent', async () => {
    answers(json(rows));
    expect(await client().execute(write, { ids: [1], region: undefined }, { maxRows: 2 })).toEqual(rows);
    expect(received[0]).toMatchObject({ method: 'POST', url: '/v1/queries/execute' });
    expect(received[0]?.headers).toMatchObject({
      'x-service-api-key': 'secret',
      accept: 'application/json',
      'content-type': 'application/json',
    });
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({
      queryId: write,
      context: { ids: [1] },
      options: { maxRows: 2 },
    });
    expect(received[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  it('says that the query must read, if its module does', async () => {
    answers(json(rows));
    await client().execute(read, {}, { maxRows: 2 });
    expect(JSON.parse(received[0]?.body ?? '').options).toEqual({ maxRows: 2, reads: true });
  });

  it('names a query by its path in a hub', async () => {
    const query: Query = { hubId: 'shop', path: 'reports/by-region' };
    answers(json(rows), json(rows));
    await client().execute(query, { n: 1 });
    expect(JSON.parse(received[0]?.body ?? '')).toMatchObject({ hubId: 'shop', path: 'reports/by-region' });
    await client().data(query, { n: 1 });
    expect(received[1]?.url).toBe('/v1/hubs/shop/data/reports/by-region?n=1');
  });

  it('writes a bigint as a number with all digits, at each depth', async () => {
    answers(json(rows), json(rows));
    await client().execute(write, { id: 9007199254740993n, doc: { ids: [9007199254740993n, 5n] } });
    expect(received[0]?.body).toContain('{"id":9007199254740993,"doc":{"ids":[9007199254740993,5]}}');
    await client().data(read, { id: 9007199254740993n, doc: { id: 9007199254740993n } });
    const { searchParams } = new URL(received[1]?.url ?? '', url());
    expect([...searchParams.values()]).toEqual(['9007199254740993', '{"id":9007199254740993}']);
  });

  it('writes all else as JSON.stringify does', async () => {
    answers(json(rows), json(rows));
    const at = new Date(0);
    const values = {
      'a"': 'b"\u2028\ud800',
      at,
      list: [],
      none: { a: undefined, b: null, c: [-0, 1e21, true, {}] },
    };
    await client().execute(write, values as never);
    expect(received[0]?.body).toBe(JSON.stringify({ queryId: write, context: values, options: {} }));
    await client().data(read, { at } as never);
    expect(received[1]?.url).toContain('?at=1970-01-01T00%3A00%3A00.000Z');
  });

  it.each([
    ['price', NaN],
    ['price', -Infinity],
    ['price', { price: [1, NaN] }],
    ['at', new Date('x')],
    ['ids', [1, undefined]],
    ['make', () => 1],
  ])('is not sent with a value that JSON would turn into null or leave out: %s %s', (name, value) => {
    expect(() => client().execute(write, { [name]: value } as never)).toThrow(`${name}: `);
    expect(() => client().data(read, { [name]: value } as never)).toThrow(`${name}: `);
    expect(received).toEqual([]);
  });

  it('over GET has the values in the URL', async () => {
    answers(json(rows));
    const values = { region: 'a b&c', ids: [1, 2], at: { x: 1 }, none: undefined };
    await client().data(read, values, { maxRows: 3 });
    expect(received[0]).toMatchObject({ method: 'GET', body: '' });
    const { pathname, searchParams } = new URL(received[0]?.url ?? '', url());
    expect(pathname).toBe('/v1/queries/dh.q.read/data');
    expect([...searchParams]).toEqual([
      ...[['region', 'a b&c'] as const, ['ids', '1'] as const, ['ids', '2'] as const],
      ['at', '{"x":1}'],
      ['options.maxRows', '3'],
    ]);
    expect(() => client().data(read, { ids: [] })).toThrow('Use execute');
    expect(() => client().data(read, { id: null })).toThrow('Use execute');
  });

  it('of another route fills its path, and refuses ids that would name another path', async () => {
    answers(json({}));
    const path = { classifierId: 'dh.clfr.a/b', classId: 'c' };
    await client().call('DELETE /v1/classifiers/{classifierId}/classes/{classId}', { path, ifMatch: '"3"' });
    expect(received[0]).toMatchObject({ method: 'DELETE', url: '/v1/classifiers/dh.clfr.a%2Fb/classes/c' });
    expect(received[0]?.headers['if-match']).toBe('"3"');
    for (const hubId of ['', '.', '..']) {
      expect(() => client().call('DELETE /v1/hubs/{hubId}', { path: { hubId } })).toThrow('is no id');
    }
  });

  it('follows no redirect, which would send the key elsewhere', async () => {
    answers((response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end());
    expect(await failed(client().execute(read))).toBeInstanceOf(ProblemError);
    expect(received).toHaveLength(1);
  });
});

describe('a failure', () => {
  it('is a ProblemError with what the hub said', async () => {
    answers(problem(422, { code: 'CONTEXT_INVALID', detail: 'context.id is missing.', requestId: 'r' }));
    const err = await failed(client().execute(read));
    expect(err).toBeInstanceOf(ProblemError);
    expect(err).toMatchObject({ name: 'ProblemError', status: 422, code: 'CONTEXT_INVALID', requestId: 'r' });
    expect(err.message).toBe('context.id is missing.');
  });

  it('of something that is no hub has its status', async () => {
    answers((response) => response.writeHead(418).end('<html>'));
    expect(await failed(client().execute(read))).toMatchObject({ status: 418, code: undefined });
  });

  it('is retryable only if a repeat is safe: the answer of a write may have been lost', async () => {
    const lost = async (query: string | Query, options = {}) => {
      answers(cutOff);
      return (await failed(client({ retries: 0 }).execute(query, {}, options))).problem.retryable;
    };
    expect([await lost(write), await lost(read), await lost(write, { idempotencyKey: 'k' })]).toEqual([
      false,
      true,
      true,
    ]);
    answers((response) => {
      response.write('{"id":1}\n');
      response.destroy();
    });
    const loop = async () => {
      for await (const _row of client().rows(write));
    };
    expect((await failed(loop())).problem.retryable).toBe(false);
    // Nobody listens at this port.
    const away = client({ url: 'http://127.0.0.1:2', retries: 0 });
    expect((await failed(away.execute(write))).problem.retryable).toBe(true);
  });

  it('of a prediction passes if it is sent again', async () => {
    answers(cutOff, json({ label: 'a' }));
    const path = { classifierId: 'c' };
    await client().call('POST /v1/classifiers/{classifierId}/predict', { path, body: { context: 'x' } });
    expect(received).toHaveLength(2);
  });

  it('never shows the key', async () => {
    answers(cutOff);
    const err = await failed(client({ retries: 0 }).execute(read));
    expect(err).toMatchObject({ status: 0, code: 'NO_ANSWER' });
    expect(JSON.stringify([err.message, err.problem, String(err.cause)])).not.toContain('secret');
  });

  it('gets an error when the hub is silent for too long', async () => {
    answers(() => {});
    const err = await failed(client({ timeoutMs: 2_000 }).execute(read));
    expect(err).toMatchObject({ status: 0, code: 'TIMEOUT' });
    expect(received).toHaveLength(1);
  });
});

describe('a retry', () => {
  const cases: [string, Answer][] = [
    ['a busy source', busy],
    ['a lost connection', cutOff],
    ['a proxy without a hub', (response) => response.writeHead(502, { 'retry-after': '0' }).end()],
    ['half an answer', (response) => response.writeHead(200).end('{"data":[{')],
  ];
  it.each(cases)('of a read follows %s', async (_name, answer) => {
    answers(answer, json(rows));
    expect(await client().execute(read)).toEqual(rows);
    expect(received).toHaveLength(2);
    answers(answer, json(rows));
    expect(await client().data('dh.q.any')).toEqual(rows);
    answers(answer, json([]));
    expect(await client().call('GET /v1/hubs')).toEqual([]);
    answers(answer, json({ problems: [] }));
    const body = { sourceId: 'dh.src.any', query: 'SELECT 1' };
    expect(await client().call('POST /v1/queries/check', { body })).toEqual({ problems: [] });
  });

  it.each(cases)('of a write does not follow %s without an Idempotency-Key', async (_name, answer) => {
    answers(answer, json(rows));
    expect(await failed(client().execute(write))).toBeInstanceOf(ProblemError);
    expect(received).toHaveLength(1);
    answers(answer, json({}));
    await failed(client().call('POST /v1/hubs', { body: { label: 'a' } }));
    expect(received).toHaveLength(2);
    answers(answer, json({}));
    await failed(client().call('DELETE /v1/hubs/{hubId}', { path: { hubId: 'a' } }));
    expect(received).toHaveLength(3);
  });

  it.each(cases)('of a write follows %s with the same Idempotency-Key', async (_name, answer) => {
    answers(answer, json(rows));
    expect(await client().execute(write, {}, { idempotencyKey: 'once' })).toEqual(rows);
    expect(received.map(({ headers }) => headers['idempotency-key'])).toEqual(['once', 'once']);
  });

  it('follows no failure that stays, and none of unknown outcome', async () => {
    for (const [status, members] of [
      [422, { code: 'SQL_REJECTED', retryable: false }],
      [503, { code: 'OUTCOME_UNKNOWN', retryable: false }],
      [401, { code: 'KEY_INVALID' }],
    ] as const) {
      answers(problem(status, members));
      expect(await failed(client().execute(read))).toMatchObject({ status });
    }
    expect(received).toHaveLength(3);
  });

  it('is tried as often as said', async () => {
    answers(busy);
    expect(await failed(client({ retries: 3 }).execute(read))).toMatchObject({ code: 'SOURCE_BUSY' });
    expect(received).toHaveLength(4);
  });

  it('waits for Retry-After, but not for long', async () => {
    answers(problem(429, {}, { 'retry-after': '1' }), json(rows));
    const startedAt = performance.now();
    await client().execute(read);
    expect(performance.now() - startedAt).toBeGreaterThan(950);
    answers(problem(429, {}, { 'retry-after': '60' }));
    expect(await failed(client().execute(read))).toMatchObject({ status: 429, retryAfterMs: 60_000 });
    expect(received).toHaveLength(3);
  });
});

describe('a signal', () => {
  const reason = new Error('enough');

  it('ends a request, a wait and a loop over rows with its own reason', async () => {
    answers(() => {});
    const stopped = AbortSignal.abort(reason);
    expect(await failed(client().execute(read, {}, { signal: stopped }))).toBe(reason);
    expect(received).toHaveLength(0);
    const stopping = new AbortController();
    const running = failed(client().execute(read, {}, { signal: stopping.signal }));
    await expect.poll(() => received.length).toBe(1);
    stopping.abort(reason);
    expect(await running).toBe(reason);

    answers(problem(429, {}, { 'retry-after': '9' }));
    const waiting = new AbortController();
    const retried = failed(client().execute(read, {}, { signal: waiting.signal }));
    await expect.poll(() => received.length).toBe(2);
    waiting.abort(reason);
    expect(await retried).toBe(reason);

    answers((response) => response.write('{"id":1}\n'));
    const loop = new AbortController();
    const seen: unknown[] = [];
    const looping = async () => {
      for await (const row of client().rows(read, {}, { signal: loop.signal })) {
        seen.push(row);
        loop.abort(reason);
      }
    };
    expect(await failed(looping())).toBe(reason);
    expect(seen).toEqual([{ id: 1 }]);
  });
});
