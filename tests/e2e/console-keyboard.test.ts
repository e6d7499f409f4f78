import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { bothEngines, ended, engineNames, makeKey, openTab } from '../support/browser/console.ts';
import { keyboardOf } from '../support/browser/keyboard.ts';
import { database } from '../support/hub.ts';

const engine = bothEngines.at(-1) as string;
const sleep = engine === 'postgres' ? 'SELECT pg_sleep(20)' : 'SELECT SLEEP(20)';

describe.skipIf(executablePath === undefined)(
  `the console by keyboard alone, on ${engine} (needs Chromium)`,
  () => {
    let page: Page;
    let keys: ReturnType<typeof keyboardOf>;
    const unique = Math.random().toString(36).slice(2, 8);
    const title = (words: string) => page.locator('h1', { hasText: words }).waitFor();
    beforeAll(async () => {
      ({ page } = await openTab(await sharedBrowser(), { viewport: { width: 1280, height: 900 } }));
      keys = keyboardOf(page);
    });
    afterAll(() => page?.context().close());

    it('signs in, and leads from a new hub over a source to a query', async () => {
      const { press, type, use, write, tabTo } = keys;
      await page.locator('input:focus').waitFor();
      await type(await makeKey(['*'], {}));
      await press('Enter');
      await page.locator('.frame').waitFor();
      await use('Data Hub');
      await title('Hubs');
      await use('New hub');
      await page.locator('dialog :focus').waitFor();
      await type(`keys ${unique}`);
      await press('Enter');
      await title(`keys ${unique}`);
      await use('Connect a source');
      await title('New source');
      const { host, port, user, password, database: name } = database(engine);
      await write('Name', 'shop');
      await tabTo('Engine');
      await type(engineNames[engine] as string);
      await write('Host', host);
      await write('Port', String(port));
      await write('Database', name);
      await write('User', user);
      await write('Password', password);
      await press('Enter');
      await title('shop');
      await write('Search tables and columns', 'sales');
      await page.locator('.table-columns').first().waitFor();
      await use('Query this table');
      await title('New query');
      await write('Name', 'by keys');
      await tabTo('Statement');
      await page.locator('.editor[data-state=open]').waitFor();
      await press('Control+a');
      await type('SELECT id, region, amount FROM sales WHERE region = :region');
      // Ends the completion; after another Escape, Tab leaves the editor.
      await press('Escape', 'Escape');
      await use('Create query');
      await title('by keys');
    });

    it('runs it, and shows, sorts, filters, draws and saves its rows', async () => {
      const { press, use, write, tabTo, show, publish } = keys;
      await write('region', 'south');
      await press('Control+Enter');
      await ended(page, 'done');
      await tabTo(/^Rows of/);
      await press('ArrowRight', 'Enter');
      await page.locator('dialog .cell-text', { hasText: 'south' }).waitFor();
      await press('Escape');
      await page.locator('dialog').waitFor({ state: 'detached' });
      await press('s');
      await page.locator('[aria-sort=ascending]').waitFor();
      await write('Filter rows', 'south');
      await page.locator('.figures', { hasText: '1 match' }).waitFor();
      await use('Chart');
      await page.locator('.chart-view').waitFor();
      await use('JSON');
      await page.locator('.json', { hasText: 'south' }).waitFor();
      await tabTo('Download all rows: CSV');
      await Promise.all([page.waitForEvent('download'), press('Enter')]);
      await use('Send region as null');
      await press('Control+Enter');
      await page.locator('.figures', { hasText: '0 rows' }).waitFor();
      await use('Declare region');
      await write('Default', 'north');
      await use('Apply');
      await publish();
      await show('Query', 'Use it');
      await show('Link', 'Python');
      await page.locator('.copy-block pre', { hasText: 'import' }).waitFor();
      await use('Try');
      await page.locator('.answer-line', { hasText: '200' }).waitFor();
      await show('Use it', 'Contract');
      await write('Cache results for, seconds', '60');
      await publish();
      await show('Contract', 'Runs');
      await use('Use these values');
      await page.locator('.editor').waitFor();
    });

    it('cancels a run, and asks before it writes', async () => {
      const { press, type, use, tabTo, publish } = keys;
      const rewrite = async (text: string) => {
        await tabTo('Statement');
        await press('Control+a');
        await type(text);
        await press('Escape', 'Escape');
      };
      await rewrite(sleep);
      await press('Control+Enter');
      await use('Cancel');
      await ended(page, 'cancelled');
      await rewrite('UPDATE sales SET note = note WHERE id = 1');
      await page.getByText(/writes: UPDATE/).waitFor();
      await use(/^Dry run …/);
      await use('Dry run');
      await page.getByText('Nothing was changed').waitFor();
      await publish(/^Publish although/);
      await use(/^Run …/);
      await use('Dry run');
      await page.getByText('Nothing was changed').waitFor();
      await use(/^Run …/);
      await use('Run UPDATE');
      await page.getByText(/rows? affected\./).waitFor();
      await rewrite("SELECT id, region AS label, CONCAT('the text of ', region) AS text FROM sales");
      await page.getByText(/reads/).waitFor();
      await publish();
    });

    it('makes a folder, and moves, renames and finds a query', async () => {
      const { press, type, use, tabTo, pick, find, write } = keys;
      await pick('Add to Queries', 'New folder');
      await page.locator('dialog :focus').waitFor();
      await type('Reports');
      await press('Enter');
      await page.getByRole('treeitem', { name: 'Reports' }).waitFor();
      await tabTo(/^by keys/);
      await press('m');
      await tabTo('To');
      await type('Queries / Reports');
      await use('Move');
      await page.locator('[role=treeitem][aria-level="2"]', { hasText: 'by keys' }).waitFor();
      await page.locator('dialog').waitFor({ state: 'detached' });
      await press('F2');
      await write('Name', 'tickets');
      await press('Enter');
      await page.getByRole('treeitem', { name: 'tickets' }).waitFor();
      await find('tickets');
      await title('tickets');
    });

    it('makes and revokes a key', async () => {
      const { press, use, find, pick, write } = keys;
      await find('Keys');
      await title('Keys');
      await use('New key');
      const name = `by keys ${unique}`;
      await write('Name', name);
      await use('Create key');
      await use('I have copied it');
      await page.getByText(name).waitFor();
      await pick(`Actions for ${name}`, 'Revoke');
      await use('Revoke key');
      await page.getByText('Revoked').first().waitFor();
      await press('Escape');
    });

    it('trains a classifier, corrects an example, predicts and evaluates', async () => {
      const { press, type, use, tabTo, find, pick, write, show } = keys;
      await find('New classifier');
      await write('Name', `mail ${unique}`);
      await press('Enter');
      await title(`mail ${unique}`);
      await page.locator('[role=tab][aria-selected=true]').waitFor();
      const [tab] = await page.locator('[role=tab][aria-selected=true]').allTextContents();
      await show(tab as string, 'Train');
      await write('Label', 'late');
      await write('Text', 'where is it');
      await use('Train');
      await page.getByText('Learned an example').waitFor();
      await tabTo('Paste');
      for (let i = 0; i < 12; i++) {
        await type(`late,parcel ${i} is late`);
        await press('Enter');
        await type(`paid,I paid ${i} twice`);
        await press('Enter');
      }
      await use('Train 24 examples');
      await page.getByText('24 of 24 learned').waitFor();
      await tabTo('Query');
      await type('Reports / tickets');
      await page.getByLabel('Column of the id').waitFor();
      await tabTo('Column of the id');
      await type('id');
      await use('Train with its rows');
      await page.getByText('Done', { exact: true }).waitFor();
      await show('Train', 'Examples');
      await pick('Actions for example 1', 'Correct');
      await write('Label', 'paid');
      await press('Enter');
      await page.locator('dialog').waitFor({ state: 'detached' });
      await show('Examples', 'Evaluation');
      await use('Learning curve as a table');
      await page.locator('details[open] tbody tr').first().waitFor();
      await show('Evaluation', 'Classes');
      await pick('Actions for paid', 'Delete class');
      await use('Delete class');
      await page.getByRole('button', { name: 'Actions for paid' }).waitFor({ state: 'detached' });
      await show('Classes', 'Predict');
      await write('Text', 'where is my parcel');
      await use('Predict');
      await page.locator('.big-word').waitFor();
    });

    it('summarises a column, reads the audit log, changes the theme and signs out', async () => {
      const { type, use, tabTo, find, pick, show } = keys;
      await find('Summaries');
      await title('Summaries');
      await show('Texts', 'A column of a query');
      await tabTo('Query');
      await type('Reports / tickets');
      await page.getByLabel('Column of the texts').waitFor();
      await use('Summarise');
      await page.locator('.copy-block pre', { hasText: 'the text of' }).waitFor();
      await find('Audit');
      await page.locator('td', { hasText: 'Changed a query' }).first().waitFor();
      await pick('Theme', 'Dark');
      await page.locator('[data-theme=dark]').waitFor();
      await use('Sign out');
      await page.getByLabel('API key').waitFor();
    });
  },
);
