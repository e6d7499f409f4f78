/** A user's first ten minutes, only in a browser: from `npm start` to a web page with rows of their own database. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '@datahub/service-kit/process/free-port';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChromium } from '../../tools/databases/chromium.ts';
import { createTestDatabases, type TestDatabases } from '../support/databases.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const executablePath = await findChromium({ say: (line) => console.log(line) });
const engineNames: Record<string, string> = { postgres: 'PostgreSQL', mariadb: 'MariaDB', mysql: 'MySQL' };

describe.skipIf(executablePath === undefined)(
  'the first ten minutes (need Chromium: set CHROMIUM_PATH)',
  () => {
    let dir: string;
    let hub: ChildProcess;
    let welcome = '';
    let databases: TestDatabases;
    let browser: Browser;
    let page: Page;
    const closing: (() => unknown)[] = [];

    beforeAll(async () => {
      dir = await mkdtemp(join(tmpdir(), 'datahub-ten-'));
      databases = await createTestDatabases(process.env);
      const { PATH, HOME } = process.env;
      const env = { PATH, HOME, PORT: String(await freePort()), DATAHUB_DATA_DIR: dir };
      hub = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'ignore', 'pipe'] });
      hub.stderr?.on('data', (chunk) => {
        welcome += chunk;
      });
      browser = await chromium.launch({
        executablePath: executablePath as string,
        args: ['--no-sandbox', '--disable-gpu'],
      });
      page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
      page.setDefaultTimeout(15_000);
    });
    afterAll(async () => {
      await browser?.close();
      for (const close of closing) await close();
      const ended = once(hub, 'close');
      hub.kill('SIGTERM');
      await ended;
      await databases.close();
      await rm(dir, { recursive: true, force: true });
    });

    const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });

    /** The user's web page: its origin, and the cells of the table that it shows. */
    async function servePage() {
      let content = '';
      const server = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end(content),
      );
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closing.push(() => server.close());
      const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const rowsOf = async (text: string) => {
        content = text;
        const tab = await browser.newPage();
        await tab.goto(origin);
        await tab.locator('td').first().waitFor();
        return tab.locator('td').allTextContents();
      };
      return { origin, rowsOf };
    }

    it('lead from the sign-in link to a source, a query and a web page with a browser key', async () => {
      await expect.poll(() => welcome, { timeout: 50_000 }).toContain('Try it:');
      const link = /Sign in: +(\S+)/.exec(welcome)?.[1] as string;
      await page.goto(link);
      // The user tries the demo first.
      await page.getByRole('treeitem', { name: 'Newest orders' }).click();
      await page.getByLabel('count', { exact: true }).fill('5');
      await button(/^Run/).click();
      await page.locator('.figures', { hasText: '5 rows' }).waitFor();

      await page.getByRole('link', { name: 'Data Hub' }).click();
      await button('New hub').click();
      await page.getByLabel('Name', { exact: true }).fill('Shop');
      await button('Create hub').click();
      await page.getByRole('link', { name: 'Connect a source' }).click();
      const [[engine, database] = []] = Object.entries(databases.access);
      if (engine === undefined || database === undefined) throw new Error('Set POSTGRES_URL or MARIADB_URL.');
      await page.getByLabel('Engine').selectOption({ label: engineNames[engine] as string });
      await page.getByLabel('Host').fill(database.host);
      await page.getByLabel('Port').fill(String(database.port));
      await page.getByLabel('Database', { exact: true }).fill(database.database);
      await page.getByLabel('User').fill(database.user);
      await page.getByLabel('Password').fill(database.password);
      await button('Test and save').click();

      await page.getByLabel('Search tables and columns').fill('sales');
      await page.locator('details.table').first().waitFor();
      await page.evaluate("document.querySelector('details.table').open = true");
      await page.getByRole('link', { name: 'Query this table' }).first().click();
      await page.getByLabel('Name', { exact: true }).fill('Sales of a region');
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('SELECT region, amount FROM sales WHERE region = :region');
      await button('Create query').click();
      await page.locator('h1', { hasText: 'Sales of a region' }).waitFor();
      await page.getByLabel('region', { exact: true }).fill('south');
      await page.keyboard.press('Control+Enter');
      await page.locator('.figures[data-status=done]').waitFor();
      expect(await page.locator('.grid-cell:not([hidden])').allTextContents()).toEqual(['south', '10.50']);

      const { origin, rowsOf } = await servePage();
      await page.getByRole('tab', { name: 'Use it' }).click();
      await page.getByRole('tab', { name: 'Web page' }).click();
      await button('Make a browser key …').click();
      await page.getByLabel('Origins').fill(origin);
      await page.keyboard.press('Enter');
      await button('Create key').click();
      await page.getByText('created just now').waitFor();
      const copied = page.locator('.copy-block pre');
      expect(await rowsOf((await copied.textContent()) ?? '')).toEqual(['region', 'amount', 'south', '10.5']);
      await button('Sign out').click();
      await page.getByLabel('API key').waitFor();
    });
  },
);
