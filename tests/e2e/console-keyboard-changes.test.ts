import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { bothEngines, ended, useConsole } from '../support/browser/console.ts';
import { keyboardOf } from '../support/browser/keyboard.ts';
import { api, createSource, database } from '../support/hub.ts';

const engine = bothEngines.at(-1) as string;
const unique = () => randomBytes(4).toString('hex');

describe.skipIf(executablePath === undefined)(
  `changes in the console by keyboard alone, on ${engine} (needs Chromium)`,
  { timeout: 60_000 },
  () => {
    const { shared, goTo } = useConsole();
    const title = (words: string) => shared.page.locator('h1', { hasText: words }).waitFor();
    const dialogGone = () => shared.page.locator('dialog').waitFor({ state: 'detached' });

    /** Opens a page of a new query. */
    async function openQuery(query: string, ...view: string[]): Promise<string> {
      const { hubId, page } = shared;
      const sourceId = await createSource(hubId, engine);
      const label = `q ${unique()}`;
      const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }));
      const { queryId } = stored.config.query;
      await goTo('query', queryId, ...view);
      // The tree of the tab is older than the query.
      await page.reload();
      await title(label);
      return queryId;
    }
    const configOf = async (queryId: string) => (await api.ok(api.get(`/v1/queries/${queryId}`))).config;

    it('declares variables with types, lists and choices, and fills them', async () => {
      const { page } = shared;
      const { press, type, use, write, tabTo, publish } = keyboardOf(page);
      const queryId = await openQuery(
        'SELECT id, region FROM sales WHERE id IN (:ids) AND region = :region AND :flag = :flag',
      );
      await use('Declare ids');
      await tabTo('Type');
      await type('bigint');
      await tabTo('A list of these');
      await press('Space');
      await use('Apply');
      await dialogGone();
      await use('Declare region');
      await tabTo('Type');
      await type('string');
      await write('Choices', 'north');
      await press('Enter');
      await type('south');
      await write('Description', 'where it was sold');
      await use('Apply');
      await dialogGone();
      await use('Declare flag');
      await tabTo('Type');
      await type('boolean');
      await tabTo('Required');
      await press('Space');
      await use('Apply');
      await dialogGone();
      await publish(/^Publish although/);
      expect((await configOf(queryId)).context).toEqual([
        { key: 'ids', type: 'bigint[]' },
        { key: 'region', type: 'string', enum: ['north', 'south'], description: 'where it was sold' },
        { key: 'flag', type: 'boolean', required: true },
      ]);
      await tabTo('ids');
      await type('1');
      await press('Enter');
      await type('2');
      await press('Enter');
      await tabTo(/^region/);
      await type('south');
      await tabTo(/^flag/);
      await type('true');
      await press('Control+Enter');
      await ended(page, 'done');
      await page.locator('.grid-cell', { hasText: 'south' }).waitFor();
    });

    it('shows versions with their differences, and restores one', async () => {
      const { page } = shared;
      const { press, use, tabTo, show } = keyboardOf(page);
      const queryId = await openQuery('SELECT id FROM sales');
      await api.ok(
        api.put(`/v1/queries/${queryId}`, { config: { query: { query: 'SELECT region FROM sales' } } }),
      );
      await page.reload();
      await show('Query', 'Versions');
      await tabTo(/^1\s*created/);
      await press('Enter');
      await page.getByRole('heading', { name: 'Version 1' }).waitFor();
      await page.locator('.diff-line.added', { hasText: 'SELECT id FROM sales' }).waitFor();
      await use('Restore …');
      await use('Restore version 1');
      await page.getByRole('button', { name: '3 restored version 1' }).waitFor();
      expect((await configOf(queryId)).query.query).toBe('SELECT id FROM sales');
    });

    it('reads the statistics and callers of a query, and of all', async () => {
      const { page } = shared;
      const { press, type, use, tabTo, show, find } = keyboardOf(page);
      const queryId = await openQuery('SELECT id FROM sales');
      for (let i = 0; i < 3; i++) await api.ok(api.post('/v1/queries/execute', { queryId }));
      await show('Query', 'Statistics');
      await page.getByRole('table').first().waitFor();
      await use('Refresh');
      await page.getByText('since', { exact: false }).first().waitFor();
      await find('Statistics');
      await title('Statistics');
      await tabTo('Time');
      await type('Since');
      await show('Slowest', 'Most rows');
      await page.locator('.statistics-list tbody tr').first().waitFor();
      const label = (await api.ok(api.get(`/v1/queries/${queryId}`))).meta.label;
      await tabTo(label);
      await press('Enter');
      await title(label);
    });

    it('changes the settings of a source', async () => {
      const { page, hubId } = shared;
      const { press, use, write } = keyboardOf(page);
      const sourceId = await createSource(hubId, engine);
      await goTo('source', sourceId, 'settings');
      await page.getByLabel('Host').waitFor();
      const { user, password } = database(engine);
      await write('Port', '1');
      await write('User', user);
      await write('Password', password);
      await use('Save and test');
      await page.locator('.problem', { hasText: 'SOURCE_UNREACHABLE' }).waitFor();
      await write('Port', String(database(engine).port));
      await write('User', user);
      await write('Password', password);
      await press('Enter');
      await page.locator('.problem').waitFor({ state: 'detached' });
      const { connectionSettings } = await api.ok(api.get(`/v1/sources/${sourceId}`));
      expect(connectionSettings.port).toBe(database(engine).port);
    });

    it('makes a browser key with an origin, a pinned variable and limits, and rotates it', async () => {
      const { page } = shared;
      const { press, type, use, show, write, tabTo, pick } = keyboardOf(page);
      const queryId = await openQuery('SELECT id FROM sales WHERE region = :region');
      await write('region', 'south');
      await show('Query', 'Use it');
      await show('Link', 'Web page');
      await use('Make a browser key …');
      await use('write the whole form');
      const name = `browser ${unique()}`;
      await write('Name', name);
      await tabTo('Origins');
      await type('https://shop.example');
      await press('Enter');
      await use('Pin a variable');
      await write('Variable', 'region');
      await write('Value', 'north');
      await use('Create key');
      await page.getByText('In a page of https://shop.example').waitFor();
      await use('I have copied it');
      const keysOf = async () =>
        (await api.ok(api.get('/v1/keys?limit=200'))).filter((one: any) => one.name === name);
      expect(await keysOf()).toMatchObject([
        { limits: { queryIds: [queryId], origins: ['https://shop.example'], context: { region: 'north' } } },
      ]);
      await pick(`Actions for ${name}`, 'Rotate');
      await use('Create the new key');
      await page.getByText(`“${name}”: the key, shown only now`).waitFor();
      await use('I have copied it');
      await dialogGone();
      expect(await keysOf()).toHaveLength(2);
    });

    it('trains with a file, and renames the classifier', async () => {
      const { page } = shared;
      const { press, use, write, pick } = keyboardOf(page);
      const dir = await mkdtemp(join(tmpdir(), 'datahub-file-'));
      onTestFinished(() => rm(dir, { recursive: true, force: true }));
      const path = join(dir, 'mail.csv');
      await writeFile(path, 'label,text\nlate,where is it\npaid,I paid twice\n');
      const { id } = await api.ok(api.post('/v1/classifiers', { name: `mail ${unique()}` }));
      await goTo('classifier', id, 'train');
      await page.getByLabel('Label').waitFor();
      const choosing = page.waitForEvent('filechooser');
      await use(/^or a file/);
      await (await choosing).setFiles(path);
      await use('Train with mail.csv');
      await page.getByText('2 examples learned').waitFor();
      await pick('More actions', 'Rename');
      const renamed = `post ${unique()}`;
      await write('Name', renamed);
      await press('Enter');
      await title(renamed);
    });

    it('summarises several texts', async () => {
      const { page } = shared;
      const { use, write } = keyboardOf(page);
      await goTo('summary');
      await page.getByLabel('Text', { exact: true }).waitFor();
      await write('Text', 'The cat sat. The dog ran to the house. The house was on fire. Dogs like a house.');
      await use('Add a text');
      await write('Text 2', 'The house burnt down. It rained later.');
      await write('Sentences', '2');
      await use('Summarise');
      await page.locator('.marked mark').first().waitFor();
    });

    it('renames, archives and deletes a hub, and deletes a query', async () => {
      const { page } = shared;
      const { press, type, use, write, pick, tabTo } = keyboardOf(page);
      const label = `old ${unique()}`;
      await api.ok(api.post('/v1/hubs', { label }));
      const queryId = await openQuery('SELECT 1 AS one');
      await pick('More actions', 'Delete');
      await use('Delete');
      await page.locator('h1', { hasText: 'q ' }).waitFor({ state: 'detached' });
      expect((await api.get(`/v1/queries/${queryId}`)).status).toBe(404);
      await use('Data Hub');
      await title('Hubs');
      await pick(`Actions for ${label}`, 'Rename');
      await write('Name', `${label} 2`);
      await press('Enter');
      await dialogGone();
      await pick(`Actions for ${label} 2`, 'Archive');
      await use(/^Archived/);
      await pick(`Actions for ${label} 2`, 'Delete');
      await tabTo(/^Type “/);
      await type(`${label} 2`);
      await use('Delete hub and everything in it');
      await page.getByRole('button', { name: `Actions for ${label} 2` }).waitFor({ state: 'detached' });
    });
  },
);
