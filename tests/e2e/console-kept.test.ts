import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { cells, ended, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

/** Runs in the page: all that the browser's database holds, as text. */
const keptText = `new Promise((resolve) => {
  const opening = indexedDB.open('datahub-drafts', 2);
  opening.onsuccess = () => {
    const all = opening.result.transaction('drafts-by-tab').objectStore('drafts-by-tab').getAll();
    all.onsuccess = () => resolve(JSON.stringify(all.result));
    opening.result.close();
  };
})`;

describe.skipIf(executablePath === undefined)('what the console keeps (needs Chromium)', () => {
  const { shared, goTo, button, write, publish } = useConsole();
  /** The records of runs come to the list within a second. */
  const untilRows = (list: Locator, count: number) =>
    expect
      .poll(
        async () => {
          await button('Refresh').click();
          return list.getByRole('row').count();
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBe(count);

  it('shows a new key until it is confirmed as copied, and after a reload offers to replace it', async () => {
    const { page } = shared;
    await goTo('keys', 'new');
    await page.getByLabel('Name', { exact: true }).fill('kept');
    await button('Create key').click();
    const secret = page.getByRole('region', { name: 'The key' });
    const text = await secret.textContent();
    await page.keyboard.press('Escape');
    await page.getByText('The key “kept” will not be shown again after you leave this tab.').waitFor();
    await goTo();
    await button('Show the key').click();
    expect(await secret.textContent()).toBe(text);
    expect(await page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")).toBe(true);
    await button('I have copied it').click();
    await button('Show the key').waitFor({ state: 'detached' });
    expect(await page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")).toBe(
      false,
    );
    await goTo('keys');
    await page.reload();
    const row = page.getByRole('row', { name: /^kept/ });
    await row.getByRole('button', { name: 'Replace the secret …' }).click();
    await button('Create the new key').click();
    await secret.waitFor();
    expect(await secret.textContent()).not.toBe(text);
    await button('I have copied it').click();
  });

  it('keeps drafts over a reload, without secret values, and shows what others published meanwhile', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const body = { hubId, sourceId, label: 'kept draft', query: 'SELECT 1 AS a' };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    await goTo('query', queryId);
    await write("SELECT 2 AS a, :token <> 'x' AS b");
    await button('Declare token').click();
    await page.getByLabel('Secret', { exact: false }).check();
    await button('Apply').click();
    await page.getByLabel('token', { exact: true }).fill('s3cret');
    await expect.poll(() => page.evaluate(keptText)).toContain('SELECT 2 AS a');
    expect(await page.evaluate(keptText)).not.toContain('s3cret');
    await goTo();
    const drafts = page.getByRole('region', { name: 'Drafts' });
    await drafts.getByRole('link', { name: 'kept draft' }).waitFor();
    await page.reload();
    await drafts.getByRole('link', { name: 'kept draft' }).click();
    await page.locator('.editor-pane', { hasText: 'SELECT 2 AS a' }).waitFor();
    await page.getByText('not published').waitFor();

    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { query: { query: 'SELECT 3 AS a' } } }));
    await page.reload();
    await page.getByText(/^Somebody published version 2 while you edited version 1/).waitFor();
    await button('Take theirs').click();
    await page.locator('.editor-pane', { hasText: 'SELECT 3 AS a' }).waitFor();
    await expect.poll(() => page.evaluate(keptText)).not.toContain('SELECT 2 AS a');
    await button('Undo discard').click();
    await button('Keep mine').click();
    await page.locator('.editor-pane', { hasText: 'SELECT 2 AS a' }).waitFor();
    await button('Discard changes').click();
    await page.locator('.editor-pane', { hasText: 'SELECT 3 AS a' }).waitFor();
    await button('Undo discard').click();
    await page.locator('.editor-pane', { hasText: 'SELECT 2 AS a' }).waitFor();
  });

  it('keeps a new query until it is created', async () => {
    const { page, hubId } = shared;
    await createSource(hubId);
    await goTo('new-query');
    await page.getByLabel('Name', { exact: true }).fill('begun');
    await write('SELECT 4 AS a');
    await expect.poll(() => page.evaluate(keptText)).toContain('SELECT 4 AS a');
    await page.reload();
    await page.locator('.editor-pane', { hasText: 'SELECT 4 AS a' }).waitFor();
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('begun');
    await button('Create query').click();
    await page.locator('h1', { hasText: 'begun' }).waitFor();
    await expect.poll(() => page.evaluate(keptText)).not.toContain('SELECT 4 AS a');
  });

  it('lists the runs that the hub keeps, of programs and of this tab', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT id FROM sales WHERE id <= :n';
    const body = { hubId, sourceId, label: 'with runs', query, context: [{ key: 'n', value: 2 }] };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    const { key } = await api.ok(
      api.post('/v1/keys', { name: 'nightly import', scopes: ['queries:execute'] }),
    );
    await api.ok(api.post('/v1/queries/execute', { queryId }, { key }));
    expect((await api.post('/v1/queries/execute', { queryId, context: { n: 'x' } }, { key })).status).toBe(
      422,
    );
    await goTo('query', queryId);
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('.figures[data-status=done]').waitFor();
    await goTo('query', queryId, 'runs');
    const kept = page.getByRole('region', { name: 'Kept runs' });
    await untilRows(kept, 4);
    const texts = await kept.getByRole('row').allInnerTexts();
    expect(texts.filter((text) => text.includes('nightly import') && text.includes('program'))).toHaveLength(
      2,
    );
    expect(texts.filter((text) => text.includes('console'))).toHaveLength(1);
    await page.getByLabel('Only failed').check();
    await expect.poll(() => kept.getByRole('row').count()).toBe(2);
    expect(await kept.innerText()).toContain('failed: SQL_REJECTED');
    await page.getByRole('button', { name: 'Use these values' }).click();
    await page.getByLabel('n', { exact: true }).waitFor();
  });

  it('fills in the values of a kept run again, if the query keeps them', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT :n AS n, :ids AS ids';
    const context = [
      { key: 'n', type: 'decimal', value: 1 },
      { key: 'ids', type: 'bigint[]', value: [] },
    ];
    const { queryId } = (
      await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'with values', query, context }))
    ).config.query;
    await goTo('query', queryId, 'contract');
    await page.getByLabel('Keep the values of runs').check();
    await publish();
    await api.ok(api.post('/v1/queries/execute', { queryId, context: { n: 2.5, ids: [7, 8] } }));
    await goTo('query', queryId, 'runs');
    const kept = page.getByRole('region', { name: 'Kept runs' });
    await untilRows(kept, 2);
    expect(await kept.innerText()).toContain('{"n":2.5,"ids":[7,8]}');
    await kept.getByRole('button', { name: 'Use these values' }).click();
    await page.getByRole('button', { name: /^Run/ }).click();
    await ended(page, 'done');
    expect((await cells(page))[0]).toEqual(['2.5', '[7,8]']);
  });
});
