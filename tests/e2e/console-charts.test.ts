import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { ended, useConsole } from '../support/browser/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

const isPostgres = engines.includes('postgres');

describe.skipIf(executablePath === undefined || !isPostgres)('charts in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();
  const open = async (query: string) => {
    const { hubId, page } = shared;
    const sourceId = await createSource(hubId, 'postgres');
    const body = { hubId, sourceId, label: 'A chart', query };
    const { config } = await api.ok(api.post('/v1/queries', body));
    await goTo('query', config.query.queryId);
    await button(/^Run/).click();
    await ended(page, 'done');
    await button('Chart').click();
    return { page, queryId: config.query.queryId as string };
  };
  const legend = () => shared.page.locator('.legend');
  const note = () => shared.page.locator('.chart-note');

  it('writes each digit of a value, and adds nothing without being asked', async () => {
    const { page } = await open(
      "SELECT k AS kind, v::numeric AS share FROM (VALUES ('a', '9007199254740995'), ('b', '1.50'), ('b', '0.30')) AS t (k, v)",
    );
    await note().getByText('Several rows have the same kind. Each is drawn by itself').waitFor();
    // The last of three bars, not the sum of two.
    await legend().getByText('0.30', { exact: true }).waitFor();
    await page.locator('.u-over').hover({ position: { x: 60, y: 60 } });
    await legend().getByText('9,007,199,254,740,995', { exact: true }).waitFor();
    await page.mouse.move(0, 0);
    await page.getByLabel('Combine', { exact: true }).selectOption('mean');
    await page.getByText('mean of share', { exact: false }).first().waitFor();
    await legend().getByText('0.90', { exact: true }).waitFor();
    await page.getByLabel('Unit', { exact: true }).fill('%');
    await page.getByText('mean of share, %').first().waitFor();
  });

  it('adds sums, and takes 2026-01 for time', async () => {
    const { page } = await open(
      "SELECT to_char(d, 'YYYY-MM') AS month, sum(1) AS sales, avg(7) AS other FROM (VALUES (date '2026-02-01'), ('2025-12-01'), ('2026-02-03')) AS t (d) GROUP BY d ORDER BY 2 DESC",
    );
    await page.getByText('sum of sales').first().waitFor();
    expect(await legend().textContent()).toBe('Values at 2026-02month 2026-02 sales2');
    await page
      .getByText('other')
      .waitFor()
      .catch(() => undefined);
    await page.getByRole('checkbox', { name: 'other' }).check();
    await note().getByText('must not be added').waitFor();
  });

  it('draws again in the colours of a theme that changes with the system', async () => {
    const { page } = await open("SELECT k AS kind, 1 AS n FROM (VALUES ('a'), ('b')) AS t (k)");
    const picture = () => page.locator('.chart canvas').evaluate((one: any) => one.toDataURL());
    const light = await picture();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expect.poll(picture).not.toBe(light);
    await page.emulateMedia({ colorScheme: 'light' });
    await expect.poll(picture).toBe(light);
  });

  it('labels no half of what is counted', async () => {
    await shared.page.addInitScript(() => {
      const { CanvasRenderingContext2D: canvas } = globalThis as any;
      const { fillText } = canvas.prototype;
      const written: string[] = [];
      Object.assign(globalThis, { written });
      canvas.prototype.fillText = function (this: unknown, text: string, ...place: number[]) {
        written.push(text);
        fillText.call(this, text, ...place);
      };
    });
    await shared.page.reload();
    const { page } = await open("SELECT 'tea' AS kind, 2 AS sales UNION ALL SELECT 'cocoa', 1");
    const labels = () => page.evaluate('written') as Promise<string[]>;
    await expect.poll(labels).toContain('2');
    expect((await labels()).filter((label) => label.includes('.'))).toEqual([]);
  });

  it('says which rows a filter leaves, and saves none in silence', async () => {
    const { page, queryId } = await open(
      "SELECT 'tea ' || n AS name, n AS stock, n * 2 AS minimum FROM generate_series(1, 12) AS n",
    );
    await page.getByText('All 12 rows are drawn.').waitFor();
    await page.getByLabel('Filter rows', { exact: true }).fill('tea 1');
    await page.getByText('Of 4 of 12 rows (filter “tea 1”).').waitFor();
    await button('Download all rows: CSV').waitFor();
    await button('JSON').click();
    expect((await page.locator('pre.json').textContent())?.split('\n')).toHaveLength(4);
    await button('Chart').click();
    await button('Pin to home').click();
    await page.getByText('You see 4 of 12 rows').waitFor();
    const stored = async () => (await api.get(`/v1/queries/${queryId}`)).body.config.presentation;
    expect(await stored()).toBeUndefined();
    await button('Save without the filter').click();
    await button('Unpin').waitFor();
    expect((await stored()).chart).toMatchObject({ x: 'name', y: ['stock'], aggregate: 'none' });
    await page.locator('.chart-filter').getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByText('All 12 rows are drawn.').waitFor();
    await goTo();
    const card = page.getByRole('list', { name: 'Pinned queries', exact: true });
    await card.getByText('stock by name').waitFor();
    // The first and the last label of an axis without room for all are drawn.
    await card.locator('.u-over').hover();
    await card.locator('.legend-line b').first().waitFor();
    await api.ok(
      api.put(`/v1/queries/${queryId}`, {
        config: { query: { query: 'SELECT 1 AS a, 2 AS b' } },
      }),
    );
    await page.reload();
    await card.getByText('The saved chart draws the column “name”, which the rows do not have.').waitFor();
  });
});
