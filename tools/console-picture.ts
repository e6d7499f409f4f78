/**
 * `node tools/console-picture.ts`: opens the console of a hub that `npm start` runs (at DATAHUB_URL), runs one of the demo's
 * queries there, and takes the pictures in docs/images: light, dark, and on a phone.
 */

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type BrowserContextOptions, chromium } from 'playwright-core';
import { findChromium } from './databases/chromium.ts';

const folder = fileURLToPath(new URL('../docs/images/', import.meta.url));
const say = (line: string) => process.stdout.write(`· ${line}\n`);

const { DATAHUB_URL: url = 'http://127.0.0.1:8080', DATAHUB_DATA_DIR: dataDir = 'data' } = process.env;
const key = process.env.DATAHUB_API_KEY ?? (await readFile(`${dataDir}/api-key`, 'utf8')).trim();
const executablePath = await findChromium({ say });
if (executablePath === undefined) throw new Error('There is no Chromium: set CHROMIUM_PATH.');

const desktop = { width: 1280, height: 800 };
const pictures: [string, BrowserContextOptions][] = [
  ['console.png', { colorScheme: 'light', viewport: desktop }],
  ['console-dark.png', { colorScheme: 'dark', viewport: desktop }],
  ['console-phone.png', { colorScheme: 'light', viewport: { width: 390, height: 844 }, hasTouch: true }],
];

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const [name, options] of pictures) {
    const context = await browser.newContext(options);
    const tab = await context.newPage();
    await tab.goto(url);
    await tab.getByLabel('API key').fill(key);
    await tab.keyboard.press('Enter');
    await tab.getByRole('link', { name: 'Newest orders' }).last().click();
    await tab.getByLabel('count', { exact: true }).fill('40');
    // The first run opens a connection, which later ones do not wait for.
    for (let run = 0; run < 2; run++) {
      const answered = tab.waitForResponse(/\/execute$/);
      await tab.getByRole('button', { name: /^Run/ }).click();
      await (await answered).finished();
    }
    await tab.locator('.figures[data-status=done]').waitFor();
    await tab.locator('.grid-cell').first().waitFor();
    await tab.screenshot({ path: folder + name });
    await context.close();
    say(`written: ${folder}${name}`);
  }
} finally {
  await browser.close();
}
