import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { arrowEnv, canReadArrow } from '../../tools/arrow-readers.ts';
import { api, createSource, engines } from '../support/hub.ts';

/** Debian's python3-requests, or PyPI's. */
const hasRequests = await promisify(execFile)('python3', ['-c', 'import requests']).then(
  () => true,
  () => false,
);
const page = readFileSync(new URL('../../docs/python.md', import.meta.url), 'utf8');
const [fetching = '', pandas = '', polars = '', duckdb = '', library = '', usage = ''] = [
  ...page.matchAll(/```python\n(.*?)```/gs),
].map(([, code]) => code);
const isPostgres = engines[0] === 'postgres';
let dir: string;
const ids = { byRegion: '', failing: '', decimals: '', frame: '' };

const run = async (code: string, HUB_URL = inject('hub').url) => {
  await writeFile(join(dir, 'main.py'), code);
  const { key: HUB_KEY } = inject('hub');
  const env = {
    ...arrowEnv(process.env),
    HUB_URL,
    HUB_KEY,
    PYTHONIOENCODING: 'utf-8',
    PYTHONDONTWRITEBYTECODE: '1',
  };
  return (await promisify(execFile)('python3', [join(dir, 'main.py')], { env, timeout: 60_000 })).stdout;
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'datahub-python-'));
  await writeFile(join(dir, 'hub.py'), library);
  const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'python' }));
  const sourceId = await createSource(hubId);
  const store = async (query: string) =>
    (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query }))).config.query.queryId;
  ids.byRegion = await store(
    'SELECT id, amount FROM sales WHERE region = :region AND id IN (:ids) ORDER BY id',
  );
  ids.decimals = await store('SELECT id, amount, note FROM sales WHERE region = :region ORDER BY id');
  ids.frame = await store(
    'SELECT id, region AS product, amount FROM sales WHERE region = :region ORDER BY id LIMIT 1',
  );
  ids.failing = await store(
    isPostgres
      ? 'SELECT n, 1 / (n - 30000) AS x, repeat($$x$$, 100) AS t FROM generate_series(1, 40000) n'
      : "WITH RECURSIVE s AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 900) SELECT n, IF(n = 800, (SELECT 1 UNION SELECT 2), 1) AS x, repeat('x', 2000) AS t FROM s",
  );
});
afterAll(() => rm(dir, { recursive: true, force: true }));

it.runIf(hasRequests)('the example of the page runs as written', async () => {
  const values = usage.replaceAll('"north"', '"south"').replaceAll('[4, 8]', '[1, 2]');
  const [first = '', second = ''] = values.split('\n\nfor ');
  const code = `${first.replaceAll('dh.q.…', ids.byRegion)}\n\nfor ${second.replaceAll('dh.q.…', ids.decimals)}`;
  expect((await run(code)).trim().split('\n')).toEqual([
    "[{'id': 2, 'amount': Decimal('10.50')}]",
    '2 10.50',
    '422 CONTEXT_INVALID /context/region is missing.',
  ]);
});

it.runIf(hasRequests && canReadArrow()).each([
  ['pandas', pandas, 'print(list(frame["amount"]))', "[Decimal('10.50')]"],
  ['Polars', polars, 'print(list(frame["amount"]))', "[Decimal('10.50')]"],
  ['DuckDB', duckdb, '', "[('south', Decimal('10.50'))]"],
])('the example for %s runs as written', async (_, example, more, wanted) => {
  const code = `${fetching}\n${example}\n${more}\n`;
  const asked = code.replaceAll('dh.q.…', ids.frame).replaceAll('region="north"', 'region="south"');
  expect((await run(asked)).trim()).toBe(wanted);
});

const countRows = (queryId: string) => `
import requests
from hub import rows
seen = 0
try:
    for row in rows("${queryId}"):
        seen += 1
    print("complete")
except requests.RequestException as err:
    print(seen > 0, type(err).__name__)
`;

it.runIf(hasRequests)(
  'interrupted rows raise an error, also if a proxy ends them as if they were whole',
  async () => {
    expect((await run(countRows(ids.failing))).trim()).toBe('True ChunkedEncodingError');
    const proxy = createServer((_request, response) => response.end('{"id":1}\n')).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    expect((await run(countRows('q'), `http://127.0.0.1:${port}`)).trim()).toBe('True ChunkedEncodingError');
    proxy.close();
  },
);
