/** Drafts of several tabs, and those that an older release kept. */

import type { Page } from 'playwright-core';
import { describe, expect, inject, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('drafts of several tabs (needs Chromium)', () => {
  const { shared, goTo } = useConsole();

  const openNewQuery = async () => {
    const page = await shared.page.context().newPage();
    await page.goto(`${inject('hub').url}/#/hub/${shared.hubId}/new-query`);
    await page.locator('.code').waitFor();
    return page;
  };
  const write = async (page: Page, text: string) => {
    await page.locator('.code, .cm-content').first().click();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
    // It is kept when typing pauses.
    await page.waitForTimeout(1_000);
  };
  const has = (page: Page, text: string) => page.locator('.editor-pane', { hasText: text }).waitFor();

  it('overwrite no other, over a reload, and the next tab takes over that of a closed one', async () => {
    await createSource(shared.hubId);
    const first = shared.page;
    await first.reload();
    await goTo('new-query');
    await write(first, 'SELECT 1 AS first_tab');
    const second = await openNewQuery();
    expect(await second.locator('.editor-pane').textContent()).not.toContain('first_tab');
    await write(second, 'SELECT 2 AS second_tab');
    await write(first, 'SELECT 1 AS first_tab_goes_on');
    await second.reload();
    await has(second, 'second_tab');
    await first.reload();
    await has(first, 'first_tab_goes_on');

    await goTo();
    const drafts = first.getByRole('region', { name: 'Drafts' });
    await drafts.getByText('open in another tab').waitFor();
    expect(await drafts.getByRole('link').count()).toBe(1);
    await second.close();
    const third = await openNewQuery();
    await has(third, 'second_tab');
    await third.close();
  });

  it('that an older release kept are there', async () => {
    const { page, hubId, key } = shared;
    await createSource(hubId);
    const { keyId } = await api.ok(api.get('/v1/keys/current', { key }));
    await page.goto(`${inject('hub').url}/healthz`);
    const draft = { text: 'SELECT 5 AS of_old', command: '', context: [], notNull: [], sourceId: '' };
    const place = { keyId, hubId, page: 'new-query' };
    const kept = { ...place, label: 'old', at: Date.now(), draft, base: { label: 'old' } };
    await page.evaluate(`new Promise((resolve) => {
      indexedDB.deleteDatabase('datahub-drafts').onsuccess = () => {
        const opening = indexedDB.open('datahub-drafts', 1);
        opening.onupgradeneeded = () => {
          const store = opening.result.createObjectStore('drafts', { keyPath: ['keyId', 'hubId', 'page'] });
          store.put(${JSON.stringify(kept)});
        };
        opening.onsuccess = () => { opening.result.close(); resolve(); };
      };
    })`);
    await page.goto(`${inject('hub').url}/#/hub/${hubId}/new-query`);
    await has(page, 'of_old');
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('old');
  });
});
