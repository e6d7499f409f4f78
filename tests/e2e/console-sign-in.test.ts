import type { Page } from 'playwright-core';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { cells, choose, ended, makeKey, openTab, signIn, useFreshTabs } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('signing in to the console (needs Chromium)', () => {
  const tabs = useFreshTabs();
  let page: Page;
  let key = '';
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'signing in' }));
    const sourceId = await createSource(hubId);
    const query = 'SELECT region FROM sales WHERE region = :region';
    for (const label of ['rows', 'many'])
      ids[label] = (
        await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }))
      ).config.query.queryId;
    key = await makeKey(['*'], { hubIds: [hubId] });
  });

  beforeEach(() => {
    page = tabs.page;
  });

  it.each([
    [200, '{"status":"ready"}', 'The hub is ready.'],
    [200, '{"status":"ready","missing":["ml"]}', 'The hub is ready, without ml.'],
    [503, '{"status":"not ready","missing":["catalog","ml"]}', 'is not ready: it waits for catalog, ml.'],
    [502, '<html>', 'The hub does not answer.'],
  ])('shows whether the hub is ready: %i %s', async (status, body, words) => {
    await page.route('**/readyz', (route) => route.fulfill({ status, body }));
    await page.reload();
    await page.getByText(words).waitFor();
  });

  it('paints first after few requests, and the views of a key, too', async () => {
    const requestsBeforePaint = `new Promise((resolve) => new PerformanceObserver((list) => {
      for (const { name, startTime } of list.getEntries()) {
        if (name !== 'first-contentful-paint') continue;
        console.info('first paint after ' + Math.round(startTime) + ' ms');
        const requests = performance.getEntriesByType('resource').filter(({ responseEnd }) => responseEnd < startTime);
        resolve(requests.map(({ name }) => new URL(name).pathname));
      }
    }).observe({ type: 'paint', buffered: true }))`;
    for (const isSignedIn of [false, true]) {
      const fresh = await openTab(tabs.browser);
      fresh.page.on('console', (message) => console.log(message.text()));
      if (isSignedIn) await signIn(fresh.page, key);
      // Neither the API nor the code of later views is waited for.
      await fresh.page.route(/\/v1\/|readyz|\/later\./, () => {});
      await fresh.page.reload({ waitUntil: 'commit' });
      const requests = (await fresh.page.evaluate(requestsBeforePaint)) as string[];
      console.log(requests.join(' '));
      expect(requests.length).toBeLessThanOrEqual(5);
      await fresh.page.context().close();
    }
  });

  it('refuses a key that the hub refuses', async () => {
    await page.getByLabel('API key').fill('dhk_not-a-key-at-all');
    await page.keyboard.press('Enter');
    await page.locator('.problem', { hasText: 'KEY_INVALID (401)' }).waitFor();
    expect(await page.locator('.frame').count()).toBe(0);
  });

  it('survives reload and Back, and stores the key only for the tab', async () => {
    await signIn(page, key);
    await choose(page, 'rows');
    await page.locator('h1', { hasText: 'rows' }).waitFor();
    await choose(page, 'many');
    await page.locator('h1', { hasText: 'many' }).waitFor();
    await page.reload();
    await page.locator('h1', { hasText: 'many' }).waitFor();
    await page.goBack();
    await page.locator('h1', { hasText: 'rows' }).waitFor();
    const kept = 'JSON.stringify([{ ...localStorage }, document.cookie, location.href])';
    expect(await page.evaluate(kept)).not.toContain(key);
    expect(await page.content()).not.toContain(key);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
  });

  it('keeps the key only in memory if the user chooses so', async () => {
    await page.getByLabel('Stay signed in').uncheck();
    await signIn(page, key);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.getByLabel('API key').waitFor();
    await page.reload();
    await page.getByLabel('API key').waitFor();
  });

  it('holds for all tabs of the browser, and so does signing out', async () => {
    await signIn(page, key);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await other.locator('.frame').waitFor();
    expect(await other.evaluate('JSON.stringify({ ...localStorage })')).not.toContain(key);
    await other.getByRole('button', { name: 'Sign out', exact: true }).click();
    for (const tab of [page, other]) {
      await tab.getByLabel('API key').waitFor();
      expect(await tab.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
    }
  });

  it('shows nothing that another key has read or made in this tab, once that is refused', async () => {
    const made = await api.ok(api.post('/v1/keys', { name: 'first', scopes: ['*'], limits: {} }));
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'of the second' }));
    const second = await makeKey(['*'], { hubIds: [hubId] });
    await signIn(page, made.key);
    await page.evaluate(`location.hash = '#/q/${ids.rows}'`);
    await page.getByLabel('region', { exact: true }).fill('south');
    await page.getByRole('button', { name: /^Run/ }).click();
    await ended(page, 'done');
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.getByRole('button', { name: 'New key' }).click();
    await page.getByLabel('Name', { exact: true }).fill('unseen');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.locator('dialog', { hasText: 'dhk_' }).waitFor();
    await page.keyboard.press('Escape');
    await page.evaluate(`location.hash = '#/q/${ids.rows}'`);
    await page.getByRole('button', { name: 'Show the key' }).waitFor();
    await api.ok(api.delete(`/v1/keys/${made.keyId}`));
    await page.route('**/v1/queries/execute', (route) =>
      route.fulfill({ status: 401, body: '{"code":"KEY_INVALID"}' }),
    );
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByLabel('API key').waitFor();
    await page.unrouteAll();
    await page.getByLabel('Stay signed in').uncheck();
    await signIn(page, second);
    await page.getByText('SCOPE_DENIED').first().waitFor();
    expect(await page.getByText('Show the key').count()).toBe(0);
    expect(await page.locator('body').innerText()).not.toMatch(/south|unseen/);
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).toBe('{}');
  });

  it('runs a query by id with a key that may only execute', async () => {
    await signIn(page, await makeKey(['queries:execute'], { queryIds: [ids.rows] }));
    await page.getByText('SCOPE_DENIED').waitFor();
    await page.getByLabel('Query id').fill(ids.rows as string);
    await page.getByLabel('Variables, as a JSON object').fill('{"region": "south"}');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await ended(page, 'done');
    expect((await cells(page))[0]?.[0]).toBe('south');
  });

  it.each([
    [
      'blocks its storages',
      `for (const name of ['localStorage', 'sessionStorage', 'indexedDB'])
        Object.defineProperty(globalThis, name, { get() { throw new DOMException('no', 'SecurityError'); } });`,
    ],
    [
      'has no room in its storages',
      `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };`,
    ],
    ['cannot speak to other tabs', `delete globalThis.BroadcastChannel;`],
  ])('works in a browser that %s, and says what ends with the tab', async (name, script) => {
    const isKept = name === 'cannot speak to other tabs';
    const words = page.getByText('This browser keeps nothing for the console').first();
    await page.addInitScript(script);
    await page.reload();
    await page.getByLabel('API key').waitFor();
    expect(await words.count()).toBe(isKept ? 0 : 1);
    await signIn(page, key);
    if (!isKept) await words.waitFor();
    await choose(page, 'rows');
    await page.locator('.code').click();
    await page.locator('.cm-content:focus').waitFor();
    await page.getByRole('button', { name: 'Theme' }).click();
    await page.getByRole('menuitem', { name: 'Dark' }).click();
    expect(await page.locator('html').getAttribute('data-theme')).toBe('dark');
    await page.reload();
    await (isKept ? page.locator('.frame') : page.getByLabel('API key')).waitFor();
  });
});
