import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { bothEngines, closeDialog, drawn, ended, hostile, useConsole } from '../support/browser/console.ts';
import { prepareWatch, viewsOf } from '../support/browser/views.ts';
import { api, execute, sourceBody } from '../support/hub.ts';

/** A text in which markup is left out as a browser does would be shorter. */
const shows = (page: Page) => page.locator('body', { hasText: hostile }).waitFor();

describe.skipIf(executablePath === undefined)('a hostile database in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  const look = async (name: string) => {
    const { page } = shared;
    expect([name, await page.locator('img').count()]).toEqual([name, 0]);
    expect([name, await page.evaluate('globalThis.taken')]).toEqual([name, undefined]);
  };

  /** Names, values and faults full of markup, wherever a person or a database can put them. */
  const prepare = async (engine: string) => {
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: hostile }));
    const { sourceId } = await api.ok(
      api.post('/v1/sources', { ...sourceBody(hubId, engine), label: hostile }),
    );
    const quoted = engine === 'postgres' ? `"${hostile}"` : `\`${hostile}\``;
    const create = `CREATE TABLE IF NOT EXISTS ${quoted} (${quoted} VARCHAR(99), id INT)`;
    await execute({ hubId, sourceId, query: create, command: 'CREATE' });
    const insert = `INSERT INTO ${quoted} VALUES ('${hostile}', 1), (NULL, 2)`;
    await execute({ hubId, sourceId, query: insert, command: 'INSERT' });
    const folder = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: hostile }));
    const query = `SELECT id AS n, ${quoted} AS label, ${quoted} AS text, ${quoted} FROM ${quoted} WHERE :v = :v`;
    const context = [{ key: 'v', type: 'string', description: hostile, enum: [hostile], value: hostile }];
    const body = { hubId, sourceId, label: hostile, query, context, parentNodeId: folder.nodeId };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    await api.ok(api.put(`/v1/queries/${queryId}`, { config: { query: { query: `${query} AND 1 = 1` } } }));
    await api.ok(api.post('/v1/queries/execute', { queryId }));
    const { id: classifierId } = await api.ok(api.post('/v1/classifiers', { name: hostile }));
    const examples = Array.from({ length: 40 }, (_, i) => ({
      label: i % 2 === 0 ? hostile : 'other',
      context: `${hostile} ${i % 2}`,
    }));
    await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, { examples }));
    await api.ok(
      api.post('/v1/keys', { name: hostile, scopes: ['queries:execute'], limits: { queryIds: [queryId] } }),
    );
    const watch = await prepareWatch({ hubId, sourceId, name: hostile, query: `SELECT 1 AS ${quoted}` });
    const cards = [{ text: `# ${hostile}\n${hostile}` }, { queryId, label: hostile, size: 'wide' }];
    const board = { hubId, label: hostile, cards, values: { v: hostile } };
    const { boardId } = await api.ok(api.post('/v1/boards', board));
    return { hubId, sourceId, queryId, classifierId, boardId, ...watch, quoted };
  };

  it.each(bothEngines)('shows as text in every view: %s', async (engine) => {
    const { page } = shared;
    const ids = await prepare(engine);
    shared.hubId = ids.hubId;
    await page.evaluate("location.hash = '#/hubs'");
    await page.reload();
    await shows(page);
    await look('hubs');
    for (const [name, path] of Object.entries(viewsOf(ids))) {
      await goTo(...path);
      await drawn(page);
      await shows(page);
      await look(name);
      await closeDialog(page);
    }

    await goTo('query', ids.queryId);
    await button(/^Run/).click();
    await ended(page, 'done');
    await page.locator('.grid-cell', { hasText: hostile }).first().waitFor();
    expect(await page.locator('.grid-title > button:first-child').last().textContent()).toBe(hostile);
    await page.locator('.grid').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('.cell-text', { hasText: hostile }).waitFor();
    await look('cell');
    await page.keyboard.press('Escape');
    await button('Chart').click();
    await page.locator('.chart canvas').waitFor();
    await look('chart');
    await button('JSON').click();
    await page.locator('.json', { hasText: hostile }).waitFor();
    await look('json');
    await page.getByRole('tab', { name: 'Use it' }).click();
    for (const language of ['curl', 'TypeScript', 'Python', 'Web page']) {
      await page.getByRole('tab', { name: language, exact: true }).click();
      await page.locator('.copy-block pre', { hasText: 'queries/execute' }).waitFor();
      await look(language);
    }
    await page.getByRole('tab', { name: 'Query' }).click();
    await button('Declare v').click();
    await look('variable');
    await page.keyboard.press('Escape');
    await page.getByRole('tab', { name: 'Runs' }).click();
    await page.getByRole('button', { name: 'Use these values' }).waitFor();
    await look('runs');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('<img');
    await page.getByRole('option', { name: hostile }).first().waitFor();
    await look('search');
    await page.keyboard.press('Escape');

    // A fault of the database quotes the text.
    await goTo('new-query');
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('SELECT 1 FROM img');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: hostile }).waitFor();
    await look('completion');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(`SELECT ${ids.quoted.replaceAll('1>', '2>')} FROM sales`);
    // MariaDB reports no position of this name.
    if (engine === 'postgres') {
      await page.locator('.cm-lintRange-error').first().hover();
      await page.locator('.cm-tooltip-lint', { hasText: '<img' }).waitFor();
      await look('fault');
    }
    await button('Create query').click();
    await button('Create anyway').waitFor();
    await look('confirmation');
    await button('Create anyway').click();
    await page.getByRole('tab', { name: 'Query', exact: true }).waitFor();
    await button(/^Run/).click();
    await ended(page, 'failed');
    await page.locator('.results .problem', { hasText: '<img' }).waitFor();
    await look('problem');
  });

  it('turns only its own name around', async () => {
    const { page } = shared;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'around' }));
    const { sourceId } = await api.ok(api.post('/v1/sources', sourceBody(hubId, bothEngines[0] as string)));
    const body = { hubId, sourceId, label: '\u202eevil', query: 'SELECT 1 AS one' };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    const watch = { hubId, queryId, label: 'w', schedule: { everyS: 3_600 }, when: 'always' };
    await api.ok(api.post('/v1/watches', watch));
    shared.hubId = hubId;
    await goTo('watches');
    const name = page.locator('#main td a', { hasText: 'evil' });
    await name.waitFor();
    const isBefore = await name.evaluate((link) => {
      const { ownerDocument: page, nextSibling } = link;
      const range = page.createRange();
      range.selectNode(nextSibling as never);
      return link.getBoundingClientRect().right <= range.getBoundingClientRect().left + 1;
    });
    expect(isBefore).toBe(true);
  });

  it('shows as text where texts are classified and summarized', async () => {
    const { page } = shared;
    const { queryId, classifierId } = await prepare(bothEngines[0] as string);
    const job = { queryId, text: 'text', label: 'label', id: 'n' };
    const { jobId } = await api.ok(api.post(`/v1/classifiers/${classifierId}/train`, job));
    await goTo('classifier', classifierId, 'train', jobId);
    await page.getByText('Done', { exact: true }).waitFor();
    await look('job');
    await goTo('classifier', classifierId, 'predict');
    await page.getByLabel('Text', { exact: true }).fill(hostile);
    await button('Predict').click();
    await page.locator('.big-word', { hasText: hostile }).waitFor();
    await look('prediction');
    await goTo('classifier', classifierId, 'examples');
    await button('Actions for example 1').click();
    await page.getByRole('menuitem', { name: 'Correct' }).click();
    await look('correction');
    await page.keyboard.press('Escape');
    await goTo('summary');
    await page.getByLabel('Text', { exact: true }).fill(`${hostile} is one sentence. Another is short.`);
    await button('Summarise').click();
    await page.locator('.marked mark', { hasText: hostile }).waitFor();
    await look('summary');
  });

  it('takes variables with the names of what each object inherits', async () => {
    const { page, hubId } = shared;
    const { sourceId } = await api.ok(api.post('/v1/sources', sourceBody(hubId, bothEngines[0] as string)));
    const query = 'SELECT :constructor AS a, :toString AS b';
    const body = { hubId, sourceId, label: 'names', query };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    await goTo('query', queryId);
    await button(/^Run/).click();
    await page.getByText('Give it a value.').first().waitFor();
    await page.getByLabel('constructor', { exact: true }).fill('Ferrari');
    await page.getByLabel('toString', { exact: true }).fill('two');
    await button(/^Run/).click();
    await ended(page, 'done');
    await page.locator('.grid-cell', { hasText: 'Ferrari' }).waitFor();
    await page.reload();
    expect(await page.getByLabel('constructor', { exact: true }).inputValue()).toBe('Ferrari');
  });
});
