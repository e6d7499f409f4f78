import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { bothEngines, cells, ended, useConsole } from '../support/browser/console.ts';
import { tasksDuring } from '../support/browser/tasks.ts';
import { api, createSource } from '../support/hub.ts';

const columns = (textOf: (i: number) => string) =>
  Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? `n * ${i + 1} AS number_${i}` : textOf(i))).join(', ');
const statements: Record<string, string> = {
  postgres: `SELECT ${columns((i) => `'row ' || n || ' of ${i}' AS text_${i}`)} FROM generate_series(1, 100000) AS n`,
  mariadb: `SELECT ${columns((i) => `CONCAT('row ', n, ' of ${i}') AS text_${i}`)} FROM (SELECT seq AS n FROM seq_1_to_100000) AS many`,
};

/** Runs in the page: notes the status of the run when the first row was drawn. */
const watchFirstRow = `void (globalThis.firstRow = new Promise((resolve) => {
  const observer = new MutationObserver(() => {
    if ((document.querySelector('.grid-cell')?.textContent ?? '') === '') return;
    observer.disconnect();
    resolve(document.querySelector('.figures')?.dataset.status);
  });
  observer.observe(document.body, { childList: true, subtree: true, characterData: true });
}))`;

/** Runs in the page: notes the most changes that the grid makes at once, among them each element that it adds. */
const watchChanges = `void (() => {
  globalThis.mostChanges = 0;
  const sizeOf = (node) => 1 + (node.querySelectorAll?.('*').length ?? 0);
  new MutationObserver((records) => {
    const added = records.flatMap(({ addedNodes }) => [...addedNodes]).reduce((sum, node) => sum + sizeOf(node), 0);
    globalThis.mostChanges = Math.max(globalThis.mostChanges, records.length + added);
  }).observe(document.querySelector('.grid'), { childList: true, subtree: true, characterData: true, attributes: true });
})()`;
/** Some for each cell that is shown, however many rows there are. */
const changesMax = 2_500;

/** How a person scrolls. Each way ends far from where it began. */
const ways: Record<string, (page: Page) => Promise<void>> = {
  'by wheel': async (page) => {
    await page.locator('.grid').hover();
    for (let i = 0; i < 80; i++) {
      await page.mouse.wheel(i % 8 === 0 ? 300 : 0, i < 30 ? 200 : 4_000);
      await page.waitForTimeout(16);
    }
  },
  'by keyboard': async (page) => {
    await page.locator('.grid').focus();
    for (const [key, times] of [
      ['ArrowDown', 60],
      ['ArrowRight', 19],
      ['PageDown', 30],
      ['Control+End', 1],
      ['PageUp', 20],
    ] as const) {
      for (let i = 0; i < times; i++) await page.keyboard.press(key);
    }
  },
  'by its bar': async (page) => {
    await page.evaluate('document.querySelector(".grid").scrollTop = 0');
    const box = await page.locator('.grid').boundingBox();
    const { x, y, width, height } = box ?? { x: 0, y: 0, width: 0, height: 0 };
    // The thumb is below the button of the bar.
    const [right, top, bottom] = [x + width - 6, y + 20, y + height - 6];
    await page.mouse.move(right, top);
    await page.mouse.down();
    for (let i = 1; i <= 120; i++) await page.mouse.move(right, top + ((bottom - top) * i) / 120);
    await page.mouse.up();
  },
};

const longest = (list: number[]) => Math.max(...list);

describe.skipIf(executablePath === undefined)('100,000 rows of 20 columns in the console', () => {
  const { shared, goTo, button } = useConsole();

  const open = async (engine: string) => {
    const { hubId, page } = shared;
    const sourceId = await createSource(hubId, engine);
    const body = { hubId, sourceId, label: 'wide', query: statements[engine] };
    const { config } = await api.ok(api.post('/v1/queries', body));
    await goTo('query', config.query.queryId);
    await button(/^Run/).waitFor();
    return page;
  };
  const run = async (page: Page) => {
    await button(/^Run/).click();
    await ended(page, 'done');
    await page.locator('.figures', { hasText: '100,000 rows' }).waitFor();
  };

  it.each(bothEngines)('show the first rows while the others still arrive, from %s', async (engine) => {
    const page = await open(engine);
    await page.evaluate(watchFirstRow);
    await run(page);
    expect(await page.evaluate('firstRow')).toBe('running');
  });

  it('stream in, scroll smoothly, sort, and stay small', async () => {
    const page = await open(bothEngines[0] as string);
    const session = await page.context().newCDPSession(page);
    await run(page);
    const grid = page.locator('.grid');
    const process = { pid: 0 };
    await page.evaluate(watchChanges);
    for (const [name, scroll] of Object.entries(ways)) {
      const { tasks, pid } = await tasksDuring(session, () => scroll(page));
      process.pid = pid;
      expect(await grid.evaluate('document.querySelector(".grid").scrollTop'), name).toBeGreaterThan(50_000);
      const [wall, cpu] = [longest(tasks.map((one) => one.wallMs)), longest(tasks.map((one) => one.cpuMs))];
      console.log(
        `longest task, scrolling ${name}: ${wall.toFixed()} ms, of which ${cpu.toFixed()} ms of CPU`,
      );
      expect(cpu, name).toBeGreaterThan(1);
      const changes = await page.evaluate('mostChanges');
      console.log(`most changes at once: ${changes}`);
      expect(changes, name).toBeGreaterThan(10);
      expect(changes, name).toBeLessThan(changesMax);
    }
    // Chromium's task manager shows the same figure. The pages of the program itself are shared by all tabs.
    const privateMb = await privateMemoryMb(process.pid);
    console.log(`memory of the tab: ${privateMb.toFixed()} MB`);
    expect(privateMb).toBeLessThan(300);
    expect(await page.locator('.grid-cell').count()).toBeLessThan(1_500);

    await page.keyboard.press('Control+End');
    await expect.poll(async () => (await cells(page)).at(-1)).toContain('row 100000 of 19');
    await page.keyboard.press('Control+Home');
    const title = page.locator('.grid-title button', { hasText: 'number_4' });
    await title.click();
    await title.click();
    await expect.poll(async () => (await cells(page))[0]?.[1], { timeout: 60_000 }).toBe('row 100000 of 1');
  });
});

/** The memory that only this process has, which Linux tells. */
async function privateMemoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const [anonymous = 0, shared = 0] = ['RssAnon', 'RssShmem'].map((name) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]),
  );
  return (anonymous + shared) / 1_024;
}
