import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)(
  'the page of the API (needs Chromium: set CHROMIUM_PATH)',
  () => {
    const { url, key } = inject('hub');
    let browser: Browser;
    let page: Page;
    let label: string;
    const complaints: string[] = [];
    const strays: string[] = [];

    beforeAll(async () => {
      label = `documented ${Date.now()}`;
      const { hubId } = await api.ok(api.post('/v1/hubs', { label }));
      const sourceId = await createSource(hubId);
      const context = [{ key: 'region', type: 'string', value: 'south' }];
      const query = 'SELECT id, region FROM sales WHERE region = :region';
      await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'In region', query, context }));
      browser = await chromium.launch({
        executablePath: executablePath as string,
        args: ['--no-sandbox', '--disable-gpu'],
      });
      page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      await page.addInitScript(
        "addEventListener('securitypolicyviolation', (event) => console.error('violation', event.violatedDirective, event.blockedURI))",
      );
      page.on('pageerror', (err) => complaints.push(String(err)));
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text());
      });
      page.on('request', (request) => {
        if (!request.url().startsWith(url) && !/^(data|blob):/.test(request.url()))
          strays.push(request.url());
      });
    });
    afterAll(() => browser?.close());

    it('shows all routes without a key, and ignores a document in its address', async () => {
      const elsewhere = encodeURIComponent('http://127.0.0.1:9/evil.json');
      await page.goto(`${url}/docs?url=${elsewhere}&configUrl=${elsewhere}`);
      await page.locator('.opblock').first().waitFor();
      expect(await page.locator('.opblock').count()).toBeGreaterThan(30);
    });

    it('cannot be asked to load before its script runs, because the browser would submit the form', async () => {
      const early = await browser.newPage();
      const script = Promise.withResolvers<void>();
      await early.route('**/docs/docs.js', async (route) => {
        await script.promise;
        await route.continue();
      });
      await early.goto(`${url}/docs`, { waitUntil: 'commit' });
      const load = early.getByRole('button', { name: 'Load' });
      await load.waitFor();
      expect(await load.isDisabled()).toBe(true);
      script.resolve();
      await early.locator('#load:enabled').waitFor();
      await early.close();
    });

    it('shows the queries of a hub and tries one', async () => {
      await page.getByLabel('API key').fill(key);
      await page.getByRole('button', { name: 'Load' }).click();
      await page.locator('#document option', { hasText: label }).waitFor({ state: 'attached' });
      await page.getByLabel('Document').selectOption({ label: `Queries of ${label}` });
      const operation = page.locator('.opblock').filter({ hasText: 'In region' }).first();
      await operation.locator('.opblock-summary-control').click();
      await operation.locator('button.execute').click();
      const answer = operation
        .locator('.live-responses-table .microlight, .live-responses-table pre')
        .first();
      await answer.waitFor();
      expect(await operation.locator('.live-responses-table').innerText()).toContain('"region": "south"');
      expect(await page.content()).not.toContain(key);
    });

    it('violates no policy, calls no other host, and stores nothing', async () => {
      expect([complaints, strays]).toEqual([[], []]);
      expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
    });
  },
);
