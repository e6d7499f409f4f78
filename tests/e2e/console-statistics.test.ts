import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { executablePath, openBrowser } from '../support/browser/chromium.ts';
import { makeKey, openTab, signIn, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

const dayMs = 86_400_000;
const dayOf = (ago: number) => new Date(Date.now() - ago * dayMs).toISOString().slice(0, 10);

describe.skipIf(executablePath === undefined)('statistics in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  const store = async (label: string): Promise<string> => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT id FROM sales WHERE id <= :n';
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }));
    return stored.config.query.queryId;
  };
  const execute = (queryId: string, n: unknown) =>
    api.post('/v1/queries/execute', { queryId, context: { n } }, { key: shared.key });
  const rowOf = (table: string, name: string | RegExp) =>
    shared.page
      .getByRole('region', { name: table })
      .getByRole('row')
      .filter({ has: shared.page.getByRole('rowheader', { name }) })
      .getByRole('cell')
      .allTextContents();

  it('shows calls, errors, times and callers of a query', async () => {
    const { page } = shared;
    const queryId = await store('counted');
    await goTo('query', queryId, 'statistics');
    await page.getByText('It was not called since the hub started.').waitFor();
    await page.getByText('Nobody has executed it since').waitFor();
    for (let i = 0; i < 18; i++) await execute(queryId, 2);
    for (let i = 0; i < 2; i++) await execute(queryId, undefined);
    await button('Refresh').click();
    await page.getByRole('region', { name: 'Numbers of calls' }).waitFor();
    expect(await rowOf('Numbers of calls', 'Calls')).toEqual(['20', '20']);
    expect(await rowOf('Numbers of calls', 'Failed')).toEqual(['2 (10 %)', '2 (10 %)']);
    expect(await rowOf('Numbers of calls', 'CONTEXT_INVALID')).toEqual(['2', '2']);
    const times = await rowOf('Times of calls', 'Database');
    expect(times).toHaveLength(6);
    for (const time of times) expect(time).toMatch(/^[\d.]+ (µs|ms|s)$/);
    await page
      .getByRole('img', { name: /^Calls of the last hour/ })
      .locator('canvas')
      .waitFor();
    await page
      .getByRole('img', { name: /^Times of the last hour/ })
      .locator('canvas')
      .waitFor();
    await page.getByText('The last hour as a table').click();
    const windows = await page
      .getByRole('region', { name: 'Calls in five minutes' })
      .getByRole('row')
      .evaluateAll((rows) =>
        rows.slice(1).map((row) => Number(row.querySelector('td')?.textContent ?? Number.NaN)),
      );
    expect(windows.length).toBeGreaterThanOrEqual(12);
    expect(windows.reduce((sum, calls) => sum + calls)).toBe(20);
    expect((await rowOf('Calls by version', '1')).slice(0, 2)).toEqual(['20', '2 (10 %)']);
    // The gateway reports executions every few seconds.
    await expect
      .poll(
        async () => {
          await button('Refresh').click();
          return rowOf('Callers', 'console');
        },
        { timeout: 60_000, interval: 500 },
      )
      .toEqual(['20', '2 (10 %)', expect.stringMatching(/^[A-Z][a-z]{2} \d+$/)]);
    await page
      .getByRole('img', { name: /^Executions by day: 20 executions with 1 key/ })
      .locator('canvas')
      .waitFor();
  });

  it('shows the executions of one key, and revoked keys', async () => {
    const { page } = shared;
    const queryId = await store('called by two');
    const keyOf = (keyId: string, name: string | null, count: number) => ({
      keyId,
      name,
      count,
      failed: 0,
      users: count / 5,
      days: [{ day: dayOf(3), count, failed: 0 }],
    });
    const keys = [keyOf('dh.key.first', 'shop', 70), keyOf('dh.key.second', null, 5)];
    const counts = { count: 75, failed: 0, users: 15, totalKeys: 2 };
    const usage = { queryId, from: dayOf(29), to: dayOf(0), ...counts, keys };
    await page.route('**/usage', (route) => route.fulfill({ json: usage }));
    await goTo('query', queryId, 'statistics');
    await page.getByText('Executions by day as a table').click();
    expect(await rowOf('Callers', 'shop')).toEqual(['70', '0', '14', expect.any(String)]);
    expect(await rowOf('Executions by day', dayOf(3))).toEqual(['75', '0']);
    await page.getByLabel('Executions with', { exact: true }).selectOption('revoked …cond');
    expect(await rowOf('Executions by day', dayOf(3))).toEqual(['5', '0']);
    expect(await rowOf('Executions by day', dayOf(4))).toEqual(['0', '0']);
  });

  it('lists the slowest and the most failing queries with links, by keyboard too', async () => {
    const { page } = shared;
    const [fine, failing] = [
      `fine ${randomBytes(4).toString('hex')}`,
      `failing ${randomBytes(4).toString('hex')}`,
    ];
    await execute(await store(fine), 2);
    const queryId = await store(failing);
    for (let i = 0; i < 30; i++) await execute(queryId, undefined);
    await page.getByRole('link', { name: 'Statistics', exact: true }).click();
    const list = page.getByRole('region', { name: 'Queries' });
    await list.getByRole('link', { name: fine }).waitFor();
    await page.getByRole('tab', { name: 'Slowest' }).focus();
    await page.keyboard.press('ArrowRight');
    // Both are in the list of the slowest.
    await list.getByRole('link', { name: fine }).waitFor({ state: 'detached' });
    await list.getByRole('link', { name: failing }).waitFor();
    expect(await rowOf('Queries', failing)).toEqual(['30', '30 (100 %)', '–', '–', '0', 'console']);
    await page.getByLabel('Time').selectOption('Since the start');
    await list.getByRole('link', { name: failing }).focus();
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: failing }).waitFor();
    await page.getByRole('region', { name: 'Numbers of calls' }).waitFor();
    expect(await rowOf('Numbers of calls', 'Calls')).toEqual(['30', '30']);
  });

  it('shows no list of the last hour under the name of another window', async () => {
    const { page, hubId } = shared;
    const figures = { count: 3, failed: 0, rows: 3, totalMs: null };
    const spans = { lastHour: figures, sinceStart: figures };
    const queries = [{ queryId: 'dh.query.one', hubId, label: 'of the last hour', ...spans }];
    const fleet = { executors: [], missing: [] };
    await page.route('**/v1/stats?*window=lastHour*', (route) =>
      route.fulfill({ json: { sort: 'p99', window: 'lastHour', queries, ...fleet } }),
    );
    // The other one is not answered.
    await page.route('**/v1/stats?*window=sinceStart*', () => undefined);
    await goTo('statistics');
    await page.getByRole('link', { name: 'of the last hour' }).waitFor();
    // The page is looked at before the browser handles anything else.
    const isShown = await page.getByLabel('Time').evaluate(async (select: any) => {
      select.value = 'sinceStart';
      select.dispatchEvent(new Event('change', { bubbles: true }));
      await undefined;
      return select.ownerDocument.querySelector('.statistics-list') !== null;
    });
    expect(isShown).toBe(false);
  });

  it('says which executors are missing, that nothing was called, and that the hub failed', async () => {
    const { page } = shared;
    const empty = { sort: 'p99', window: 'lastHour', queries: [] };
    const executors = [
      { name: 'executor-1', since: '2026-11-23T07:00:00.000Z', dropped: 0 },
      { name: 'executor-3', since: '2026-11-23T08:00:00.000Z', dropped: 0 },
    ];
    await page.route('**/v1/stats?*', (route) =>
      route.fulfill({ json: { ...empty, executors, missing: ['executor-2'] } }),
    );
    await goTo('statistics');
    await page.getByText('executor-2 did not answer').waitFor();
    await page.getByText('The sum over 2 executors').waitFor();
    await page.getByText('No query was called in the last hour.').waitFor();
    await page.unroute('**/v1/stats?*');
    await page.route('**/v1/stats?*', (route) =>
      route.fulfill({
        status: 503,
        json: { code: 'UNAVAILABLE', title: 'Unavailable', detail: 'Try again.' },
      }),
    );
    await button('Refresh').click();
    await page.locator('.problem', { hasText: 'UNAVAILABLE' }).waitFor();
  });

  it('fits a phone, and hides the list from keys that may not read queries', async () => {
    const queryId = await store('a query with a name that is longer than a phone is wide');
    await execute(queryId, 2);
    const browser = await openBrowser();
    try {
      const { page } = await openTab(browser, { viewport: { width: 390, height: 800 } });
      await signIn(page, shared.key);
      const views = { [`query/${queryId}/statistics`]: 'Numbers of calls', statistics: 'Queries' };
      for (const [path, table] of Object.entries(views)) {
        await page.evaluate(`location.hash = '#/hub/${shared.hubId}/${path}'`);
        await page.getByRole('region', { name: table }).waitFor();
        await expect.poll(() => page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      }
      const tab = await openTab(browser);
      await signIn(tab.page, await makeKey(['hubs:read', 'keys:admin'], {}));
      await tab.page.getByRole('link', { name: 'Keys', exact: true }).waitFor();
      // Which links there are depends on the key, which the page has to read first.
      await tab.page.getByRole('link', { name: 'Statistics', exact: true }).waitFor({ state: 'detached' });
    } finally {
      await browser.close();
    }
  });
});
