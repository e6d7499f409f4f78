import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { ended, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

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
    await goTo('query', counting);
    await button(/^Run/).click();
    await ended(page, 'done');
    await button('Chart').click();
    await button('Pin to home').click();
    await button('Unpin').waitFor();
    await api.ok(api.put(`/v1/queries/${all}`, { config: { presentation: { pinned: true } } }));
    await goTo();
    const cards = page.getByRole('list', { name: 'Pinned queries', exact: true });
    await cards.getByRole('link', { name: 'How many', exact: true }).waitFor();
    await cards.getByText('7', { exact: true }).waitFor();
    const asked = page.waitForRequest(/\/data\?region=south/);
    await page.getByLabel('region', { exact: true }).selectOption('south');
    await asked;
    await cards.getByText('ignores region').waitFor();
    const row = page.getByRole('row', { name: /How many/ });
    expect(await row.locator('td').nth(0).textContent()).toBe('reads');
    await page.getByLabel('Filter queries', { exact: true }).fill('nothing like it');
    await page.getByText('None of 2 queries has that name.').waitFor();
  });
});
