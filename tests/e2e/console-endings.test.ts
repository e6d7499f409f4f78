import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import {
  createClassifier,
  drawn,
  ended,
  makeKey,
  openTab,
  signIn,
  type Tab,
  useConsole,
} from '../support/browser/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

const isPostgres = engines.includes('postgres');

describe.skipIf(executablePath === undefined || !isPostgres)(
  'rows and what made them (needs Chromium)',
  () => {
    const { shared, goTo, button, write } = useConsole();
    const open = async (query: string) => {
      const { hubId, page } = shared;
      const sourceId = await createSource(hubId, 'postgres');
      const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'rows', query }));
      await goTo('query', config.query.queryId);
      await drawn(page);
      await button(/^Run/).waitFor();
      return { page, queryId: config.query.queryId as string };
    };
    const run = async (page: Page) => {
      await button(/^Run/).click();
      await ended(page, 'done');
    };
    const otherRows = () => shared.page.locator('.other-rows');
    const download = async (name = 'Download CSV') => {
      const [file] = await Promise.all([shared.page.waitForEvent('download'), button(name).click()]);
      return readFile(await file.path(), 'utf8');
    };

    it('say a late error with its reason and the number of rows, and save no file of it', async () => {
      const { page } = await open(
        "SELECT n, 100 / (20000 - n) AS share, repeat('x', 200) AS x FROM generate_series(1, 30000) AS n",
      );
      await button(/^Run/).click();
      await ended(page, 'failed');
      await page.getByText(/^Failed after [\d,]+ rows$/).waitFor();
      await page.locator('.problem', { hasText: 'division by zero' }).waitFor();
      expect(await page.getByText('The console failed').count()).toBe(0);
      let files = 0;
      page.on('download', () => files++);
      await button('Download CSV').click();
      await page.locator('.notice', { hasText: 'division by zero' }).waitFor();
      expect(files).toBe(0);
    });

    it('are incomplete if they end without saying how, as proxies end an answer that broke off', async () => {
      const { page } = await open('SELECT n FROM generate_series(1, 20000) AS n');
      await page.route('**/v1/queries/execute', async (route) => {
        const response = await route.fetch();
        const text = await response.text();
        await route.fulfill({ response, body: text.slice(0, 60_000) });
      });
      await button(/^Run/).click();
      await ended(page, 'failed');
      await page.locator('.problem', { hasText: 'The answer is incomplete' }).waitFor();
      let files = 0;
      page.on('download', () => files++);
      await button('Download CSV').click();
      await page.locator('.notice', { hasText: 'was lost' }).waitFor();
      expect(files).toBe(0);
      await page.getByRole('tab', { name: 'Use it' }).click();
      await page.getByRole('tab', { name: 'curl' }).click();
      await button('Try').click();
      await page.getByText(/^The answer broke off after /).waitFor();
    });

    it('are marked when the text or the values change, and downloads and charts stay with them', async () => {
      const { page, queryId } = await open(
        'SELECT n, n * 2 AS double FROM generate_series(1, :to::int) AS n',
      );
      // Once its type is known, the value is a number. A page that opens sooner than that is not told later.
      await expect
        .poll(async () => (await api.get(`/v1/queries/${queryId}?signature=1`)).body.signature)
        .toBeTruthy();
      await page.reload();
      const to = page.getByLabel('to', { exact: true });
      await to.fill('3');
      await page.locator('.variables', { hasText: 'integer' }).waitFor();
      await run(page);
      expect(await otherRows().count()).toBe(0);
      await to.fill('5');
      await otherRows().getByText('These rows are of the values {"to":3}').waitFor();
      expect(await download()).toBe('\ufeffn,double\r\n1,2\r\n2,4\r\n3,6\r\n');
      await page.getByText(/^Downloaded .* of the values \{"to":3\}\.$/).waitFor();
      await button('Chart').click();
      await page.getByText('The chart draws rows of the values {"to":3}. Run again to save it.').waitFor();
      expect(await button('Pin to home').count()).toBe(0);
      await button('Table').click();
      await otherRows().getByRole('button', { name: 'Refresh the rows' }).click();
      await otherRows().waitFor({ state: 'detached' });
      await ended(page, 'done');

      await write('SELECT 7 AS seven, :to::int AS n');
      await otherRows().getByText('These rows are of version 1').waitFor();
      await run(page);
      await otherRows().waitFor({ state: 'detached' });
      await button('Discard changes').click();
      await otherRows().getByText('These rows are of another draft').waitFor();
    });

    it('name what made them under “Use it”, “Predict” and “Summaries”, and why a card or an answer broke off', async () => {
      const { page } = await open('SELECT :n::int AS n');
      await page.getByRole('tab', { name: 'Use it' }).click();
      const n = page.getByLabel('n', { exact: true });
      await n.fill('1');
      await button('Try').click();
      await page.locator('.answer-line', { hasText: '200' }).waitFor();
      const earlier = page.getByText('This is the answer to an earlier call.');
      expect(await earlier.count()).toBe(0);
      await n.fill('2');
      await earlier.waitFor();

      const late =
        "SELECT 100 / (20000 - n) AS share, repeat('x', 200) AS x FROM generate_series(1, 30000) AS n";
      const { queryId } = await open(late);
      await page.getByRole('tab', { name: 'Use it' }).click();
      await button('Try').click();
      await page.getByText(/The answer broke off after 1[89],\d\d\d rows: .*division by zero/).waitFor();
      await api.ok(api.put(`/v1/queries/${queryId}`, { config: { presentation: { pinned: true } } }));
      // A card reads 5,000 rows.
      const sooner = late.replace('20000', '4000');
      await api.ok(api.put(`/v1/queries/${queryId}`, { config: { query: { query: sooner } } }));
      await goTo();
      await page.locator('.pinned-card', { hasText: 'division by zero' }).waitFor();

      const classifierId = await createClassifier([
        { label: 'late', context: 'where is my parcel' },
        { label: 'paid', context: 'I paid twice' },
      ]);
      await goTo('classifier', classifierId);
      await page.getByRole('tab', { name: 'Predict' }).click();
      const text = page.getByLabel('Text', { exact: true });
      await text.fill('the parcel');
      await button('Predict').click();
      await page.getByRole('region', { name: 'Prediction' }).waitFor();
      await text.fill('the invoice');
      await page.getByText('This is the label of “the parcel”.').waitFor();

      await goTo('summary');
      await text.fill('The parcel came late. The tea is fresh. We order again.');
      await button('Summarise').click();
      await page.getByRole('region', { name: 'Summary', exact: true }).last().waitFor();
      const before = page.getByText('This is a summary of what stood here before.');
      await page.locator('.marked').waitFor();
      expect(await before.count()).toBe(0);
      await page.getByLabel('Sentences').fill('1');
      await before.waitFor();
    });

    it('are published although the answer was lost', async () => {
      const { page, queryId } = await open('SELECT 1 AS a');
      await write('SELECT 2 AS a');
      await page.route(`**/v1/queries/${queryId}`, async (route) => {
        if (route.request().method() !== 'PUT') return route.continue();
        await route.fetch();
        await route.abort();
      });
      await button('Publish …').click();
      await button('Publish').click();
      await page.getByText('Published version 2.').waitFor();
      await page.getByText('not published').waitFor({ state: 'detached' });
      expect(await page.getByText('published meanwhile').count()).toBe(0);
    });

    it('name a check that takes too long, and check once while the draft stays the same', async () => {
      const { page, queryId } = await open('SELECT 1 AS a');
      let checks = 0;
      await page.route('**/v1/queries/check', async (route) => {
        if (route.request().postDataJSON().diff !== true) checks += 1;
        await route.continue();
      });
      await write('SELECT 3 AS a');
      await button('Publish …').click();
      const panel = page.getByRole('region', { name: 'Publish', exact: true });
      await panel.getByText(/in all$/).waitFor();
      // One is of the editor, which waits until nothing was typed for a moment, and one of the panel.
      await expect.poll(() => checks).toBe(2);
      // The tab reads the query again, which says the same.
      const read = page.waitForResponse((response) =>
        response.url().includes(`/queries/${queryId}?latest=1`),
      );
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
      await read;
      await page
        .getByRole('button', { name: 'Publish', exact: true })
        .and(page.locator(':enabled'))
        .waitFor();
      expect(checks).toBe(2);
      await page.keyboard.press('Escape');

      await page.unroute('**/v1/queries/check');
      await page.route('**/v1/queries/check', () => {});
      await page.evaluate(`AbortSignal.timeout = () => {
        const stop = new AbortController();
        setTimeout(() => stop.abort(new DOMException('late', 'TimeoutError')), 50);
        return stop.signal;
      }`);
      await button('Publish …').click();
      await panel.getByText(/The hub did not check the text within 20 seconds/).waitFor();
    });

    describe('with a key that reads at most 5 rows', () => {
      let tab: Tab;
      beforeEach(async () => {
        tab = await openTab(await sharedBrowser());
        await signIn(tab.page, await makeKey(['*'], { maxRows: 5 }));
      });
      afterEach(() => tab.page.context().close());

      it('name the limit, in each format', async () => {
        const { queryId } = await open('SELECT n FROM generate_series(1, 30) AS n');
        const { page } = tab;
        await page.evaluate(`location.hash = '#/hub/${shared.hubId}/query/${queryId}'`);
        await page.getByRole('button', { name: /^Run/ }).click();
        await page.getByText("cut: this key's limit").waitFor();
        for (const format of ['CSV', 'JSON', 'NDJSON', 'Arrow']) {
          await page.getByRole('button', { name: 'Other formats' }).click();
          const [file] = await Promise.all([
            page.waitForEvent('download'),
            page.getByRole('menuitem', { name: `Download ${format}`, exact: true }).click(),
          ]);
          await page
            .getByText(/^Downloaded .*; the file has only the first 5 rows: this key's limit\.$/)
            .waitFor();
          expect(await readFile(await file.path(), 'latin1')).not.toContain('\x1e{');
        }
      });
    });
  },
);
