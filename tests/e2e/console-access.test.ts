import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { ended, executablePath, useConsole } from '../support/console.ts';
import { api, createSource } from '../support/hub.ts';

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Returns serious and critical violations of WCAG 2.2 A and AA and of best practices, found by axe. */
async function violations(page: Page): Promise<string[]> {
  const { readFile } = await import('node:fs/promises');
  // Runs through the debugger, to which the content security policy does not apply.
  await page.evaluate(await readFile(axePath, 'utf8'));
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.violations
    .filter(({ impact }) => ['serious', 'critical'].includes(impact))
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
    );
}

const themes = ['light', 'dark'] as const;

describe.skipIf(executablePath === undefined)('the accessibility of the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  const prepare = async () => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT region, note FROM sales WHERE region = :region AND id IN (:ids)';
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'by region', query }));
    const changed = { query: { query: query.replace('note', 'note, id') }, cache: { maxAgeS: 60 } };
    await api.ok(api.put(`/v1/queries/${config.query.queryId}`, { config: changed }));
    const { id } = await api.ok(api.post('/v1/classifiers', { name: 'mail' }));
    const words = [
      ['late', 'it is late'],
      ['paid', 'I paid twice'],
      ['late', 'where is it'],
      ['paid', 'where is my money'],
    ];
    const examples = words.map(([label, context]) => ({ label, context }));
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
    return { sourceId, queryId: config.query.queryId, classifierId: id };
  };

  it.each(themes)(
    'has no serious violations in any view: %s',
    async (theme) => {
      const { page } = shared;
      const { sourceId, queryId, classifierId } = await prepare();
      await page.emulateMedia({ colorScheme: theme });
      const found: Record<string, string[]> = {};
      const look = async (name: string) => {
        await page.waitForTimeout(150);
        found[name] = await violations(page);
      };
      await goTo('query', queryId);
      await page.getByLabel('region', { exact: true }).fill('south');
      await page.getByLabel('ids', { exact: true }).fill('1,2,3,4,5,6,7,8,9');
      await page.keyboard.press('Enter');
      await button(/^Run/).click();
      await ended(page, 'done');
      await page.locator('.grid').focus();
      await look('query');
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      await page.keyboard.type('wrong ');
      await page.locator('.check-note').waitFor();
      await look('editor');
      await button('Discard changes').click();
      await button('Use it').click();
      await look('use');
      await page.keyboard.press('Escape');
      const views: Record<string, string[]> = {
        hub: [],
        contract: ['query', queryId, 'contract'],
        runs: ['query', queryId, 'runs'],
        versions: ['query', queryId, 'versions'],
        statistics: ['query', queryId, 'statistics'],
        slowest: ['statistics'],
        source: ['source', sourceId],
        settings: ['source', sourceId, 'settings'],
        'new source': ['new-source'],
        'new query': ['new-query'],
        keys: ['keys'],
        'new key': ['keys', 'new'],
        predict: ['classifier', classifierId, 'predict'],
        train: ['classifier', classifierId, 'train'],
        classes: ['classifier', classifierId, 'classes'],
        evaluation: ['classifier', classifierId, 'evaluation'],
        summary: ['summary'],
        audit: ['audit'],
      };
      for (const [name, path] of Object.entries(views)) {
        // The second theme differs only in its colours, and these views have all of them.
        if (
          theme === 'dark' &&
          ![
            'hub',
            'versions',
            'settings',
            'new key',
            'predict',
            'evaluation',
            'audit',
            'statistics',
          ].includes(name)
        )
          continue;
        await goTo(...path);
        await look(name);
        if (name === 'new key') await page.keyboard.press('Escape');
      }
      await page.keyboard.press('Control+k');
      await look('search');
      await page.keyboard.press('Escape');
      await button('Sign out').click();
      await page.getByLabel('API key').waitFor();
      await look('sign-in');
      expect(Object.entries(found).filter(([, list]) => list.length > 0)).toEqual([]);
    },
    60_000,
  );

  it.each(themes)('finds nothing serious where a classifier learns from rows: %s', async (theme) => {
    const { page, hubId } = shared;
    const { sourceId, queryId, classifierId } = await prepare();
    const query = 'SELECT id, region AS label, note AS text FROM sales';
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'notes', query }));
    const job = { queryId: stored.config.query.queryId, text: 'text', label: 'label', id: 'id' };
    const { jobId } = await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, job));
    await page.emulateMedia({ colorScheme: theme });
    await goTo('classifier', classifierId, 'train', jobId);
    // The tree of the tab is older than the query.
    await page.reload();
    await page.getByText('Done', { exact: true }).waitFor();
    await page.locator('td', { hasText: 'text is missing' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await button('Train from a query again').click();
    await page.getByLabel('Query', { exact: true }).selectOption(queryId);
    await page.getByLabel('Column of the id').selectOption('region');
    await page.getByLabel('Column of the label').selectOption('region');
    await page.getByLabel('Column of the text').selectOption('note');
    await page.getByLabel('ids', { exact: true }).fill('no number');
    await page.keyboard.press('Enter');
    await page.locator('.fault').first().waitFor();
    await button('Train with its rows').click();
    await page.getByText('Some values are missing or do not fit.').waitFor();
    expect(await violations(page)).toEqual([]);
    await goTo('classifier', classifierId, 'examples');
    await page.locator('td', { hasText: 'I paid twice' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await button('Actions for example 1').click();
    await page.getByRole('menuitem', { name: 'Correct' }).click();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await goTo('summary', 'column');
    await page.getByLabel('Query', { exact: true }).selectOption(queryId);
    await page.getByLabel('Column of the texts').waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('works with the keyboard only: from the tree to rows and exact values', async () => {
    const { page } = shared;
    const { queryId } = await prepare();
    // Other tests have hubs in this account, so this test selects its own.
    await goTo();
    await page.reload();
    await page.getByRole('treeitem', { name: 'by region' }).first().waitFor();
    const key = (name: string) => page.keyboard.press(name);
    const focused = () =>
      page.evaluate(`(() => {
        const one = document.activeElement.shadowRoot?.activeElement ?? document.activeElement;
        return one.getAttribute('aria-label') ?? one.getAttribute('role') ?? one.textContent;
      })()`);
    /** Presses Tab until the wanted element has the focus, as a user would. */
    const tabTo = async (wanted: RegExp) => {
      for (let i = 1; i <= 240; i++) {
        await key('Tab');
        if (wanted.test(String(await focused()))) return;
        // The wanted element may still be loading.
        if (i % 60 === 0) await page.waitForTimeout(500);
      }
      throw new Error(`Tab does not lead to ${wanted}.`);
    };
    await key('Control+k');
    await page.keyboard.type('by region');
    await page.getByRole('option', { name: 'by region' }).first().waitFor();
    await key('Enter');
    await page.locator('h1', { hasText: 'by region' }).waitFor();
    await goTo('query', queryId);
    await page.locator('.editor').waitFor();
    await tabTo(/^Statement$/);
    await page.locator('.editor[data-state=open]').waitFor();
    await key('Control+Home');
    await page.keyboard.type('/* by keys */ ');
    // Escape, then Tab leaves the editor.
    await key('Escape');
    await key('Tab');
    await page.getByLabel('region', { exact: true }).focus();
    await page.keyboard.type('south');
    await tabTo(/^Declare ids|Send ids/);
    await page.getByLabel('ids', { exact: true }).focus();
    await page.keyboard.type('1,2,3,4,5,6,7,8,9');
    await key('Enter');
    await key('Control+Enter');
    await ended(page, 'done');
    await page.locator('.grid-cell', { hasText: 'south' }).first().waitFor();
    await tabTo(/^Rows of/);
    await key('Enter');
    await page.locator('dialog .cell-text', { hasText: 'south' }).waitFor();
    await key('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await key('Control+s');
    await key('ArrowRight');
    expect(await page.locator('.grid').getAttribute('aria-activedescendant')).toMatch(/-active$/);
  });
});
