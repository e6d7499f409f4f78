/** Starts a real Chromium. */

import { type Browser, chromium } from 'playwright-core';
import { findChromium } from '../../../tools/databases/chromium.ts';

export const executablePath = await findChromium({ say: (line) => console.log(line) });

const args = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
];

export const openBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: executablePath as string,
    args,
    // A person has scrollbars, and they take space.
    ignoreDefaultArgs: ['--hide-scrollbars'],
  });

let shared: Browser | undefined;

/** The browser that the test files of this process share. It ends with the process. */
export async function sharedBrowser(): Promise<Browser> {
  if (shared?.isConnected() !== true) shared = await openBrowser();
  return shared;
}
