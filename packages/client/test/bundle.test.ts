import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createContext, Script } from 'node:vm';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { bundle } from '../bundle.ts';

const dist = new URL('../dist/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, dist), 'utf8');

it('is committed as its sources make it: npm run build -w packages/client', async () => {
  const files = await bundle();
  const committed = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) =>
      `${parentPath}/${name}`.slice(fileURLToPath(dist).length).replace(/^\//, ''),
    );
  expect(committed.sort()).toEqual([...files.keys()].sort());
  const stale = [...files].filter(([name, content]) => read(name) !== Buffer.from(content).toString());
  expect(stale.map(([name]) => name)).toEqual([]);
});

it.each(['index.js', 'webhooks.js'])('has at most 4 kB when compressed, and needs no package: %s', (name) => {
  const code = read(name);
  expect(gzipSync(code).length).toBeLessThanOrEqual(4_096);
  expect(brotliCompressSync(code).length).toBeLessThanOrEqual(4_096);
  expect(code).not.toMatch(/\bimport\b|\brequire\b|\bprocess\b|\bBuffer\b/);
});

it('runs where there are only the standards of the web, as in workers', async () => {
  const sent: { url: string; init: RequestInit }[] = [];
  const answer = async (url: URL, init: RequestInit) => {
    sent.push({ url: String(url), init });
    return new Response('{"id":1}\n{"id":2}\n\x1e{}\n', {
      headers: { 'content-type': 'application/x-ndjson' },
    });
  };
  const globals = {
    URL,
    URLSearchParams,
    TextDecoder,
    AbortController,
    setTimeout,
    clearTimeout,
    fetch: answer,
  };
  const code = read('index.js').replace(/export \{[^}]*\};\s*$/, 'createClient;');
  const createClient = new Script(code).runInContext(createContext(globals));
  const ids: number[] = [];
  for await (const { id } of createClient({ url: 'https://hub.example/api', key: 'k' }).rows('q'))
    ids.push(id);
  expect(ids).toEqual([1, 2]);
  expect(sent[0]?.url).toBe('https://hub.example/api/v1/queries/execute');
  // Workers refuse other options of `fetch`, such as `credentials` and `cache`.
  expect(Object.keys(sent[0]?.init ?? {}).sort()).toEqual([
    'body',
    'headers',
    'method',
    'redirect',
    'signal',
  ]);
});
