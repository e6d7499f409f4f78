import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { ended, useConsole } from '../support/browser/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

const isPostgres = engines.includes('postgres');

describe.skipIf(executablePath === undefined || !isPostgres)(
  'results in the console (needs Chromium)',
  () => {
    const { shared, goTo, button, act } = useConsole();
    const open = async (query: string) => {
      const { hubId, page } = shared;
      const sourceId = await createSource(hubId, 'postgres');
      const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'results', query }));
      await goTo('query', config.query.queryId);
      await button(/^Run/).waitFor();
      return { page, queryId: config.query.queryId as string };
    };

    it('draw numbers whole, ids plain and times with a space; a filter finds them so, or says that it does not', async () => {
      const { page } = await open(
        "SELECT 12345 AS id, 9007199254740993 AS big, timestamptz '2026-11-24 10:00:00Z' AS at, 'a long note' AS note",
      );
      await button(/^Run/).click();
      await ended(page, 'done');
      const cell = (text: string) => page.locator('.grid-cell', { hasText: new RegExp(`^${text}$`) });
      for (const text of ['12345', '9,007,199,254,740,993', '2026-11-24 10:00:00Z'])
        await cell(text).waitFor();
      const isCut = cell('9,007,199,254,740,993').evaluate(
        ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth,
      );
      expect(await isCut).toBe(false);
      const filter = page.getByLabel('Filter rows', { exact: true });
      await filter.fill('9,007,199');
      await page.locator('.figures', { hasText: '1 match' }).waitFor();
      await filter.fill('nowhere');
      await page
        .getByText('No row contains “nowhere” in one of its 4 columns. All 1 row were searched.')
        .waitFor();
      await button('Clear the filter').click();
      await cell('12345').waitFor();
      const head = page.getByRole('columnheader', { name: 'note' });
      const before = (await head.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
      await page.mouse.move(before.x + before.width - 3, before.y + 20);
      await page.mouse.down();
      await page.mouse.move(before.x + before.width + 57, before.y + 20);
      await page.mouse.up();
      expect((await head.boundingBox())?.width).toBe(before.width + 60);
    });

    it('never cut a number, and show what is not seen of a text', async () => {
      const { page } = await open(
        `SELECT * FROM (VALUES (12345678901234567890.12345678901234567890::numeric, 0.30000000000000004::float8, 3.4028235e+38::real, E'line1\\nline2'),
          (1, -1.2345678901234567e-300, 1e-38, U&' zero\\200Bwidth'), (2, 'NaN', '-Infinity', '=1+1'), (3, 1, 2, NULL), (4, 1, 2, '')) AS t (d, f8, f4, note)`,
      );
      await button(/^Run/).click();
      await ended(page, 'done');
      const numbers = page.locator('.grid-cell.right');
      await expect.poll(() => numbers.count()).toBe(15);
      const cut = numbers.evaluateAll((cells) =>
        cells.filter((one: any) => one.scrollWidth > one.clientWidth).map((one: any) => one.textContent),
      );
      expect(await cut).toEqual([]);
      const marks = page.locator('.grid-cell .mark');
      expect(await marks.allTextContents()).toEqual(['↵', '·', 'ZWSP']);
      await page.locator('.grid-cell', { hasText: 'line1' }).dblclick();
      expect(await page.locator('.cell-text').textContent()).toBe('line1↵\nline2');
      await page.keyboard.press('Escape');
      const copied = await page.evaluate(`(() => {
        const grid = document.querySelector('.grid');
        grid.focus();
        grid.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', ctrlKey: true, bubbles: true }));
        const event = new ClipboardEvent('copy', { clipboardData: new DataTransfer(), bubbles: true, cancelable: true });
        grid.dispatchEvent(event);
        return event.clipboardData.getData('text/plain');
      })()`);
      expect(copied).toBe(
        [
          '12345678901234567890.12345678901234567890\t0.30000000000000004\t3.4028235e+38\t"line1\nline2"',
          '1\t-1.2345678901234568e-300\t1e-38\t zero\u200bwidth',
          "2\tNaN\t'-Infinity\t'=1+1",
          '3\t1\t2\t',
          '4\t1\t2\t""',
        ].join('\n'),
      );
      await page.getByText('2 cells got an apostrophe').waitFor();
    });

    it('come from dates that are drawn as they are, also by default', async () => {
      const { hubId, page } = shared;
      const sourceId = await createSource(hubId, 'postgres');
      const context = [
        { key: 'from', type: 'date', value: '2026-06-01' },
        { key: 'at', type: 'timestamp', value: '2026-06-01T10:00:00' },
      ];
      const query = 'SELECT :from::date AS a, :at::timestamp AS b';
      const body = { hubId, sourceId, label: 'dates', query, context };
      const { config } = await api.ok(api.post('/v1/queries', body));
      await goTo('query', config.query.queryId);
      const from = page.getByLabel('from', { exact: true });
      expect(await from.inputValue()).toBe('2026-06-01');
      expect(await page.getByLabel('at', { exact: true }).inputValue()).toBe('2026-06-01T10:00:00');
      await from.fill('2026-07-02');
      await button(/^Run/).click();
      await ended(page, 'done');
      await page.locator('.grid-cell', { hasText: '2026-07-02' }).waitFor();
      await from.fill('');
      await from.blur();
      expect(await from.inputValue()).toBe('2026-06-01');
    });

    it('download as CSV that spreadsheets read', async () => {
      const { page } = await open("SELECT 1 AS a, 'b' AS b");
      await button(/^Run/).click();
      await ended(page, 'done');
      const asked = page.waitForRequest(/\/v1\/queries\/execute/);
      await act('Other formats', 'Download CSV for spreadsheets');
      expect((await asked).postDataJSON().options).toMatchObject({ csv: { bom: true, delimiter: ',' } });
      // The mark has three bytes.
      await page.getByText('Downloaded 13 B.').waitFor();
    });

    it('come back by themselves after the hub was out of reach', async () => {
      const { page, queryId } = await open('SELECT 1 AS a');
      await goTo();
      await page.context().setOffline(true);
      await goTo('query', queryId, 'versions');
      await page.getByText('The hub does not answer.').first().waitFor();
      await page.context().setOffline(false);
      await page.getByText('Version 1').first().waitFor();
      await expect.poll(() => page.locator('.offline').count()).toBe(0);
    });

    it('download with a count of bytes, until they are cancelled', async () => {
      const { page } = await open(
        "SELECT n, repeat('x', 2000) AS x, pg_sleep(0.002 * least(:to::int - 1, 1)) FROM generate_series(1, :to::int) AS n",
      );
      await page.getByLabel('to', { exact: true }).fill('100000');
      await button(/^Run/).click();
      await page.locator('.grid-cell').first().waitFor();
      await button('Cancel').click();
      await ended(page, 'cancelled');
      await button('Download CSV').click();
      const list = page.getByRole('list', { name: 'Downloads', exact: true });
      await list.getByText('results.csv').waitFor();
      await expect.poll(() => list.locator('b').textContent()).toMatch(/^[1-9]/);
      await list.getByRole('button', { name: 'Cancel', exact: true }).click();
      await page.getByText('Cancelled the download.').waitFor();
      expect(await list.count()).toBe(0);
    });

    it('stand beside the plan of the statement in the editor, with measured times', async () => {
      const { page } = await open('SELECT n FROM generate_series(1, 1000) AS n ORDER BY 1 DESC');
      await button('Explain').click();
      const plan = page.getByRole('region', { name: 'Plan', exact: true });
      await plan.getByRole('row', { name: /^Sort/ }).waitFor();
      await plan
        .getByRole('row', { name: /^Function Scan/ })
        .getByText('→ 1,000')
        .waitFor();
    });

    it('name who executes a query before it is deleted', async () => {
      const { page, queryId } = await open('SELECT 1 AS a');
      // What the console runs is no call of a program.
      await button(/^Run/).click();
      await ended(page, 'done');
      await api.ok(api.post('/v1/queries/execute', { queryId }));
      const { sinceStart } = await api.ok(api.get(`/v1/queries/${queryId}/stats`));
      expect([sinceStart.count, sinceStart.consoleCount]).toEqual([1, 1]);
      await expect
        .poll(async () => (await api.get(`/v1/queries/${queryId}/usage`)).body.count, { timeout: 60_000 })
        .toBe(1);
      await act('More actions', 'Delete');
      await page
        .getByText(/These programs get an error: 1 key executed it since \d{4}-\d\d-\d\d \(1 execution\)/)
        .waitFor();
      await page.keyboard.press('Escape');
    });
  },
);
