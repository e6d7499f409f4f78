import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('watches in the console (needs Chromium)', () => {
  const { shared, goTo, button, act } = useConsole();
  let server: Server;
  let status = 500;

  beforeAll(async () => {
    server = createServer((_request, response) => response.writeHead(status).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it('makes a watch from a query in three clicks, runs it, and shows its runs', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = { hubId, sourceId, label: 'New sales', query: 'SELECT 1 AS id, 2 AS amount' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    await api.ok(api.get(`/v1/queries/${queryId}?signature=true`));
    await goTo('query', queryId, 'use');
    await page.getByRole('link', { name: 'Tell me when a row is new' }).click();
    await page.getByRole('button', { name: 'Remove amount' }).waitFor();
    await button('Create').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    const row = page.getByRole('region', { name: 'Watches' }).getByRole('row').nth(1);
    expect(await row.innerText()).toContain('new rows of New sales, every 5 min');
    const [watch] = await api.ok(api.get(`/v1/watches?hubId=${hubId}`));
    expect(watch).toMatchObject({ when: 'new', by: ['id'], include: ['id', 'amount'], queryId });

    await act('Actions for New sales', 'Run now');
    await page.getByText('The run ended: ok.').waitFor();
    await row.getByText(/^ok, /).waitFor();
    await row.getByRole('img', { name: '1 run of New sales, 0 not ok' }).click();
    await page.getByRole('heading', { name: 'New sales' }).waitFor();
    expect(await page.getByRole('region', { name: 'Runs', exact: true }).innerText()).toContain('asked for');
    await act('Actions for New sales', 'Pause');
    await page.locator('.tag', { hasText: 'paused' }).waitFor();
    await act('Actions for New sales', 'Resume');
    await page.locator('.tag', { hasText: 'paused' }).waitFor({ state: 'detached' });
    await act('Actions for New sales', 'Delete …');
    await button('Delete the watch').click();
    await page.getByText('No watches yet.').waitFor();
  });

  it('changes a watch to a condition at times of a calendar, shows what a run told, and rings the bell', async () => {
    const { page, hubId } = shared;
    const { hubId: other } = await api.ok(api.post('/v1/hubs', { label: 'other' }));
    const storedThere = { hubId: other, sourceId: await createSource(other), label: 'two' };
    await api.ok(api.post('/v1/queries', { ...storedThere, query: 'SELECT 2 AS two' }));
    const sourceId = await createSource(hubId);
    const query = { hubId, sourceId, label: 'Stock', query: 'SELECT 7 AS id, 12.50 AS amount' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query))).config.query;
    const kept = { path: 'stock', context: {}, schedule: { everyS: 600, spreadS: 30, missed: 'once' } };
    const { watchId } = await api.ok(
      api.post('/v1/watches', { hubId, label: 'Stock', queryId, when: 'new', include: ['id'], ...kept }),
    );
    await goTo('watches', watchId);
    await act('Actions for Stock', 'Edit …');
    const field = (name: string) => page.getByRole('dialog').getByLabel(name, { exact: true });
    await field('What it tells').selectOption('condition');
    await field('Column').fill('amount');
    await field('Is').selectOption('>=');
    await field('Value').fill('12.50');
    await field('Runs').selectOption('cron');
    await field('Cron pattern').fill('0 6 *');
    await page.getByText('Write five fields').waitFor();
    expect(await button('Save').isDisabled()).toBe(true);
    await field('Cron pattern').fill('30 6 * * 1-5');
    await field('Time zone').fill('Pacific/Auckland');
    await button('Save').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await api.ok(api.get(`/v1/watches/${watchId}`))).toMatchObject({
      path: 'stock',
      when: { column: 'amount', is: '>=', value: 12.5, forRuns: 1 },
      schedule: { cron: '30 6 * * 1-5', timeZone: 'Pacific/Auckland', spreadS: 30, missed: 'once' },
    });
    await page.locator('.fact-list', { hasText: '06:30 Pacific/Auckland' }).waitFor();

    await act('Actions for Stock', 'Run now');
    const runs = page.getByRole('region', { name: 'Runs', exact: true });
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh', exact: true }).click();
          return runs.isVisible();
        },
        { timeout: 30_000, interval: 300 },
      )
      .toBe(true);
    await runs.getByRole('link').click();
    const told = page.getByRole('region', { name: 'Rows', exact: true });
    await told.waitFor();
    expect((await told.innerText()).split(/\s+/)).toEqual(['id', '7']);

    // An event is shown two seconds after it happened.
    const bell = page.locator('button.bell');
    await expect
      .poll(
        async () => {
          await bell.click();
          const found = await page.getByRole('link', { name: 'Stock is firing' }).count();
          if (found === 0) await page.keyboard.press('Escape');
          return found;
        },
        { timeout: 30_000, interval: 500 },
      )
      .toBe(1);
    await page.getByRole('link', { name: 'Stock is firing' }).click();
    await page.getByRole('heading', { name: 'Run of Stock' }).waitFor();
    await expect.poll(() => bell.getAttribute('aria-label')).toBe('Events: 0 new');
    // What was seen in a hub was not seen in another one.
    await page.evaluate(`location.hash = '#/hub/${other}'`);
    await expect.poll(() => bell.getAttribute('aria-label')).toBe('Events: 1 new');
    await bell.click();
    await page.getByRole('link', { name: 'two was published' }).waitFor();
    await page.keyboard.press('Escape');
    await page.evaluate(`location.hash = '#/hub/${shared.hubId}'`);
    await expect.poll(() => bell.getAttribute('aria-label')).toBe('Events: 0 new');
    await api.ok(api.delete(`/v1/watches/${watchId}`));
  });

  it('makes a destination, shows its secret once, and sends again what failed', async () => {
    const { page } = shared;
    await goTo('watches');
    await button('New destination').click();
    await page.getByLabel('Name', { exact: true }).fill('Ops');
    const { port } = server.address() as AddressInfo;
    await page.getByLabel('Address', { exact: true }).fill(`http://127.0.0.1:${port}/`);
    await button('Create').click();
    await page.getByText(/^whsec_/).waitFor();
    await page.keyboard.press('Escape');
    await act('Actions for Ops', 'Send a test');
    await page.getByText('A test is on its way.').waitFor();
    await act('Actions for Ops', 'Deliveries');
    const deliveries = page.getByRole('region', { name: 'Deliveries' });
    const refresh = page.getByRole('dialog').getByRole('button', { name: 'Refresh' });
    const read = async () => {
      await refresh.click();
      return deliveries.innerText();
    };
    const shows = (words: string) => expect.poll(read, { timeout: 30_000, interval: 300 }).toContain(words);
    await shows('500');
    status = 204;
    await button('Send again').click();
    await shows('delivered');
    await page.keyboard.press('Escape');
    await act('Actions for Ops', 'Edit …');
    await page.getByLabel('Events that it is told').selectOption('query.broken');
    await button('Save').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    const all: { label: string }[] = await api.ok(api.get('/v1/destinations'));
    const ops: any = all.find(({ label }) => label === 'Ops');
    expect(ops).toMatchObject({ label: 'Ops', events: ['query.broken'], disabled: false });
    const { label, url, hubIds, events } = ops;
    const disabled = { label, url, hubIds, events, disabled: true };
    await api.ok(api.put(`/v1/destinations/${ops.destinationId}`, disabled));
    await page.reload();
    await act('Actions for Ops', 'Enable');
    await page.getByText('The destination is told again.').waitFor();
    await act('Actions for Ops', 'New secret …');
    await button('Make a new secret').click();
    await page.getByText(/^whsec_/).waitFor();
    await page.keyboard.press('Escape');
    await act('Actions for Ops', 'Delete …');
    await button('Delete the destination').click();
    await page.getByText('Nobody is told yet.').waitFor();
    expect((await page.content()).includes('whsec_')).toBe(false);
  });
});
