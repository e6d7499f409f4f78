import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { cells, ended, makeKey, useConsole } from '../support/browser/console.ts';
import { api, createSource, execute } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)(
  'links, paths and drift in the console (needs Chromium)',
  () => {
    const { shared, goTo, button, act } = useConsole();
    const store = async (query: string, more: object = {}) => {
      const { hubId } = shared;
      const sourceId = await createSource(hubId);
      const stored = await api.ok(
        api.post('/v1/queries', { hubId, sourceId, label: 'kept up', query, ...more }),
      );
      return { sourceId, queryId: stored.config.query.queryId as string };
    };

    it('takes values from a link and keeps them out of the address, also for a key that may only execute', async () => {
      const { page } = shared;
      const query = "SELECT region, :token <> '' AS ok FROM sales WHERE id IN (:ids) ORDER BY id";
      const context = [
        { key: 'ids', type: 'bigint[]' },
        { key: 'token', type: 'string', secret: true },
      ];
      const { queryId } = await store(query, { context });
      await page.evaluate(`location.hash = '#/q/${queryId}?ids=1&ids=2&token=no'`);
      await page.getByLabel('token', { exact: true }).fill('not for others');
      await button(/^Run/).click();
      await ended(page, 'done');
      expect((await cells(page)).map(([region]) => region)).toEqual(['north', 'south']);
      await expect.poll(() => page.url()).toMatch(new RegExp(`/query/${queryId}$`));
      await page.getByRole('button', { name: 'Remove 1' }).click();
      await expect.poll(() => page.evaluate('history.state')).toEqual({ values: 'ids=2' });
      await goTo('audit');
      await page.goBack();
      await page.getByRole('button', { name: 'Remove 2' }).waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'Remove 2' }).waitFor();
      expect(page.url()).not.toContain('?');
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      await act('More actions', 'Copy link');
      await page.getByText('Copied the link. It shows the values').waitFor();
      expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(
        new RegExp(`#/q/${queryId}\\?ids=2$`),
      );
      const only = await store('SELECT region FROM sales WHERE region = :region');
      const key = await makeKey(['queries:execute'], {});
      await page.evaluate(`sessionStorage.setItem('datahub.key', ${JSON.stringify(key)})`);
      await page.evaluate(`location.hash = '#/q/${only.queryId}?region=south'`);
      await page.reload();
      await page.getByRole('button', { name: 'Run', exact: true }).click();
      await ended(page, 'done');
      expect(await cells(page)).toEqual([['south']]);
    });

    it('gives a query a path, and says that its database rejects it', async () => {
      const { page, hubId } = shared;
      const table = `kept_${randomBytes(4).toString('hex')}`;
      const { sourceId, queryId } = await store('SELECT 1 AS one');
      const ddl = (query: string) =>
        execute({ hubId, sourceId, query, command: query.split(' ', 1)[0] as string });
      await ddl(`CREATE TABLE ${table} (id INT)`);
      await api.ok(
        api.put(`/v1/queries/${queryId}`, { config: { query: { query: `SELECT id FROM ${table}` } } }),
      );
      await ddl(`ALTER TABLE ${table} RENAME COLUMN id TO number`);
      const broken = async () => (await api.ok(api.post(`/v1/sources/${sourceId}/check`, {}))).broken;
      await expect.poll(broken, { timeout: 30_000 }).toContain(queryId);
      await goTo('query', queryId);
      await page.getByText('Broken: the database rejects the published query').waitFor();
      await ddl(`ALTER TABLE ${table} RENAME COLUMN number TO id`);
      await button('Check now').click();
      await page.getByText('Broken: the database rejects').waitFor({ state: 'detached' });
      await act('More actions', 'Path …');
      await page.getByLabel('Path', { exact: true }).fill('kept/up');
      await button('Set path').click();
      await page.locator('dialog').waitFor({ state: 'detached' });
      expect((await api.ok(api.get(`/v1/queries/${queryId}`))).meta.path).toBe('kept/up');
      await ddl(`DROP TABLE ${table}`);
    });

    it('runs by Enter in a variable, lists the keys, and leads on from what is gone', async () => {
      const { page } = shared;
      const { queryId } = await store('SELECT region FROM sales WHERE region = :region');
      await goTo('query', queryId);
      await page.getByLabel('region', { exact: true }).fill('south');
      await page.keyboard.press('?');
      expect(await page.getByLabel('region', { exact: true }).inputValue()).toBe('south?');
      await page.getByLabel('region', { exact: true }).fill('south');
      await page.keyboard.press('Enter');
      await ended(page, 'done');
      await page.locator('.grid').focus();
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keys' }).getByText('search queries, sources').waitFor();
      await page.keyboard.press('Escape');
      await goTo('query', `${queryId.slice(0, -3)}aaa`);
      await page.getByRole('link', { name: 'show all hubs' }).waitFor();
      await page.getByRole('link', { name: 'Show console' }).click();
      await page.locator('h1', { hasText: 'console' }).waitFor();
    });

    it.each(['#/query/dh.q.x', '#/hub', '#/nowhere'])('says that there is no page at %s', async (hash) => {
      const { page } = shared;
      await page.evaluate(`location.hash = '${hash}'`);
      await page.reload();
      await page.getByText('There is no such page.').waitFor();
      await page.getByRole('link', { name: 'show all hubs' }).waitFor();
    });
  },
);
