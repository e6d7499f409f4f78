import { describe, expect, it } from 'vitest';
import { cells, ended, executablePath, useConsole } from '../support/console.ts';
import { api, createSource, engines } from '../support/hub.ts';

const engine = engines[0] as string;
const columns = Array.from({ length: 20 }, (_, i) =>
  i % 2 === 0 ? `n * ${i + 1} AS number_${i}` : `${textOf(i)} AS text_${i}`,
);
const numbers = engine === 'postgres' ? 'generate_series(1, 100000) AS n' : 'seq_1_to_100000';

function textOf(i: number): string {
  return engine === 'postgres' ? `'row ' || n || ' of ${i}'` : `CONCAT('row ', n, ' of ${i}')`;
}

describe.skipIf(executablePath === undefined)('100,000 rows of 20 columns in the console', () => {
  const { shared, goTo, button } = useConsole();

  it('stream in, scroll smoothly, sort, and stay small', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId, engine);
    const from = engine === 'postgres' ? numbers : `(SELECT seq AS n FROM ${numbers}) AS many`;
    const query = `SELECT ${columns.join(', ')} FROM ${from}`;
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'wide', query }));
    await goTo('query', config.query.queryId);
    await button(/^Run/).click();
    await page.locator('.grid-cell').first().waitFor();
    await ended(page, 'done');
    await page.locator('.figures', { hasText: '100,000 rows' }).waitFor();
    const longest = await page.evaluate(scrollThrough);
    // 50 ms on a machine of its own; a table that drew all its rows would take seconds.
    expect(longest).toBeLessThan(1_000);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const { metrics } = await session.send('Performance.getMetrics');
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
    expect(heap).toBeLessThan(150_000_000);
    expect(await page.locator('.grid-cell').count()).toBeLessThan(1_500);
    expect((await cells(page)).at(-1)?.[1]).toBe('row 100000 of 1');
    await page.locator('.grid-title button', { hasText: 'number_4' }).click();
    await page.locator('.grid-title button', { hasText: 'number_4' }).click();
    const grid = page.locator('.grid');
    await grid.evaluate('document.querySelector(".grid").scrollTop = 0');
    await expect.poll(async () => (await cells(page))[0]?.[1], { timeout: 10_000 }).toBe('row 100000 of 1');
  });
});

const frames = 120;
/** Runs in the page: scrolls to the end in steps, one a frame, and answers the longest task in ms. */
const scrollThrough = `(async () => {
  let longest = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
  });
  observer.observe({ type: 'longtask' });
  const grid = document.querySelector('.grid');
  const frames = ${frames};
  for (let i = 0; i <= frames; i++) {
    grid.scrollTop = ((grid.scrollHeight - grid.clientHeight) * i) / frames;
    grid.scrollLeft = i < frames ? (i * 37) % 900 : 0;
    await new Promise(requestAnimationFrame);
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  observer.disconnect();
  return longest;
})()`;
