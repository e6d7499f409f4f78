import { randomBytes } from 'node:crypto';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath, openBrowser } from '../support/browser/chromium.ts';
import {
  bothEngines,
  createClassifier,
  ended,
  holdAnswers,
  makeKey,
  openTab,
  signIn,
  useConsole,
} from '../support/browser/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

const unique = () => randomBytes(4).toString('hex');
const hasPostgres = engines.includes('postgres');

describe.skipIf(executablePath === undefined)('classifiers in the console (needs Chromium)', () => {
  const { shared, goTo, button, act } = useConsole();

  const createQuery = async (query: string, engine?: string): Promise<string> => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId, engine);
    const label = `tickets ${unique()}`;
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }));
    return stored.config.query.queryId;
  };
  /** A page whose tree has the queries that were created since the tab was opened. */
  const openAfresh = async (...to: string[]) => {
    await goTo(...to);
    await shared.page.reload();
  };

  it('learns all examples that are pasted while others are learned', async () => {
    const { page } = shared;
    const id = await createClassifier();
    await goTo('classifier', id, 'train');
    const paste = (label: string, count: number) =>
      page
        .getByLabel('Paste')
        .fill(Array.from({ length: count }, (_, n) => `${label},text ${n} of ${label}`).join('\n'));
    const release = await holdAnswers(page, `**/v1/classifiers/${id}/train`);
    await paste('a', 2);
    await button('Train 2 examples').click();
    await page.getByText('0 of 2 learned').waitFor();
    await paste('b', 3);
    release();
    await page.unroute(`**/v1/classifiers/${id}/train`);
    const counts = async () => {
      const { classes } = await api.ok(api.get(`/v1/classifiers/${id}`));
      return classes.map((one: { observations: number }) => one.observations);
    };
    await expect.poll(counts).toEqual([2]);
    await button('Train 3 examples').click();
    await page.getByText('3 of 3 learned').waitFor();
    expect(await counts()).toEqual([2, 3]);
  });

  it('renames a classifier, also while other programs train it', async () => {
    const { page } = shared;
    const id = await createClassifier();
    await goTo('classifier', id);
    await act('More actions', 'Rename');
    const name = `renamed ${unique()}`;
    await page.getByLabel('Name', { exact: true }).fill(name);
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { label: 'a', context: 'words' }));
    await button('Rename').click();
    await page.locator('h1', { hasText: name }).waitFor();
    await page.getByRole('link', { name }).waitFor();
    await act('More actions', 'Rename');
    await page.getByLabel('Name', { exact: true }).fill('mine');
    await api.ok(api.put(`/v1/classifiers/${id}`, { name: `theirs ${name}` }));
    await button('Rename').click();
    await page.locator('dialog .problem', { hasText: `Name (theirs: “theirs ${name}”)` }).waitFor();
    expect((await api.get(`/v1/classifiers/${id}`)).body.name).toBe(`theirs ${name}`);
  });

  it('labels a column of rows, and learns from a corrected label', async () => {
    const { page } = shared;
    const id = await createClassifier([
      { label: 'late', context: 'where is my parcel' },
      { label: 'thanks', context: 'great service' },
    ]);
    const name = `mail ${unique()}`;
    await api.ok(api.put(`/v1/classifiers/${id}`, { name }));
    const text = 'the box was open';
    const queryId = await createQuery(`SELECT 1 AS id, '${text}' AS body UNION ALL SELECT 2, NULL`);
    await goTo('query', queryId);
    await button(/^Run/).click();
    await ended(page, 'done');
    await page.locator('.grid').focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('m');
    await page.getByRole('menuitem', { name: 'Classify this column …' }).click();
    await page.getByLabel('Classifier', { exact: true }).selectOption({ value: id });
    await button('Classify').click();
    await page.locator('.annotation-note', { hasText: name }).waitFor();
    await ended(page, 'done');
    await page.locator('.grid-title', { hasText: 'confidence' }).waitFor();
    const before = (await api.ok(api.post(`/v1/classifiers/${id}/predict`, { context: text }))).confidence;
    expect(before).toBeLessThan(0.99);
    await page.locator('.grid').focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Control+ArrowUp');
    for (let i = 0; i < 2; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.locator('.labelled-text', { hasText: text }).waitFor();
    await page.getByLabel('Another label').fill('damaged');
    await button('Learn it').click();
    await page.locator('.grid-cell.corrected', { hasText: 'damaged' }).waitFor();
    await page.getByText('You corrected 1 label').waitFor();
    expect((await api.ok(api.post(`/v1/classifiers/${id}/predict`, { context: text }))).label).toBe(
      'damaged',
    );
    await button('Remove the labels').click();
    await page.locator('.annotation-note').waitFor({ state: 'detached' });

    // Predict offers the same correction, and the calls of the classifier can be tried.
    await goTo('classifier', id, 'predict');
    await page.getByLabel('Text', { exact: true }).fill(text);
    await button('Predict').click();
    await button('Correct it').click();
    await button(/^late/).click();
    await page.getByText('Learned that this is “late”.').waitFor();
    await goTo('classifier', id, 'use');
    await button('Try').click();
    await page.locator('.answer-line', { hasText: '200' }).waitFor();
  });

  it('offers a key only what it may do', async () => {
    const id = await createClassifier([{ label: 'late', context: 'where is it' }]);
    const queryId = await createQuery('SELECT region FROM sales');
    const reading = ['hubs:read', 'queries:read', 'classifiers:read'];
    const browser = await openBrowser();
    const look = async (scopes: string[], tab: string) => {
      const { page } = await openTab(browser);
      await signIn(page, await makeKey([...reading, ...scopes], {}));
      await page.evaluate(`location.hash = '#/hub/${shared.hubId}/classifier/${id}/${tab}'`);
      await page.locator('h1', { hasText: 'mail' }).waitFor();
      return page;
    };
    const none = (what: Locator) => what.waitFor({ state: 'detached' });
    try {
      const read = await look([], 'examples');
      await read.locator('td', { hasText: 'where is it' }).waitFor();
      await none(read.getByRole('button', { name: 'Actions for example 1' }));
      await none(read.getByRole('button', { name: 'More actions' }));
      await none(read.getByRole('tab', { name: 'Train' }));
      await read.context().close();
      const train = await look(['classifiers:train'], 'train');
      await train.getByRole('heading', { name: 'Many examples' }).waitFor();
      await none(train.getByRole('heading', { name: 'Rows of a query' }));
      await train.context().close();
      const both = await look(['classifiers:train', 'queries:execute'], 'train');
      await both.getByLabel('Query', { exact: true }).selectOption(queryId);
      await both.getByLabel('Column of the id').waitFor();
      await both.context().close();
    } finally {
      await browser.close();
    }
  });

  it.each(bothEngines)(
    'trains with the rows of a query on %s, and shows the job again after a reload',
    async (engine) => {
      const { page } = shared;
      const rows = [
        ["'1'", 'late', 'where is my parcel'],
        ["'2'", 'paid', 'I paid twice'],
        ['NULL', 'paid', 'refund'],
        ["'4'", 'late', ' '],
      ].map(([mail, topic, body]) => `SELECT ${mail} AS mail_id, '${topic}' AS topic, '${body}' AS body`);
      const queryId = await createQuery(
        `SELECT * FROM (${rows.join(' UNION ALL ')}) AS t WHERE topic = :topic OR :topic = 'all'`,
        engine,
      );
      const id = await createClassifier();
      await openAfresh('classifier', id, 'train');
      await page.getByLabel('Query', { exact: true }).selectOption(queryId);
      const choice = (name: string) => page.getByLabel(name, { exact: true });
      await choice('Column of the text').waitFor();
      expect(await choice('Column of the text').inputValue()).toBe('body');
      await choice('Column of the label').selectOption('topic');
      expect(await button('Train with its rows').isDisabled()).toBe(true);
      await page.getByLabel('Column of the id').selectOption('mail_id');
      await choice('topic').fill('all');
      await button('Train with its rows').click();
      const figures = async () =>
        Object.fromEntries(
          await page
            .locator('.figures-list > div')
            .evaluateAll((all) =>
              all.map((one) => [one.querySelector('dt')?.textContent, one.querySelector('dd')?.textContent]),
            ),
        );
      const learned = {
        'Rows read': '4',
        Learned: '2',
        Corrected: '0',
        'Skipped: not changed': '0',
        Invalid: '1',
        'Without an id': '1',
      };
      await page.getByText('Done', { exact: true }).waitFor();
      expect(await figures()).toEqual(learned);
      await page.getByText('2 rows left out').waitFor();
      await page.locator('td', { hasText: 'mail_id is null' }).waitFor();
      await page.getByText('2 classes').waitFor();
      // An answer that is lost is asked for again.
      const lost = { status: 503, body: '{"code":"UNAVAILABLE","detail":"Try again."}' };
      await page.route('**/v1/jobs/*', (route) => route.fulfill(lost), { times: 1 });
      await page.reload();
      await page.locator('.problem', { hasText: 'UNAVAILABLE (503)' }).waitFor();
      await page.getByText('Done', { exact: true }).waitFor();
      expect(await figures()).toEqual(learned);
      await page.getByRole('tab', { name: 'Classes' }).click();
      await page.getByText('late').first().waitFor();
      await page.getByRole('tab', { name: 'Train' }).click();
      await page.getByText('Done', { exact: true }).waitFor();

      // A row of a query is corrected where it comes from.
      await page.getByRole('tab', { name: 'Examples' }).click();
      await act('Actions for example 1', 'Delete');
      await button('Delete example').click();
      await page.locator('dialog .problem', { hasText: 'Correct the row' }).waitFor();
      await button('Cancel').click();

      await page.getByRole('tab', { name: 'Train' }).click();
      await button('Train from a query again').click();
      await page.getByLabel('Query', { exact: true }).selectOption(queryId);
      await choice('Column of the label').selectOption('topic');
      await page.getByLabel('Column of the id').selectOption('mail_id');
      await choice('topic').fill('paid');
      await button('Train with its rows').click();
      await page.getByText('Done', { exact: true }).waitFor();
      expect(await figures()).toMatchObject({ 'Rows read': '2', Learned: '0', 'Skipped: not changed': '1' });
    },
  );

  it.skipIf(!hasPostgres)('stops a job, and says why one failed', async () => {
    const { page } = shared;
    const slow = await createQuery(
      "SELECT n AS id, 'topic' AS label, 'word' || n AS text, pg_sleep(0.01) FROM generate_series(1, 100000) n",
      'postgres',
    );
    const id = await createClassifier();
    const start = async (queryId: string) => {
      await openAfresh('classifier', id, 'train');
      await page.getByLabel('Query', { exact: true }).selectOption(queryId);
      await button('Train with its rows').click();
    };
    await start(slow);
    await page.getByText('Running', { exact: true }).waitFor();
    const jobId = decodeURIComponent(page.url().split('/').at(-1) ?? '');
    expect((await api.get(`/v1/jobs/${jobId}`)).body.state).toBe('running');
    await button('Stop').click();
    await button('Train with its rows').waitFor();
    expect((await api.get(`/v1/jobs/${jobId}`)).status).toBe(404);
    await page.goBack();
    await page.locator('.problem', { hasText: 'NOT_FOUND (404)' }).waitFor();

    const failing = await createQuery(
      "SELECT '1' AS id, 'a' AS label, (1 / (n - 2))::text AS text FROM generate_series(1, 3) n",
      'postgres',
    );
    await start(failing);
    await page.getByText('Failed', { exact: true }).waitFor();
    await page.locator('.problem', { hasText: 'SQL_REJECTED' }).waitFor();
  });

  it.each(bothEngines)('summarises a column of a query on %s', async (engine) => {
    const { page } = shared;
    const texts = [
      'The harbour was closed.',
      'A storm damaged the pier of the harbour.',
      'Dogs like a house.',
    ];
    const rows = texts.map((text, i) => `SELECT ${i} AS n, '${text}' AS body`).join(' UNION ALL ');
    const queryId = await createQuery(`SELECT n, body FROM (${rows}) AS t WHERE n < :most`, engine);
    await openAfresh('summary');
    await page.getByRole('tab', { name: 'A column of a query' }).click();
    await page.getByLabel('Query', { exact: true }).selectOption(queryId);
    await page.getByLabel('Column of the texts').waitFor();
    expect(await page.getByLabel('Column of the texts').inputValue()).toBe('body');
    await page.getByLabel('most', { exact: true }).fill('2');
    await button('Summarise').click();
    await page.locator('.copy-block pre', { hasText: 'A storm damaged' }).waitFor();
    expect(await page.locator('.copy-block pre').textContent()).not.toContain('Dogs');
  });
});
