import { type IncomingMessage, request } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createZstdDecompress } from 'node:zlib';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { api, createSource, engines, sourceBody } from '../support/hub.ts';

const decoders: Record<string, () => Transform> = {
  zstd: createZstdDecompress,
  br: createBrotliDecompress,
  gzip: createGunzip,
};
const engine = engines.includes('postgres') ? 'postgres' : (engines[0] as string);

interface Received {
  coding: string;
  vary: string;
  bytes: number;
  text: string;
  headers: IncomingMessage['headers'];
  trailers: IncomingMessage['trailers'];
}

function ask(
  path: string,
  acceptEncoding: string | undefined,
  options: Options = {},
): Promise<IncomingMessage> {
  const { url, key } = inject('hub');
  const body = options.body === undefined ? undefined : JSON.stringify(options.body);
  const headers = {
    'x-service-api-key': key,
    ...(acceptEncoding === undefined ? {} : { 'accept-encoding': acceptEncoding }),
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    ...options.headers,
  };
  return new Promise((resolve, reject) => {
    request(url + path, { method: body === undefined ? 'GET' : 'POST', agent: false, headers }, resolve)
      .on('error', reject)
      .end(body);
  });
}

interface Options {
  body?: object;
  headers?: Record<string, string>;
}

async function receive(
  path: string,
  acceptEncoding: string | undefined,
  options?: Options,
): Promise<Received> {
  const response = await ask(path, acceptEncoding, options);
  const coding = response.headers['content-encoding'] ?? '';
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  const decoded = coding === '' ? response : response.pipe((decoders[coding] as () => Transform)());
  const chunks: Buffer[] = [];
  for await (const chunk of decoded) chunks.push(chunk as Buffer);
  const { headers, trailers } = response;
  return { coding, vary: headers.vary ?? '', bytes, text: String(Buffer.concat(chunks)), headers, trailers };
}

describe('compression', () => {
  let hubId: string;
  let sourceId: string;
  let small: string;
  let middle: string;
  let large: string;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: 'compression' })));
    sourceId = await createSource(hubId, engine);
    small = await store('SELECT 1 AS one');
    middle = await store(`SELECT '${'a'.repeat(3_000)}' AS text`);
    const rows = engine === 'postgres' ? 'generate_series(1, 200000) AS s(n)' : 'seq_1_to_200000 AS s(n)';
    large = await store(`SELECT n, 'some more text to fill the line' AS filler FROM ${rows}`);
  });

  const store = async (query: string): Promise<string> =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }))).config.query.queryId;
  const execute = (queryId: string, encoding: string | undefined, headers = {}) =>
    receive('/v1/queries/execute', encoding, { body: { queryId }, headers });

  it.each(Object.keys(decoders))(
    'with %s gives the same bytes, whole or streamed, over POST and GET',
    async (coding) => {
      for (const queryId of [middle, large]) {
        const plain = await execute(queryId, undefined);
        expect(plain.coding).toBe('');
        for (const got of [
          await execute(queryId, coding),
          await receive(`/v1/queries/${queryId}/data`, coding),
        ]) {
          expect([got.coding, got.vary.includes('accept-encoding')]).toEqual([coding, true]);
          expect(got.text === plain.text).toBe(true);
          expect(got.bytes).toBeLessThan(plain.bytes / 3);
        }
      }
    },
  );

  it('leaves small answers and problems as they are, and says in Vary that others differ', async () => {
    const got = await receive(`/v1/queries/${small}/data`, 'gzip');
    expect([got.coding, got.text]).toEqual(['', '{"data":[{"one":1}]}']);
    const unasked = await receive(`/v1/queries/${middle}/data`, undefined);
    expect([unasked.coding, unasked.vary]).toEqual(['', 'accept, accept-encoding']);
    expect((await receive(`/v1/queries/${middle}/data?${'x'.repeat(2_000)}=1`, 'gzip')).coding).toBe('');
  });

  it.each([
    ['gzip, deflate, br, zstd', 'zstd'],
    ['gzip;q=1.0, br;q=0.8', 'gzip'],
    ['br;q=0, gzip;q=0.1, identity;q=0', 'gzip'],
    ['gzip;q=0.5, identity', ''],
    ['deflate', ''],
    ['*', 'zstd'],
    ['zstd;q=0, *;q=0.5', 'br'],
  ])('chooses by the weights of %s', async (accepted, coding) => {
    expect((await execute(middle, accepted)).coding).toBe(coding);
  });

  it('covers trees, schemas and the document, and no resource with an ETag for If-Match', async () => {
    for (let i = 0; i < 10; i++)
      await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: `folder ${i}` }));
    const tree = await receive(`/v1/hubs/${hubId}/contents`, 'br');
    expect([tree.coding, tree.text.includes('"folder 9"')]).toEqual(['br', true]);
    const document = await receive('/openapi.json', 'gzip');
    expect(document.coding).toBe('gzip');
    expect(document.headers.etag).toMatch(/-gzip"$/);
    const again = await ask('/openapi.json', 'gzip', {
      headers: { 'if-none-match': document.headers.etag as string },
    });
    again.resume();
    expect(again.statusCode).toBe(304);
    expect((await receive(`/v1/queries/${middle}`, 'gzip')).coding).toBe('');
    const listed = await receive(`/v1/queries?hubId=${hubId}`, 'br');
    expect([listed.coding, listed.text.includes(middle)]).toEqual(['br', true]);
    expect((await receive('/v1/keys', 'gzip')).coding).toBe('');
  });

  it('leaves answers uncompressed that have a secret of the hub beside a text of the caller', async () => {
    // The length of a compressed answer tells whether the text repeats a part of the secret.
    const { url, key } = inject('hub');
    const headers = {
      ...{ 'x-service-api-key': key, 'content-type': 'application/json' },
      'accept-encoding': 'zstd, br, gzip',
    };
    const name = 'dhk_'.repeat(49);
    const codingOf = async (path: string, sent?: object) => {
      const body = sent === undefined ? {} : { method: 'POST', body: JSON.stringify(sent) };
      const answer = await fetch(url + path, { headers, ...body });
      return { coding: answer.headers.get('content-encoding'), body: (await answer.json()) as any };
    };
    const origins = Array.from({ length: 20 }, (_, i) => `https://a-long-name-of-a-page-${i}.example`);
    const made = await codingOf('/v1/keys', { name, limits: { origins } });
    const rotated = await codingOf(`/v1/keys/${made.body.keyId}/rotate`, {});
    for (let i = 0; i < 4; i++)
      await api.ok(api.post('/v1/sources', { ...sourceBody(hubId, engine), label: name }));
    const shown = await codingOf(`/v1/sources?hubId=${hubId}`);
    expect(JSON.stringify(shown.body)).toContain(name);
    // Smaller answers are never compressed.
    for (const { body } of [made, rotated, shown]) expect(JSON.stringify(body).length).toBeGreaterThan(1_024);
    expect([made.coding, rotated.coding, shown.coding]).toEqual([null, null, null]);
    expect(rotated.body.key).toMatch(/^dhk_/);
  });

  it('keeps the trailer of truncated CSV', async () => {
    const got = await receive(`/v1/queries/${large}/data?options.maxRows=100`, 'zstd', {
      headers: { accept: 'text/csv' },
    });
    expect([got.coding, got.text.split('\r\n').length, got.trailers['x-truncated']]).toEqual([
      'zstd',
      102,
      'true',
    ]);
  });

  it('stores the plain answer for an idempotency key', async () => {
    const queryId = (
      await api.ok(
        api.post('/v1/queries', {
          hubId,
          sourceId,
          label: 'w',
          query: 'CREATE TABLE IF NOT EXISTS compression_w (n INT)',
          command: 'CREATE',
        }),
      )
    ).config.query.queryId;
    const headers = { 'idempotency-key': `compressed-${queryId}` };
    const first = await execute(queryId, 'gzip', headers);
    expect((await execute(queryId, undefined, headers)).text).toBe(first.text);
  });

  it.runIf(engine === 'postgres').each(Object.keys(decoders))(
    'with %s sends the first rows at once',
    async (coding) => {
      // PostgreSQL sends rows once they fill 8 KiB, and this statement does not end before it is cancelled.
      const slow = await store(
        'SELECT n, repeat(md5(n::text), 500) || pg_sleep(CASE WHEN n > 3 THEN 600 ELSE 0 END)::text AS slept FROM generate_series(1, 30) AS s(n)',
      );
      const response = await ask(`/v1/queries/${slow}/data`, coding);
      expect(response.headers['server-timing']).toMatch(
        /^queue;dur=.*, connect;dur=.*, first-row;dur=[\d.]+$/,
      );
      const decoded = response.pipe((decoders[coding] as () => Transform)());
      const [first] = await decoded.take(1).toArray();
      expect(String(first)).toContain('{"data":[{"n":1,');
      response.destroy();
    },
  );
});
