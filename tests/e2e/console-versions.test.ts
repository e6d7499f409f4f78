import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { ended, holdAnswers, hostile, makeKey, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

const first = `SELECT region, note,\n  id\nFROM sales\n-- ${hostile}\nWHERE region = :region\nORDER BY id\nLIMIT 10`;
const second = first.replace('note,', 'note, 1 AS one,').replace('LIMIT 10', 'LIMIT 20\nOFFSET 1');

describe.skipIf(executablePath === undefined)(
  'the versions of a query in the console (needs Chromium)',
  () => {
    const { shared, goTo, button } = useConsole();

    async function prepare(): Promise<string> {
      const { hubId } = shared;
      const sourceId = await createSource(hubId);
      const context = [{ key: 'region', type: 'string', value: 'north' }];
      const body = { hubId, sourceId, label: 'by region', query: first, context };
      const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
      const change = (body: object, key?: string) =>
        api.ok(api.put(`/v1/queries/${queryId}`, body, key === undefined ? {} : { key }));
      await change({ config: { query: { query: second } } }, shared.key);
      await change({ meta: { label: 'by region, renamed' } });
      await change({
        config: { context: [{ key: 'region', type: 'string', required: true }], cache: { maxAgeS: 60 } },
      });
      return queryId;
    }
    const list = () => shared.page.getByRole('list', { name: 'Versions, newest first' });
    const lines = (kind: 'added' | 'removed') =>
      shared.page.locator(`.diff-line.${kind} .diff-text`).allTextContents();
    const stored = async (queryId: string) => (await api.ok(api.get(`/v1/queries/${queryId}`))).config;

    it('shows what each change was, how it differs, and restores it', async () => {
      const { page } = shared;
      const queryId = await prepare();
      await goTo('query', queryId);
      await page.getByRole('tab', { name: 'Versions' }).click();
      await list().waitFor();
      const listed = await list().locator('.version-changed').allTextContents();
      expect(listed).toEqual(['variables, cache', 'name', 'statement', 'created']);
      // The second version was made with the key of this tab.
      expect(await list().locator('.hint').nth(2).textContent()).toContain('console');
      await list().getByRole('button', { name: '1 created' }).click();
      await page.getByRole('heading', { name: 'Version 1' }).waitFor();
      const facts = page.locator('.differences tbody tr');
      expect(await facts.locator('td').allTextContents()).toEqual([
        ...['Name', 'by region, renamed', 'by region'],
        ...['Variable region', 'string, required', 'string, default "north"'],
        ...['Cache', '60 s', 'none'],
      ]);
      expect(await lines('added')).toEqual(['SELECT region, note,', 'LIMIT 10']);
      expect(await lines('removed')).toEqual(['SELECT region, note, 1 AS one,', 'LIMIT 20', 'OFFSET 1']);
      expect(await page.locator('.diff').textContent()).toContain(hostile);
      await button('Restore …').click();
      await page.getByText('what it was in version 1: statement, name, variables, cache.').waitFor();
      await button('Restore version 1').click();
      await list().getByRole('button', { name: '5 restored version 1' }).waitFor();
      expect(await stored(queryId)).toMatchObject({
        query: { query: first },
        context: [{ key: 'region', type: 'string', value: 'north' }],
      });
      expect((await stored(queryId)).cache).toBeUndefined();
      await page.getByText('It is the same as the present query.').waitFor();
      expect(await button('Restore …').isDisabled()).toBe(true);
      await page.locator('h1', { hasText: /^by region$/ }).waitFor();
      await page.getByRole('treeitem', { name: 'by region', exact: true }).first().waitFor();
      await page.getByRole('tab', { name: 'Query', exact: true }).click();
      await page.locator('.code', { hasText: 'LIMIT 10' }).waitFor();
    });

    it('works with the keyboard, keeps its place, and fits a phone', async () => {
      const { page } = shared;
      const queryId = await prepare();
      await page.setViewportSize({ width: 390, height: 844 });
      await goTo('query', queryId, 'versions');
      await list().getByRole('button').nth(2).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Version 2' }).waitFor();
      await button('What it changed').focus();
      await page.keyboard.press('Space');
      await page.getByText('+ 3 lines only in version 2, − 2 lines only in version 1').waitFor();
      expect(await lines('added')).toEqual(['SELECT region, note, 1 AS one,', 'LIMIT 20', 'OFFSET 1']);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      await page.reload();
      await page.getByRole('heading', { name: 'Version 2' }).waitFor();
      await page.setViewportSize({ width: 1280, height: 900 });
    });

    it('restores only what was shown, and asks before it drops changes', async () => {
      const { page } = shared;
      const queryId = await prepare();
      await goTo('query', queryId, 'contract');
      await page.getByLabel('Cache results for, seconds').fill('600');
      await page.getByRole('tab', { name: 'Versions' }).click();
      await list().getByRole('button').nth(3).click();
      await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: 'changed by another' } }));
      await button('Restore …').click();
      await page.getByText('Your draft is lost.').waitFor();
      await button('Restore version 1').click();
      await page.locator('.problem', { hasText: 'VERSION_MISMATCH' }).waitFor();
      await button('Cancel').click();
      await list().getByRole('button', { name: '5 name' }).waitFor();
      await page.getByText('not published').waitFor();
      await button('Restore …').click();
      await button('Restore version 1').click();
      await list().getByRole('button', { name: '6 restored version 1' }).waitFor();
      expect(await page.getByText('not published').count()).toBe(0);
      expect((await stored(queryId)).query.query).toBe(first);
    });

    it('shows a key that may only read what it may do', async () => {
      const { page } = shared;
      const queryId = await prepare();
      const key = await makeKey(['hubs:read', 'queries:read'], {});
      await page.evaluate(`sessionStorage.setItem('datahub.key', ${JSON.stringify(key)})`);
      await goTo('query', queryId, 'versions', '1');
      await page.reload();
      expect(await button('Restore …').isDisabled()).toBe(true);
      await page.getByText('+ 2 lines only in version 1').waitFor();
    });

    it('runs what it shows while the number of a published version is still unknown', async () => {
      const { page, hubId } = shared;
      const sourceId = await createSource(hubId);
      const body = { hubId, sourceId, label: 'numbered', query: 'SELECT 1 AS a' };
      const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
      await goTo('query', queryId, 'contract');
      await page.getByLabel('Cache results for, seconds').fill('600');
      const answer = await holdAnswers(page, '**/v1/queries/*?latest=1');
      await button('Publish …').click();
      const saved = page.waitForResponse((response) => response.request().method() === 'PUT');
      await button('Publish').click();
      await saved;
      await page.getByRole('tab', { name: 'Query', exact: true }).click();
      await button(/^Run/).click();
      await ended(page, 'done');
      answer();
      await page.getByText('not published').waitFor({ state: 'detached' });
      await button(/^Run/).click();
      await page.locator('.figures', { hasText: 'of the draft' }).waitFor({ state: 'detached' });
      await ended(page, 'done');
    });
  },
);
