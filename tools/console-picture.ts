/**
 * `node tools/console-picture.ts`: opens the console of a hub that `npm start` runs (at DATAHUB_URL), adds what the
 * pictures show to the demo if it is missing, and takes the pictures in docs/images: the screens in both themes, and one
 * on a phone.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from './databases/chromium.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);

const { DATAHUB_URL: url = 'http://127.0.0.1:8080', DATAHUB_DATA_DIR: dataDir = 'data' } = process.env;
const key = process.env.DATAHUB_API_KEY ?? (await readFile(`${dataDir}/api-key`, 'utf8')).trim();
const executablePath = await findChromium({ say });
if (executablePath === undefined) throw new Error('There is no Chromium: set CHROMIUM_PATH.');

async function call<T>(
  path: string,
  body?: object,
  method = body === undefined ? 'GET' : 'POST',
): Promise<T> {
  const headers = { 'x-service-api-key': key, 'content-type': 'application/json' };
  const response = await fetch(url + path, {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
  return (await response.json()) as T;
}

interface StoredQuery {
  meta: { label: string };
  config: { query: { queryId: string } };
}

const months = `SELECT CAST(date_trunc('month', ordered_at) AS date) AS month, region, sum(amount) AS revenue
FROM orders
GROUP BY 1, 2 ORDER BY 1, 2`;
const mail = `SELECT id, body FROM (VALUES
  (4120, 'My parcel came two days late and nobody told me'),
  (4119, 'I was charged twice, please refund one payment'),
  (4118, 'The best cocoa I have had in years, thank you'),
  (4117, 'The box was open when it arrived'),
  (4116, 'When will my order be shipped?'),
  (4115, 'Great tea, fast and friendly'),
  (4114, 'How do I send something back?')
) AS mail(id, body)`;

/** Creates a query of the demo if it is missing. Returns its id. */
async function queryFor(label: string, query: string): Promise<string> {
  const found = known.find(({ meta }) => meta.label === label);
  if (found !== undefined) return found.config.query.queryId;
  const body = { hubId, sourceId, label, query };
  return (await call<StoredQuery>('/v1/queries', body)).config.query.queryId;
}

const hubs = await call<{ hubId: string; label: string }[]>('/v1/hubs');
const hubId = hubs.find(({ label }) => label === 'Demo')?.hubId ?? '';
const [source] = await call<{ sourceId: string }[]>(`/v1/sources?hubId=${hubId}`);
const sourceId = source?.sourceId ?? '';
const [classifier] = await call<{ classifierId: string }[]>('/v1/classifiers');
const known = await call<StoredQuery[]>(`/v1/queries?hubId=${hubId}`);
const sales = await queryFor('Sales of a region by product', '');
const newest = await queryFor('Newest orders', '');
const revenue = await queryFor('Revenue by month', months);
const messages = await queryFor('Messages of customers', mail);
const present = (queryId: string, presentation: object) =>
  call(`/v1/queries/${queryId}`, { config: { presentation } }, 'PUT');
const chart = { kind: 'stacked-bars', x: 'month', y: ['revenue'], split: 'region' };
await present(revenue, { pinned: true, chart });
await present(sales, { pinned: true });

type Picture = (tab: Page) => Promise<unknown>;
const open = (tab: Page, ...path: string[]) =>
  tab.evaluate(`location.hash = '#/${['hub', hubId, ...path].join('/')}'`);

async function run(tab: Page): Promise<void> {
  const answered = tab.waitForResponse(/\/execute$/);
  await tab.getByRole('button', { name: /^Run/ }).click();
  await answered;
  await tab.locator('.figures[data-status=done]').waitFor();
  await tab.locator('.grid-cell').first().waitFor();
}

async function openQuery(tab: Page, queryId: string): Promise<void> {
  await open(tab, 'query', queryId);
  await tab.locator('.code').waitFor();
  // The first run opens a connection, which the second does not wait for.
  for (let times = 0; times < 2; times++) await run(tab);
}

const pictures: Record<string, Picture> = {
  console: async (tab) => {
    await open(tab, 'query', newest);
    await tab.getByLabel('count', { exact: true }).fill('40');
    for (let times = 0; times < 2; times++) await run(tab);
  },
  home: async (tab) => {
    await open(tab);
    await tab.locator('.chart canvas').first().waitFor();
  },
  chart: async (tab) => {
    await openQuery(tab, revenue);
    await tab.getByRole('button', { name: 'Chart', exact: true }).click();
    await tab.locator('.chart canvas').waitFor();
  },
  classify: async (tab) => {
    await openQuery(tab, messages);
    await tab.locator('.grid').focus();
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('m');
    await tab.getByRole('menuitem', { name: /Classify/ }).click();
    await tab.getByLabel('Classifier', { exact: true }).selectOption(classifier?.classifierId ?? '');
    await tab.getByRole('button', { name: 'Classify', exact: true }).click();
    await tab.locator('.annotation-note', { hasText: 'right in' }).waitFor();
    await tab.locator('.grid-cell.confidence').first().waitFor();
  },
  explain: async (tab) => {
    await openQuery(tab, revenue);
    await tab.getByRole('button', { name: 'Explain', exact: true }).click();
    await tab.locator('.plan').waitFor();
  },
  use: async (tab) => {
    await open(tab, 'query', sales, 'use');
    await tab.getByRole('tab', { name: 'TypeScript' }).click();
    await tab.getByRole('button', { name: 'Try' }).click();
    await tab.locator('.answer-line').waitFor();
  },
};

const desktop = { width: 1280, height: 800 };
const looks: [suffix: string, options: BrowserContextOptions, names: string[]][] = [
  ['', { colorScheme: 'light', viewport: desktop }, Object.keys(pictures)],
  ['-dark', { colorScheme: 'dark', viewport: desktop }, Object.keys(pictures)],
  ['-phone', { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true }, ['console']],
];

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [suffix, options, names] of looks) {
    const context = await browser.newContext(options);
    const tab = await context.newPage();
    await tab.goto(url);
    await tab.getByLabel('API key').fill(key);
    await tab.keyboard.press('Enter');
    await tab.locator('.side').waitFor({ state: 'attached' });
    for (const name of names) {
      await pictures[name]?.(tab);
      await tab.mouse.move(0, 0);
      const file = `${name === 'console' ? name : `console-${name}`}${suffix}.png`;
      await tab.screenshot({ path: folder + file, animations: 'disabled' });
      say(`written: ${folder}${file}`);
    }
    await context.close();
  }
} finally {
  await browser.close();
}
