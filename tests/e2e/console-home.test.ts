import { randomBytes } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { ended, holdAnswers, makeKey, useConsole } from '../support/browser/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

/** Reloads the page without a cache, and returns what came over the network until it was drawn and idle. */
async function loadCold(page: Page, isDrawn: () => Promise<unknown>) {
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.clearBrowserCache');
  const seen = { bytes: 0, files: [] as string[], calls: [] as string[] };
  session.on('Network.requestWillBeSent', ({ request: { url } }) => {
    if (url.startsWith('data:')) return;
    const { pathname, search } = new URL(url);
    if (pathname.startsWith('/v1/')) seen.calls.push(`${pathname}${search}`);
    else seen.files.push(pathname.replace(/^\/(console\/)?/, ''));
  });
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    seen.bytes += encodedDataLength;
  });
  await page.reload({ waitUntil: 'networkidle' });
  await isDrawn();
  await session.detach();
  return seen;
}

describe.skipIf(executablePath === undefined)('the home of a hub in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  it('draws pinned queries with common values, and lists all queries with their state', async () => {
    const { hubId, page } = shared;
    const sourceId = await createSource(hubId);
    const create = async (label: string, query: string, context: object[] = []) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query, context }))).config.query
        .queryId;
    const choices = { key: 'region', type: 'string', value: 'north', enum: ['north', 'south'] };
    const counting = await create('How many', 'SELECT count(*) AS sales FROM sales WHERE region = :region', [
      choices,
    ]);
    const all = await create('All of them', 'SELECT 7 AS answer');
    const digits = '0.12345678901234567890123456789012345678';
    const exact = await create('Exactly', `SELECT ${digits} AS ratio`);
    const needed = { key: 'sale', type: 'integer', required: true };
    const needing = await create('Needs a value', 'SELECT note FROM sales WHERE id = :sale', [needed]);
    await goTo('query', counting);
    await button(/^Run/).click();
    await ended(page, 'done');
    await button('Chart').click();
    await button('Pin to home').click();
    await button('Unpin').waitFor();
    for (const queryId of [all, exact, needing])
      await api.ok(api.put(`/v1/queries/${queryId}`, { config: { presentation: { pinned: true } } }));
    await goTo();
    const cards = page.getByRole('list', { name: 'Pinned queries', exact: true });
    await cards.getByRole('link', { name: 'How many', exact: true }).waitFor();
    await cards.getByText('7', { exact: true }).waitFor();
    // A fault has the name of its variable.
    await cards.locator('.card-problem', { hasText: /^sale / }).waitFor();
    // No digit is outside of the card.
    const number = cards.getByText(digits, { exact: true });
    const [inside, around] = await Promise.all([
      number.boundingBox(),
      cards.locator('.pinned-card', { hasText: digits }).boundingBox(),
    ]);
    if (inside === null || around === null) throw new Error('The number is not drawn.');
    expect(inside.x + inside.width).toBeLessThanOrEqual(around.x + around.width);
    expect(inside.y + inside.height).toBeLessThanOrEqual(around.y + around.height);
    const asked = page.waitForRequest((request) => request.postData()?.includes('"region":"south"') === true);
    await page.getByLabel('region', { exact: true }).selectOption('south');
    await asked;
    await cards.getByText('ignores region').first().waitFor();
    const row = page.getByRole('row', { name: /How many/ });
    expect(await row.locator('td').nth(0).textContent()).toBe('reads');
    await page.getByLabel('Filter queries', { exact: true }).fill('nothing like it');
    await page.getByText('None of 4 queries has that name.').waitFor();
  });

  it('asks once for all queries, once for boards and once for all cards, also with a key whose rate is used up', async () => {
    const { page } = shared;
    const label = `cards ${randomBytes(4).toString('hex')}`;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label }));
    const sourceId = await createSource(hubId);
    const create = async (n: number) => {
      const presentation = { pinned: n < 9 };
      const query = n % 2 === 0 ? `SELECT ${n} AS n, 'a' AS a` : `SELECT note, ${n} * id AS n FROM sales`;
      const body = { hubId, sourceId, label: `q${n}`, query, presentation };
      const saved = await api.ok(api.post('/v1/queries?signature=1', body));
      return saved.config.query.queryId as string;
    };
    const ids = await Promise.all(Array.from({ length: 40 }, (_, n) => create(n)));
    await api.ok(api.post('/v1/queries/execute', { queryId: ids[30] }));
    const key = await makeKey(['*'], { ratePerMinute: 240 });
    // However slow the machine is, no request is left for the page until it says so.
    let isUsed = true;
    const usedUp = Promise.withResolvers<void>();
    const using = Array.from({ length: 8 }, async () => {
      while (isUsed) {
        const { status } = await api.get('/v1/keys/current', { key });
        if (status === 429) usedUp.resolve();
      }
    });
    await usedUp.promise;
    await page.evaluate(`sessionStorage.setItem('datahub.key', ${JSON.stringify(key)})`);
    await page.evaluate(`location.hash = '#/hub/${hubId}'`);
    await page.reload();
    await page.getByText(/^This key may send 240 requests a minute. It goes on in \d+ seconds?.$/).waitFor();
    isUsed = false;
    await Promise.all(using);
    const cards = page.getByRole('list', { name: 'Pinned queries', exact: true });
    const drawn = () => cards.locator('.pinned-card[aria-busy=false]:not(:has(.card-problem))').count();
    await expect.poll(drawn).toBe(9);

    await page.evaluate(`sessionStorage.setItem('datahub.key', ${JSON.stringify(shared.key)})`);
    await page.evaluate("location.hash = '#/hubs'");
    await page.reload();
    await page.getByRole('link', { name: label }).waitFor();
    // What a person does on a page loads the code of the others.
    await page.mouse.move(9, 9);
    await page.waitForFunction(
      `performance.getEntriesByType('resource').some(({ name }) => name.endsWith('later.js'))`,
    );
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.getByRole('link', { name: label }).click();
    await expect.poll(drawn).toBe(9);
    const home = asked.flatMap((url) => /\/v1\/(boards|queries[?/])/.exec(url)?.[1] ?? []);
    expect(home.sort()).toEqual(['boards', 'queries/', 'queries?']);
    const row = page.getByRole('row', { name: /^q30 / }).locator('td');
    await expect.poll(() => row.nth(1).textContent()).toBe('1');
    expect(await row.nth(3).textContent()).not.toBe('');
    await page.evaluate(`location.hash = '#/hub/${hubId}'`);
    // The rows of a card can be there before the code of its chart.
    const { bytes, files, calls } = await loadCold(page, async () => {
      await expect.poll(drawn).toBe(9);
      await page.waitForFunction(
        "performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/chart.js'))",
      );
    });
    expect(files.sort()).toEqual(['', 'chart.js', 'console.js']);
    expect(files.length + calls.length, `${calls}`).toBeLessThanOrEqual(12);
    expect(bytes).toBeLessThanOrEqual(120_000);
  });

  it.runIf(engines.includes('postgres'))('waits neither for a slow card nor for one that fails', async () => {
    const { page } = shared;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'slow' }));
    const sourceId = await createSource(hubId, 'postgres');
    const create = (label: string, query: string) => {
      const body = { hubId, sourceId, label, query, presentation: { pinned: true } };
      return api.ok(api.post('/v1/queries?signature=1', body));
    };
    await create('Slow', 'SELECT pg_sleep(60)');
    await create('Fails', 'SELECT 1 / (count(*) - count(*)) AS x FROM sales');
    for (let n = 0; n < 7; n++)
      await create(
        `Fast ${n}`,
        `SELECT 'm' || i AS month, ${n} + i * i AS n FROM generate_series(1, 9) AS i`,
      );
    await page.evaluate(`location.hash = '#/hub/${hubId}'`);
    const cards = page.getByRole('list', { name: 'Pinned queries', exact: true }).locator('.pinned-card');
    const fast = cards.filter({ hasText: 'Fast' }).and(page.locator('[aria-busy=false]'));
    await expect.poll(() => fast.locator('canvas, svg, table').count()).toBeGreaterThanOrEqual(7);
    await cards
      .filter({ hasText: 'Fails' })
      .locator('.card-problem', { hasText: 'division by zero' })
      .waitFor();
    expect(await cards.filter({ hasText: 'Slow' }).getAttribute('aria-busy')).toBe('true');
    await goTo();
  });

  it('shows the tree and the sources of the hub that the address names, and of no other', async () => {
    const { page, hubId } = shared;
    await createSource(hubId);
    const folder = `first ${randomBytes(4).toString('hex')}`;
    await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: folder }));
    await goTo();
    await page.reload();
    await page.getByRole('treeitem', { name: folder }).waitFor();
    const label = `second ${randomBytes(4).toString('hex')}`;
    const { hubId: second } = await api.ok(api.post('/v1/hubs', { label }));
    await createSource(second);
    const answer = await holdAnswers(page, `**/v1/hubs/${second}/contents`);
    await page.evaluate(`location.hash = '#/hub/${second}/new-query'`);
    await page.getByText('Loading the hub').waitFor();
    expect(await page.getByRole('treeitem').count()).toBe(0);
    expect(await button('Add to Queries').count()).toBe(0);
    answer();
    await page.getByLabel('Source', { exact: true }).waitFor();
    expect(await page.getByRole('tree', { name: 'Sources' }).getByRole('treeitem').count()).toBe(1);
    expect(await page.getByRole('treeitem', { name: folder }).count()).toBe(0);
    // An address without a page leads to a hub, also later.
    await page.evaluate("location.hash = '#/'");
    await page.waitForURL(/#\/hub\/[^/]+$/);
  });
});
