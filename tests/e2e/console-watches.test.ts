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
    await expect
      .poll(
        async () => {
          await page.getByRole('button', { name: 'Refresh', exact: true }).click();
          return row.innerText();
        },
        { timeout: 30_000, interval: 300 },
      )
      .toMatch(/ok, /);
    await row.getByRole('button', { name: '1 run of New sales, 0 not ok' }).click();
    expect(await page.getByRole('region', { name: 'Runs' }).innerText()).toContain('asked for');
    await page.keyboard.press('Escape');
    await act('Actions for New sales', 'Pause');
    await row.getByText('paused').first().waitFor();
    await act('Actions for New sales', 'Resume');
    await row.getByText('paused').first().waitFor({ state: 'detached' });
    await act('Actions for New sales', 'Delete …');
    await button('Delete the watch').click();
    await page.getByText('No watches yet.').waitFor();
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
    await act('Actions for Ops', 'Delete …');
    await button('Delete the destination').click();
    await page.getByText('Nobody is told yet.').waitFor();
    expect((await page.content()).includes('whsec_')).toBe(false);
  });
});
