import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { cells, ended, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('what is shown in the console runs (needs Chromium)', () => {
  const { shared, goTo, button, publish } = useConsole();

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
    await page.locator('.editor').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type(text);
    await page.keyboard.press('Escape');
  };
  const tryToPublish = async (agreeTo: string) => {
    await button('Publish …').click();
    await shared.page.getByLabel(agreeTo, { exact: true }).check();
    await button('Publish').click();
  };
  const texts = async () => {
    await button('Two texts').click();
    return shared.page.locator('.conflict pre').allTextContents();
  };

  it('refuses to run another version, and shows both texts', async () => {
    const { page } = shared;
    const queryId = await open("SELECT 'shown' AS one");
    await changeElsewhere(queryId, "SELECT 'other' AS one");
    await button(/^Run/).click();
    await ended(page, 'failed');
    await page.locator('.problem', { hasText: 'VERSION_CHANGED' }).waitFor();
    await page.getByText('What differs: the statement.').waitFor();
    expect(await texts()).toEqual(["SELECT 'other' AS one"]);
    await button('Take theirs').click();
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
    await page.getByText('Somebody published version 3 while you edited version 2.').waitFor();
    const marks = page.locator('.conflict .diff-line.added mark');
    expect(await marks.allTextContents()).toEqual(['4', 'four', '3', 'three']);
    expect(await texts()).toEqual(['SELECT 4 AS four', 'SELECT 3 AS three']);
    await button('Keep mine').click();
    await publish('Publish although four goes');
    expect(await storedText(queryId)).toBe('SELECT 3 AS three');
  });

  it('shows the present text after a conflict, once the changes are discarded', async () => {
    const { page } = shared;
    const queryId = await open('SELECT 1 AS one');
    await write('SELECT 2 AS two');
    await changeElsewhere(queryId, 'SELECT 3 AS three');
    await tryToPublish('Publish although three goes');
    await page.getByText('Somebody published').waitFor();
    expect(await texts()).toEqual(['SELECT 3 AS three', 'SELECT 2 AS two']);
    await button('Discard changes').click();
    await page.locator('.cm-line', { hasText: 'SELECT 3 AS three' }).waitFor();
    await page.getByText('Somebody published').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT 3 AS three');
    await write('SELECT 4 AS four');
    await changeElsewhere(queryId, 'SELECT 5 AS five');
    await tryToPublish('Publish although five goes');
    await button('Overwrite …').click();
    await page.getByLabel('Publish although five goes', { exact: true }).check();
    await button('Publish').click();
    await page.getByText('not published').waitFor({ state: 'detached' });
    expect(await storedText(queryId)).toBe('SELECT 4 AS four');
  });

  it('publishes in spite of a new name', async () => {
    const queryId = await open('SELECT 1 AS one');
    await write('SELECT 2 AS two');
    await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: 'renamed' } }));
    await publish('Publish although one goes');
    expect(await storedText(queryId)).toBe('SELECT 2 AS two');
  });

  it('shows the statement and the values before it writes', async () => {
    const { page } = shared;
    const query = 'UPDATE sales SET note = :note WHERE id = :id';
    const queryId = await open(query, 'UPDATE');
    // Until the source has described the query, values without a type are sent as text.
    await expect
      .poll(async () => (await api.get(`/v1/queries/${queryId}?signature=1`)).body.signature)
      .not.toBeNull();
    await page.reload();
    await page.locator('[data-variable=id] .note', { hasText: 'int' }).waitFor();
    await page.getByLabel('note', { exact: true }).fill('paid');
    await page.getByLabel('id', { exact: true }).fill('7');
    await button(/^Run …/).click();
    expect(await page.getByRole('region', { name: 'Statement that will run' }).textContent()).toBe(query);
    expect(await page.locator('.sent-values > div').allTextContents()).toEqual(['note"paid"', 'id7']);
    await button('Cancel').click();
  });

  it('runs a draft and publishes nothing, also by Ctrl+S', async () => {
    const { page } = shared;
    const queryId = await open('SELECT region FROM sales WHERE id = 1');
    await write('SELECT region, id FROM sales WHERE id < 3 ORDER BY id');
    await page.keyboard.press('Control+Enter');
    await ended(page, 'done');
    expect(await cells(page)).toEqual([
      ['north', '1'],
      ['south', '2'],
    ]);
    await page.locator('.figures', { hasText: 'of the draft' }).waitFor();
    await page.keyboard.press('Control+s');
    await page.getByRole('heading', { name: /^Publish/ }).waitFor();
    const fact = (name: string) => page.getByRole('region', { name, exact: true });
    await fact('Text').getByText('Lines: 1 added, 1 removed').waitFor();
    await fact('Contract').getByText('1 harmless').waitFor();
    await fact('Rows')
      .getByText(/1 → 2 in all/)
      .waitFor();
    await fact('Callers, 30 days').getByText('nobody called it').waitFor();
    await page.keyboard.press('Escape');
    expect(await storedText(queryId)).toBe('SELECT region FROM sales WHERE id = 1');
    await publish();
    expect(await storedText(queryId)).toBe('SELECT region, id FROM sales WHERE id < 3 ORDER BY id');
    await button(/^Run/).click();
    await page.locator('.of-draft').waitFor({ state: 'detached' });
    await ended(page, 'done');
  });

  it('runs a draft that writes only as a dry run', async () => {
    const { page } = shared;
    await open('SELECT id FROM sales');
    await write("UPDATE sales SET note = 'tried' WHERE id = 1");
    await page.keyboard.press('Control+Enter');
    await page.getByText('Publish it to run it.').waitFor();
    expect(await button('Run UPDATE').count()).toBe(0);
    await button('Dry run').click();
    await page.getByText('would be affected.').waitFor();
    await write("SELECT note FROM sales WHERE note = 'tried'");
    await page.keyboard.press('Control+Enter');
    await page.locator('.figures', { hasText: '0 rows' }).waitFor();
  });

  it('publishes a broken statement only if it is confirmed', async () => {
    const { page } = shared;
    const queryId = await open('SELECT id FROM sales');
    await write('SELECT id FROM sales LIMT 9 x');
    await button('Publish …').click();
    await page.getByText('The database rejects it').waitFor();
    expect(await button('Publish').isDisabled()).toBe(true);
    await page.keyboard.press('Escape');
    expect(await storedText(queryId)).toBe('SELECT id FROM sales');
    await publish('Publish although callers would get an error');
    expect(await storedText(queryId)).toBe('SELECT id FROM sales LIMT 9 x');
  });

  it('runs a query before it exists, and creates a broken one only if that is confirmed', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    await goTo('new-query', 'on', sourceId);
    // The tab does not know the source yet.
    await page.reload();
    await page.getByLabel('Name', { exact: true }).fill('broken');
    await write('SELECT region FROM sales WHERE id = :id');
    await page.getByLabel('id', { exact: true }).fill('2');
    await page.keyboard.press('Control+Enter');
    await ended(page, 'done');
    expect(await cells(page)).toEqual([['south']]);
    await write('SELECT no_such_column FROM sales WHERE id = :id');
    await button('Create query').click();
    await page.getByRole('heading', { name: 'Create a broken query?' }).waitFor();
    await button('Keep editing').click();
    expect(await page.getByRole('treeitem', { name: 'broken' }).count()).toBe(0);
    await button('Create query').click();
    await button('Create anyway').click();
    await page.locator('h1', { hasText: 'broken' }).waitFor();
    expect(await page.getByLabel('id', { exact: true }).inputValue()).toBe('2');
  });

  it('keeps the view of the rows when a query is created, and in its other tabs', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const isPressed = page.getByRole('button', { name: 'JSON', pressed: true });
    await goTo('new-query', 'on', sourceId);
    await page.reload();
    await page.getByLabel('Name', { exact: true }).fill('viewed');
    await write('SELECT region FROM sales WHERE id = 2');
    await page.keyboard.press('Control+Enter');
    await ended(page, 'done');
    await button('JSON').click();
    await button('Create query').click();
    await page.locator('h1', { hasText: 'viewed' }).waitFor();
    await ended(page, 'done');
    await isPressed.waitFor();
    await page.getByRole('tab', { name: 'Versions' }).click();
    await isPressed.waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'Query' }).click();
    await isPressed.waitFor();
  });
});
