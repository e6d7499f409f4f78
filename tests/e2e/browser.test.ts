import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { findChromium } from '../../tools/databases/chromium.ts';
import { api, createSource } from '../support/hub.ts';

const page = readFileSync(new URL('../../docs/examples/browser.html', import.meta.url), 'utf8');
const executablePath = await findChromium({ say: (line) => console.log(line) });

describe.skipIf(executablePath === undefined)('a page (needs Chromium: set CHROMIUM_PATH)', () => {
  let browser: Browser;
  const servers: Server[] = [];
  let html = '';
  let [allowed, other] = ['', ''];
  let [key, queryId, otherQueryId, cachedQueryId, longQueryId] = ['', '', '', '', ''];

  /** An origin that serves the page. */
  const serve = async (): Promise<string> => {
    const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(html));
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  beforeAll(async () => {
    [allowed, other] = [await serve(), await serve()];
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'page' }));
    const sourceId = await createSource(hubId);
    const store = async (query: string, more: object = {}) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: query.slice(0, 20), query, ...more })))
        .config.query.queryId;
    queryId = await store(
      "SELECT '<b>north</b>' AS region, 12 AS total, :tenant AS tenant UNION ALL SELECT 'south', 30, :tenant",
    );
    otherQueryId = await store('SELECT 1 AS one');
    cachedQueryId = await store('SELECT :tenant AS tenant', { cache: { maxAgeS: 60 } });
    longQueryId = await store(
      'SELECT n, CAST(\'{"a":[1,null]}\' AS json) AS doc, NULL AS nothing FROM generate_series(1, 20) AS n',
    );
    const queryIds = [queryId, cachedQueryId, longQueryId];
    const limits = { origins: [allowed], queryIds, context: { tenant: '7' }, maxRows: 3 };
    key = (await api.ok(api.post('/v1/keys', { name: 'page', scopes: ['queries:execute'], limits }))).key;
    browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
  });

  afterAll(async () => {
    await browser?.close();
    for (const server of servers) server.close();
  });

  const open = async (origin: string, { query = queryId, context = '{}' } = {}) => {
    const attributes = { hub: inject('hub').url, key, query, context };
    html = Object.entries(attributes).reduce(
      (text, [name, value]) =>
        text.replace(new RegExp(`data-${name}=("[^"]*"|'[^']*')`), `data-${name}='${value}'`),
      page,
    );
    const tab = await browser.newPage();
    await tab.goto(origin);
    await tab.waitForFunction("!document.querySelector('#state').textContent.startsWith('Loading')");
    return tab;
  };

  it('shows the rows as a table and a chart, values as texts', async () => {
    const tab = await open(allowed);
    expect(await tab.textContent('#state')).toBe('2 rows');
    expect(await tab.locator('#rows td').allTextContents()).toEqual([
      '<b>north</b>',
      '12',
      '7',
      'south',
      '30',
      '7',
    ]);
    expect(await tab.locator('#chart rect').count()).toBe(2);
    expect(await tab.locator('#rows b').count()).toBe(0);
    await tab.close();
  });

  it('says that there are more rows, and shows JSON as a text', async () => {
    const tab = await open(allowed, { query: longQueryId });
    expect(await tab.textContent('#state')).toBe('3 rows, and more');
    expect(await tab.locator('#rows tr:nth-child(2) td').allTextContents()).toEqual([
      '1',
      '{"a":[1,null]}',
      '',
    ]);
    await tab.close();
  });

  it('cannot choose what the key has pinned', async () => {
    const tab = await open(allowed, { context: '{"tenant":"8"}' });
    expect(await tab.locator('#rows td:last-child').allTextContents()).toEqual(['7', '7']);
    await tab.close();
  });

  it('is refused with another query', async () => {
    const tab = await open(allowed, { query: otherQueryId });
    expect(await tab.textContent('[role=alert]')).toContain('This key may not use this query.');
    await tab.close();
  });

  it('is refused from another origin', async () => {
    const tab = await open(other);
    expect(await tab.textContent('[role=alert]')).toContain('This key cannot be used from this origin.');
    expect(await tab.locator('#rows td').count()).toBe(0);
    await tab.close();
  });

  it('gets 304 if it has the answer, although fetch adds no-cache to a request with a condition', async () => {
    const tab = await open(allowed);
    const url = `${inject('hub').url}/v1/queries/${cachedQueryId}/data`;
    const answers = await tab.evaluate(
      async ([address, apiKey]) => {
        const read = (headers = {}) =>
          fetch(address, { headers: { 'x-service-api-key': apiKey, ...headers } });
        const first = await read();
        await first.text();
        const etag = first.headers.get('etag');
        const same = await read({ 'if-none-match': `${etag}` });
        return [etag, same.status, same.headers.get('etag')];
      },
      [url, key] as const,
    );
    expect(answers).toEqual([expect.stringMatching(/^"/), 304, answers[0]]);
    await tab.close();
  });
});
