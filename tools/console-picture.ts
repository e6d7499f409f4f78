/**
 * `node tools/console-picture.ts`: opens the page of a hub that `npm start` runs (at DATAHUB_URL), runs one of the demo's
 * queries there, and takes docs/images/console.png.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { findChromium } from './databases/chromium.ts';

const path = fileURLToPath(new URL('../docs/images/console.png', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);

const { DATAHUB_URL: url = 'http://127.0.0.1:8080', DATAHUB_DATA_DIR: dataDir = 'data' } = process.env;
const key = process.env.DATAHUB_API_KEY ?? (await readFile(`${dataDir}/api-key`, 'utf8')).trim();
const executablePath = await findChromium({ say });
if (executablePath === undefined) throw new Error('There is no Chromium: set CHROMIUM_PATH.');

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
try {
  const tab = await browser.newPage({ colorScheme: 'light', viewport: { width: 1100, height: 1000 } });
  await tab.goto(url);
  await tab.getByLabel('Key', { exact: true }).fill(key);
  await tab.keyboard.press('Enter');
  await tab.getByRole('button', { name: 'Sales of a region by product' }).click();
  await tab.getByLabel('region').fill('north');
  await tab.keyboard.press('Enter');
  await tab.locator('#rows table').waitFor();
  await tab.getByLabel('A text to classify or summarise').fill('my parcel has not arrived');
  await tab.getByRole('button', { name: 'Predict its label' }).click();
  await tab.locator('meter').first().waitFor();
  await tab.locator('h1').click();
  await tab.screenshot({ path, fullPage: true });
  say(`written: ${path}`);
} finally {
  await browser.close();
}
