import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import {
  bothEngines,
  cells,
  choose,
  ended,
  hostile,
  makeKey,
  signIn,
  useFreshTabs,
} from '../support/browser/console.ts';
import { processList } from '../support/databases.ts';
import { api, createSource, database } from '../support/hub.ts';

const queriesOf = (isPostgres: boolean): Record<string, string> => {
  const quoted = isPostgres ? `"${hostile}"` : `\`${hostile}\``;
  return {
    rows: `SELECT region, note, '' AS nothing, 12345678901234567890 AS digits, 10.50 AS price,\n  '${hostile}' AS ${quoted}\nFROM sales WHERE region = :region`,
    typed: 'SELECT :big AS big, :kind AS kind FROM sales WHERE id IN (:ids) AND :flag = :flag',
    wrong: 'SELECT id\nFROM no_such_table',
    slow: isPostgres ? 'SELECT pg_sleep(60)' : 'SELECT SLEEP(60)',
    many: `SELECT a.n * 100 + b.n AS n FROM (${tenfold('a')}) a CROSS JOIN (${tenfold('b')}) b`,
  };
};

const contexts: Record<string, object[]> = {
  rows: [{ key: 'region', type: 'string', required: true, description: hostile }],
  typed: [
    { key: 'big', type: 'decimal', required: true },
    { key: 'kind', type: 'integer', enum: [1, 2], value: 1 },
    { key: 'ids', type: 'bigint[]' },
    { key: 'flag', type: 'boolean' },
  ],
};

/** A hundred numbers. */
function tenfold(name: string): string {
  const ten = Array.from({ length: 10 }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
  return `SELECT ${name}1.n * 10 + ${name}2.n AS n FROM (${ten}) ${name}1 CROSS JOIN (${ten}) ${name}2`;
}

const withBrowser = describe.skipIf(executablePath === undefined);
withBrowser.each(bothEngines)('the console on %s (needs Chromium: set CHROMIUM_PATH)', (engine) => {
  const isPostgres = engine === 'postgres';
  const tabs = useFreshTabs();
  let page: Page;
  let [hubId, sourceId, key] = ['', '', ''];
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `hub ${hostile}` })));
    sourceId = await createSource(hubId, engine);
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: `folder ${hostile}` }));
    for (const [name, query] of Object.entries(queriesOf(isPostgres))) {
      const context = contexts[name] ?? [];
      const body = { hubId, sourceId, label: `${name} ${hostile}`, query, context, parentNodeId: nodeId };
      const { queryId } = (await api.ok(api.post('/v1/queries', body))).config.query;
      ids[name] = queryId;
      // The types of the columns, without which numbers have no separators, are in the signature.
      const described = async () =>
        expect((await api.ok(api.get(`/v1/queries/${queryId}?signature=1`))).signature).toBeTruthy();
      await vi.waitFor(described, { timeout: 60_000 });
    }
    key = await makeKey(['*'], { hubIds: [hubId] });
  });

  beforeEach(() => {
    page = tabs.page;
  });
  afterEach(async () => {
    expect(await page.evaluate('globalThis.taken')).toBeUndefined();
    expect(await page.locator('img').count()).toBe(0);
  });

  const open = async (name: string) => {
    await signIn(page, key);
    await choose(page, `${name} ${hostile}`);
    await page.locator('h1', { hasText: name }).waitFor();
  };
  const run = () => page.getByRole('button', { name: /^Run/ }).click();

  it('shows rows exactly as stored, and hostile texts as text', async () => {
    // The page knows the types of the columns only after the rows.
    await page.route(/signature=1/, async (route) => {
      await page.waitForTimeout(1_500);
      await route.continue();
    });
    await open('rows');
    expect(await page.locator('h1').textContent()).toBe(`rows ${hostile}`);
    await page.getByLabel('region', { exact: true }).fill("o'hara");
    await run();
    await ended(page, 'done');
    expect(await page.locator('.grid-title > button:first-child').last().textContent()).toBe(hostile);
    await expect
      .poll(() => cells(page), { timeout: 60_000 })
      .toEqual([["o'hara", 'quote', 'empty text', '12,345,678,901,234,567,890', '10.50', hostile]]);
    await page.getByLabel('region', { exact: true }).fill('north');
    await run();
    await page.locator('.grid-cell', { hasText: 'north' }).first().waitFor();
    expect(await page.locator('.grid-cell.null').allTextContents()).toEqual(['null', 'empty text']);
    // Separators between thousands are displayed, but not copied.
    await page.locator('.grid').focus();
    for (let i = 0; i < 3; i++) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    expect(await page.locator('.cell-text').textContent()).toBe('12345678901234567890');
  });

  it('sends typed values with their type and all digits', async () => {
    await open('typed');
    await run();
    await page.getByText('Give it a value.').first().waitFor();
    expect(await page.evaluate("document.activeElement.closest('.variable').dataset.variable")).toBe('big');
    await page.getByLabel('big', { exact: true }).fill('12345678901234567890.10');
    await page.getByLabel('flag', { exact: true }).selectOption({ label: 'true' });
    await page.getByLabel('ids', { exact: true }).fill('1');
    await page.keyboard.press('Enter');
    await page.getByLabel('ids', { exact: true }).fill('2');
    await page.keyboard.press('Enter');
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.getByRole('tab', { name: 'curl' }).click();
    expect(await page.locator('.copy-block pre').textContent()).toBe(
      `curl -s '${inject('hub').url}/v1/queries/execute' \\\n  -H "x-service-api-key: $DATAHUB_KEY" \\\n  -H 'content-type: application/json' \\\n  -d '{"queryId":"${ids.typed}","context":{"big":12345678901234567890.10,"ids":[1,2],"flag":true}}'`,
    );
    await page.getByRole('tab', { name: 'Query' }).click();
    await page.getByLabel('big', { exact: true }).press('Control+Enter');
    await ended(page, 'done');
    // MariaDB says that an expression of only a variable is a text.
    const big = isPostgres ? '12,345,678,901,234,567,890.10' : '12345678901234567890.10';
    // The next frame draws the rows.
    await expect.poll(() => cells(page)).toEqual(Array(2).fill([big, '1']));
    await page.getByRole('button', { name: 'Send flag as null' }).click();
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.getByText('A URL cannot express null, the value of flag.').waitFor();
    await page.getByRole('tab', { name: 'curl' }).click();
    await page.locator('.copy-block pre', { hasText: '"flag":null' }).waitFor();
  });

  it('explains a problem, and marks its position', async () => {
    await open('wrong');
    await run();
    await ended(page, 'failed');
    const words = await page.locator('.results .problem').innerText();
    expect(words).toContain('SQL_REJECTED (422)');
    expect(words).toMatch(/while: (prepare|execute)/);
    expect(words).toMatch(/request [0-9a-f]{32}/);
    if (isPostgres) {
      expect(words).toContain('line 2, column 6');
      await page.locator('.line.bad', { hasText: 'no_such_table' }).waitFor();
    }
  });

  it('cancels a run, and stops the statement at the database', async () => {
    await open('slow');
    await run();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await ended(page, 'cancelled');
    await expect.poll(() => runningSleeps(engine), { timeout: 15_000 }).toBe(0);
  });

  it('stops the statement when the tab is closed', async () => {
    // The first tab is needed after the test.
    const second = await page.context().newPage();
    await second.goto(inject('hub').url);
    await signIn(second, key);
    await choose(second, `slow ${hostile}`);
    await second.getByRole('button', { name: /^Run/ }).click();
    await expect.poll(() => runningSleeps(engine), { timeout: 15_000 }).toBe(1);
    await second.close();
    await expect.poll(() => runningSleeps(engine), { timeout: 15_000, interval: 50 }).toBe(0);
  });

  it('shows many rows, sorts and filters them, and downloads all as a file', async () => {
    await open('many');
    await run();
    await page.locator('.figures', { hasText: '10,000 rows' }).waitFor();
    await page.locator('.grid[aria-rowcount="10001"]').waitFor();
    expect(await page.locator('.grid-row').count()).toBeLessThan(80);
    await page.locator('.grid-title button', { hasText: 'n' }).click();
    await page.locator('.grid-title button', { hasText: 'n' }).click();
    await page.locator('[aria-sort=descending]').waitFor();
    await expect.poll(async () => (await cells(page))[0]).toEqual(['9,999']);
    await page.getByLabel('Filter rows').fill('777');
    await page.locator('.figures', { hasText: '19 match' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download all rows: CSV' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
    expect([lines[0], lines.length]).toEqual(['n', 10_001]);
  });

  it('shows a source without its secrets, and tests it', async () => {
    await signIn(page, key);
    await choose(page, `a ${engine} source`);
    await page.getByText('Connected in').waitFor();
    await page.getByRole('tab', { name: 'Settings' }).click();
    expect(await page.getByLabel('User').inputValue()).toContain('********');
    expect(await page.content()).not.toContain(database(engine).password);
  });
});

/** Returns the number of running statements of the slow query. */
async function runningSleeps(engine: string): Promise<number> {
  const { host, port, user, password, database: name } = database(engine);
  if (engine === 'postgres') {
    const { default: pg } = await import('pg');
    const client = new pg.Client({ host, port, user, password, database: name });
    await client.connect();
    const { rows } = await client.query(
      `SELECT count(*)::int AS n FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()`,
    );
    await client.end();
    return rows[0].n;
  }
  const mysql = await import('mysql2/promise');
  const connection = await mysql.createConnection({ host, port, user, password, database: name });
  const [rows] = await connection.query(
    `SELECT COUNT(*) AS n FROM ${processList(engine)} WHERE info LIKE '%SLEEP(60)%' AND id <> CONNECTION_ID()`,
  );
  await connection.end();
  return Number((rows as { n: number }[])[0]?.n);
}
