import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { cells, ended, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('what is shown in the console runs (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  async function open(query: string, command = 'SELECT'): Promise<string> {
    const { hubId, page } = shared;
    const sourceId = await createSource(hubId);
    const body = { hubId, sourceId, label: 'shown', query, command };
    const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
    await goTo('query', queryId);
    await page.locator('.code').waitFor();
    return queryId;
  }
  const storedText = async (queryId: string) =>
    (await api.ok(api.get(`/v1/queries/${queryId}`))).config.query.query;
  const changeElsewhere = (queryId: string, query: string) =>
    api.ok(api.put(`/v1/queries/${queryId}`, { config: { query: { query } } }));
  const write = async (text: string) => {
    const { page } = shared;
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
    await page.keyboard.press('Escape');
  };
  const textIn = (name: string) => shared.page.getByRole('region', { name }).locator('pre').textContent();

  it('refuses to run another version, and shows both texts', async () => {
    const { page } = shared;
    const queryId = await open("SELECT 'shown' AS one");
    await changeElsewhere(queryId, "SELECT 'other' AS one");
    await button(/^Run/).click();
    await ended(page, 'failed');
    await page.locator('.problem', { hasText: 'VERSION_CHANGED' }).waitFor();
    await page.getByText('What differs: the statement.').waitFor();
    expect(await textIn('On this page')).toBe("SELECT 'shown' AS one");
    expect(await textIn('Present, version 2')).toBe("SELECT 'other' AS one");
    await button('Show the present version').click();
    await page.locator('.code', { hasText: "'other'" }).waitFor();
    await button(/^Run/).click();
    await ended(page, 'done');
    expect(await cells(page)).toEqual([['other']]);
  });

  it('reads the query again when the tab becomes visible', async () => {
    const { page } = shared;
    const queryId = await open('SELECT 1 AS one');
    await changeElsewhere(queryId, 'SELECT 2 AS two');
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.locator('.code', { hasText: 'SELECT 2 AS two' }).waitFor();
    await write('SELECT 3 AS three');
    await changeElsewhere(queryId, 'SELECT 4 AS four');
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByText('changed elsewhere').waitFor();
    expect(await textIn('On this page')).toBe('SELECT 3 AS three');
    await button('Keep my changes').click();
    await button('Save').click();
    await page.getByText('not saved').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT 3 AS three');
  });

  it('shows the present text after a conflict, once the changes are discarded', async () => {
    const { page } = shared;
    const queryId = await open('SELECT 1 AS one');
    await write('SELECT 2 AS two');
    await changeElsewhere(queryId, 'SELECT 3 AS three');
    await page.keyboard.press('Control+s');
    await page.getByText('changed elsewhere').waitFor();
    expect(await textIn('Present, version 2')).toBe('SELECT 3 AS three');
    await button('Discard changes').click();
    await page.locator('.cm-line', { hasText: 'SELECT 3 AS three' }).waitFor();
    await page.getByText('changed elsewhere').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT 3 AS three');
  });

  it('saves in spite of a new name', async () => {
    const { page } = shared;
    const queryId = await open('SELECT 1 AS one');
    await write('SELECT 2 AS two');
    await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: 'renamed' } }));
    await page.keyboard.press('Control+s');
    await page.getByText('not saved').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT 2 AS two');
  });

  it('shows the statement and the values before it writes', async () => {
    const { page } = shared;
    const query = 'UPDATE sales SET note = :note WHERE id = :id';
    await open(query, 'UPDATE');
    await page.getByLabel('note', { exact: true }).fill('paid');
    await page.getByLabel('id', { exact: true }).fill('7');
    await button(/^Run …/).click();
    expect(await page.getByRole('region', { name: 'Statement that will run' }).textContent()).toBe(query);
    expect(await page.locator('.sent-values > div').allTextContents()).toEqual(['note"paid"', 'id7']);
    await button('Cancel').click();
  });

  it('saves a broken statement only if it is confirmed', async () => {
    const { page } = shared;
    const queryId = await open('SELECT id FROM sales');
    await write('SELECT id FROM sales LIMT 9 x');
    // At once, before the text is marked.
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Save a broken statement?' }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await button('Save').click();
    await page.getByRole('heading', { name: 'Save a broken statement?' }).waitFor();
    await button('Keep editing').click();
    expect(await storedText(queryId)).toBe('SELECT id FROM sales');
    await button('Save').click();
    await button('Save anyway').click();
    await page.getByText('not saved').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT id FROM sales LIMT 9 x');
  });

  it('creates a query with a broken statement only if it is confirmed', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    await goTo('new-query', 'on', sourceId);
    await page.getByLabel('Name', { exact: true }).fill('broken');
    await write('SELECT no_such_column FROM sales');
    await page.keyboard.press('Control+Enter');
    await page.getByRole('heading', { name: 'Save a broken statement?' }).waitFor();
    await button('Keep editing').click();
    expect(await page.getByRole('treeitem', { name: 'broken' }).count()).toBe(0);
    await button('Create query').click();
    await button('Save anyway').click();
    await page.locator('h1', { hasText: 'broken' }).waitFor();
  });
});
