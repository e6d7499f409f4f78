import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { stripTypeScriptTypes } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createContext, Script } from 'node:vm';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { createClient } from '../../packages/client/dist/index.js';
import { type UseOptions, useClient } from '../../packages/client/test/use-client.ts';
import { findChromium } from '../../tools/databases/chromium.ts';
import { api, createSource, database, engines } from '../support/hub.ts';
import { type Watcher, watch } from '../support/watcher.ts';

const executablePath = await findChromium({ say: (line) => console.log(line) });
const textOf = (path: string) =>
  readFileSync(new URL(`../../packages/client/${path}`, import.meta.url), 'utf8');
const client = textOf('dist/index.js');
const program = stripTypeScriptTypes(textOf('test/use-client.ts'));

/** The page and its modules. The worker imports the same two. */
const files: Record<string, [type: string, text: string]> = {
  '/': ['text/html', '<!doctype html><script type="module" src="/page.js"></script>'],
  '/page.js': [
    'text/javascript',
    `import { createClient } from '/client.js';
import { useClient } from '/program.js';
const inWorker = (options) => new Promise((resolve, reject) => {
  const worker = new Worker('/worker.js', { type: 'module' });
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(message));
  worker.postMessage(options);
});
const failureOf = (promise) => promise.then(
  () => undefined,
  ({ name, status, code, message, retryAfterMs }) => ({ name, status, code, message, retryAfterMs }),
);
Object.assign(globalThis, { createClient, inPage: (options) => useClient(createClient, options), inWorker, failureOf });`,
  ],
  '/worker.js': [
    'text/javascript',
    `import { createClient } from '/client.js';
import { useClient } from '/program.js';
onmessage = async ({ data }) => postMessage(await useClient(createClient, data));`,
  ],
  '/client.js': ['text/javascript', client],
  '/program.js': ['text/javascript', program],
};

describe.runIf(engines.includes('postgres'))('the client', () => {
  const servers: Server[] = [];
  /** Paths that redirect, which pages asked for. */
  const redirected: string[] = [];
  const mark = `client_${Date.now()}`;
  let [allowed, other] = ['', ''];
  let watcher: Watcher;
  let queryIds: string[];
  let options: UseOptions;

  /** An origin that serves the page, and answers its calls with a redirect. */
  const serve = async (): Promise<string> => {
    const server = createServer(({ url = '' }, response) => {
      const [type, text] = files[url] ?? [];
      if (type !== undefined) return response.setHeader('content-type', type).end(text);
      if (!url.startsWith('/v1/')) return response.writeHead(404).end();
      redirected.push(url);
      return response.writeHead(307, { location: '/v1/elsewhere' }).end();
    });
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  beforeAll(async () => {
    [allowed, other] = [await serve(), await serve()];
    watcher = await watch('postgres', database('postgres'));
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'runtimes' }));
    const sourceId = await createSource(hubId, 'postgres');
    const store = async (query: string, context: object[] = []): Promise<string> =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'q', query, context }))).config.query
        .queryId;
    const queries = {
      echo: await store(
        'SELECT id, CAST(:big AS bigint) AS big, CAST(:text AS text) AS text FROM sales WHERE id IN (:ids) ORDER BY id',
        [
          { key: 'ids', type: 'integer[]' },
          { key: 'big', type: 'bigint' },
          { key: 'text', type: 'string' },
        ],
      ),
      many: await store("SELECT n, repeat('é😀', 40) AS text FROM generate_series(1, 30000) n"),
      slow: await store(
        `SELECT /* ${mark} */ n, repeat(md5(n::text), 500) || pg_sleep(0.02)::text AS slept FROM generate_series(1, 1500) n`,
      ),
      failing: await store(
        'SELECT n, 1 / (n - 30000) AS x, repeat($$x$$, 100) AS text FROM generate_series(1, 40000) n',
      ),
    };
    queryIds = Object.values(queries);
    const forbidden = await store('SELECT 1 AS one');
    options = { url: inject('hub').url, key: await makeKey(), queries: { ...queries, forbidden } };
  });

  afterAll(async () => {
    for (const server of servers) server.close();
    await watcher?.close();
  });

  /** For the page at the allowed origin. */
  const makeKey = async (limits: object = {}): Promise<string> => {
    const body = {
      name: 'page',
      scopes: ['queries:execute'],
      limits: { origins: [allowed], queryIds, ...limits },
    };
    return (await api.ok(api.post('/v1/keys', body))).key;
  };

  const text = 'é€😀 & +';
  const echoed = [
    { id: 1, big: '9007199254740993', text },
    { id: 2, big: '9007199254740993', text },
  ];
  const expectAll = async (result: unknown) => {
    expect(JSON.parse(JSON.stringify(result))).toEqual({
      executed: echoed,
      read: echoed,
      streamed: { count: 20_000, last: { n: 20_000, text: 'é😀'.repeat(40) }, truncated: true },
      aborted: { name: 'Error', message: 'enough' },
      left: 1,
      cut: {
        name: 'ProblemError',
        message: 'The result broke off before its last row.',
        status: 0,
        code: 'CUT_SHORT',
      },
      refused: {
        name: 'ProblemError',
        message: 'This key may not use this query.',
        status: 403,
        code: 'SCOPE_DENIED',
      },
    });
    // Both streams that it left would run for 30 seconds.
    await expect.poll(() => watcher.running(mark), { timeout: 15_000, interval: 20 }).toBe(0);
  };

  /** Programs outside of browsers can send any origin. */
  const fromPage: typeof fetch = (url, init) =>
    fetch(url, { ...init, headers: { ...(init?.headers as Record<string, string>), origin: allowed } });

  it('does the same in Node', async () => {
    await expectAll(await useClient(createClient, { ...options, fetch: fromPage }));
  });

  it('does the same with the standards of the web alone, as in workers at the edge', async () => {
    const globals = { URL, URLSearchParams, TextDecoder, AbortController, setTimeout, clearTimeout };
    const [library, use] = [client.replace(/export \{[^}]*\};\s*$/, ''), program.replace(/^export /m, '')];
    const run = new Script(`${library}\n${use}\n(options) => useClient(createClient, options);`);
    await expectAll(await run.runInContext(createContext(globals))({ ...options, fetch: fromPage }));
  });

  describe.skipIf(executablePath === undefined)('in Chromium (set CHROMIUM_PATH)', () => {
    let browser: Browser;
    let page: Page;

    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
    });
    afterAll(() => browser?.close());
    afterEach(() => page?.close());

    /** Runs an expression in a page of an origin. */
    const run = async (expression: string, origin = allowed): Promise<any> => {
      page = await browser.newPage();
      await page.goto(origin);
      return page.evaluate(expression);
    };
    const failureOf = (call: string, origin?: string) => run(`failureOf(${call})`, origin);
    const clientWith = (change: object) =>
      `createClient(${JSON.stringify({ url: options.url, key: options.key, ...change })})`;
    const execution = () => `execute('${options.queries.echo}', { ids: [1], big: 1, text: '' })`;

    it.each(['inPage', 'inWorker'])('does the same %s', async (where) => {
      await expectAll(await run(`${where}(${JSON.stringify(options)})`));
    });

    it('is refused at another origin', async () => {
      expect(await failureOf(`${clientWith({})}.${execution()}`, other)).toMatchObject({
        status: 403,
        message: 'This key cannot be used from this origin.',
      });
    });

    it('learns how long to wait', async () => {
      const key = await makeKey({ ratePerMinute: 1 });
      const hub = clientWith({ key, retries: 0 });
      const calls = Array.from({ length: 3 }, () => `${hub}.${execution()}`);
      const failure = await failureOf(`Promise.all([${calls}])`);
      expect(failure).toMatchObject({ name: 'ProblemError', status: 429 });
      expect(failure.retryAfterMs).toBeGreaterThan(0);
    });

    it('follows no redirect, and says so', async () => {
      expect(await failureOf(`${clientWith({ url: allowed })}.data('q')`)).toMatchObject({
        name: 'ProblemError',
        status: 0,
        code: 'NO_ANSWER',
        message: 'The client follows no redirects.',
      });
      expect(redirected).toEqual(['/v1/queries/q/data']);
    });
  });
});
