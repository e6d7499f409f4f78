import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { closeDialog, drawn, ended, holdAnswers, useConsole } from '../support/browser/console.ts';
import { prepareViews, viewsOf } from '../support/browser/views.ts';
import { api, createSource } from '../support/hub.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

const axe = await readFile(axePath, 'utf8');
/** The rules whose result depends on the theme. */
const colours = ['color-contrast', 'link-in-text-block'];

const themes = ['light', 'dark'] as const;

/** Returns serious and critical violations of WCAG 2.2 A and AA and of best practices, found by axe. */
async function violations(page: Page, theme: (typeof themes)[number]): Promise<string[]> {
  // A notice that fades in has too little contrast until it is there.
  await page.evaluate(
    'Promise.allSettled(document.getAnimations().filter((one) => one.effect?.getTiming().iterations !== Infinity).map((one) => one.finished))',
  );
  const options = { resultTypes: ['violations'], ...(theme === 'dark' ? { runOnly: colours } : {}) };
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${theme}: ${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

/** The violations of what a page shows now, in each theme. */
async function violationsOf(page: Page): Promise<string[]> {
  await drawn(page);
  // Runs through the debugger, to which the content security policy does not apply.
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(axe);
  const found = [];
  for (const theme of themes) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`[data-theme=${theme}]`).waitFor();
    found.push(...(await violations(page, theme)));
  }
  return found;
}

describe.skipIf(executablePath === undefined)('the accessibility of the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  it('has no serious violations in any view and theme', async () => {
    const { page } = shared;
    const ids = await prepareViews(shared.hubId);
    const { queryId } = ids;
    const found: Record<string, string[]> = {};
    const look = async (name: string) => {
      found[name] = await violationsOf(page);
    };
    await goTo('query', queryId);
    await page.getByLabel('region', { exact: true }).fill('south');
    await page.getByLabel('ids', { exact: true }).fill('1,2,3,4,5,6,7,8,9');
    await page.keyboard.press('Enter');
    await button(/^Run/).click();
    await ended(page, 'done');
    await page.locator('.grid').focus();
    await look('rows');
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.type('wrong ');
    await page.locator('.check-note').waitFor();
    await look('editor');
    await button('Discard changes').click();
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.locator('.use .copy-block').waitFor();
    await look('use');
    const writing = { hubId: shared.hubId, sourceId: ids.sourceId, label: 'write', command: 'UPDATE' };
    const query = "UPDATE sales SET note = note WHERE region = 'nowhere'";
    const { config } = await api.ok(api.post('/v1/queries', { ...writing, query }));
    await goTo('query', config.query.queryId);
    await button(/^Run …/).click();
    await look('write');
    await button('Dry run').click();
    await page.getByText('Nothing was changed').waitFor();
    await look('dry run');
    for (const [name, path] of Object.entries(viewsOf(ids))) {
      await goTo(...path);
      await look(name);
      await closeDialog(page);
    }
    await page.keyboard.press('Control+k');
    await look('search');
    await page.keyboard.press('Escape');
    await button('Sign out').click();
    await page.getByLabel('API key').waitFor();
    await look('sign-in');
    expect(Object.entries(found).filter(([, list]) => list.length > 0)).toEqual([]);
  }, 180_000);

  it('finds nothing serious on a board while its cards load, load again, fail and are empty', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const store = async (label: string, query: string) =>
      (await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }))).config.query.queryId;
    const cards = [
      { queryId: await store('rows', 'SELECT id, note FROM sales') },
      { queryId: await store('none', 'SELECT id FROM sales WHERE id < 0') },
      { queryId: await store('one', 'SELECT 1 AS one'), size: 'wide' },
      { queryId: await store('broken', 'SELECT nothing FROM sales'), size: 'large' },
      { path: 'none' },
    ];
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'cards', cards }));
    const busy = page.locator('.pinned-card[aria-busy=true]');
    let release = await holdAnswers(page, '**/v1/queries/data');
    await goTo('boards', boardId);
    await page.getByText('Running …').first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    release();
    await page.getByText('No rows.').waitFor();
    await page.locator('.card-problem[role=alert]').waitFor();
    await busy.first().waitFor({ state: 'detached' });
    expect(await violationsOf(page)).toEqual([]);
    release = await holdAnswers(page, '**/v1/queries/data');
    await button('Refresh').click();
    await busy.first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    release();
    await busy.first().waitFor({ state: 'detached' });
    await page.unrouteAll({ behavior: 'wait' });
    await page.route('**/v1/queries/data', (route) => route.abort());
    await button('Refresh').click();
    await expect.poll(() => page.locator('.card-problem[role=alert]').count()).toBe(4);
    expect(await violationsOf(page)).toEqual([]);
  });

  it('finds nothing serious where a classifier learns from rows', async () => {
    const { page, hubId } = shared;
    const { sourceId, queryId, classifierId } = await prepareViews(shared.hubId);
    const query = 'SELECT id, region AS label, note AS text FROM sales';
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'notes', query }));
    const job = { queryId: stored.config.query.queryId, text: 'text', label: 'label', id: 'id' };
    const { jobId } = await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, job));
    await goTo('classifier', classifierId, 'train', jobId);
    // The tree of the tab is older than the query.
    await page.reload();
    await page.getByText('Done', { exact: true }).waitFor();
    await page.locator('td', { hasText: 'text is null' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await button('Train from a query again').click();
    await page.getByLabel('Query', { exact: true }).selectOption(queryId);
    await page.getByLabel('Column of the id').selectOption('region');
    await page.getByLabel('Column of the label').selectOption('region');
    await page.getByLabel('Column of the text').selectOption('note');
    await page.getByLabel('ids', { exact: true }).fill('no number');
    await page.keyboard.press('Enter');
    await page.locator('.fault').first().waitFor();
    await button('Train with its rows').click();
    await page.getByText('Give it a value.').first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await goTo('classifier', classifierId, 'examples');
    await page.locator('td', { hasText: 'I paid twice' }).first().waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await button('Actions for example 1').click();
    await page.getByRole('menuitem', { name: 'Correct' }).click();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await goTo('summary', 'column');
    await page.getByLabel('Query', { exact: true }).selectOption(queryId);
    await page.getByLabel('Column of the texts').waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });

  it('gives the keyboard to dialogs and menus before their first frame', async () => {
    const { page } = shared;
    // The first act of a person loads the code of the search. From then on it opens at once.
    await page.locator('.main h1').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('combobox').waitFor({ state: 'detached' });
    for (const [name, role] of [
      ['Theme', 'menuitem'],
      ['Search queries and tables', 'combobox'],
    ]) {
      const opener = page.getByRole('button', { name });
      const focused = await opener.evaluate(focusOnceOpen);
      expect(focused).toBe(role);
      await page.keyboard.press('Escape');
      await expect
        .poll(() => page.evaluate('document.activeElement.title || document.activeElement.className'))
        .toMatch(/^(Theme|find)$/);
    }
  });
});

/** Runs in the page: opens what the button opens. Resolves to the role of what has the focus before the next frame. */
function focusOnceOpen(opener: { click(): void }): Promise<string | null> {
  const { document, requestAnimationFrame } = globalThis as any;
  opener.click();
  return new Promise((resolve) => {
    requestAnimationFrame(() => resolve(document.activeElement.getAttribute('role')));
  });
}
