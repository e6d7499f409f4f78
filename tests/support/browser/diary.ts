/** What happened in a page, for the log of a test that failed. */

import type { Page, Request } from 'playwright-core';

const linesMax = 80;
const charactersMax = 3_000;

export interface Diary {
  /** Prints the last events, and what the page shows now. */
  print(): Promise<void>;
}

/** Records the requests to the API with their answers, the addresses and the messages of a page. */
export function keepDiary(page: Page): Diary {
  const beganAt = performance.now();
  const lines: string[] = [];
  const note = (text: string) => {
    lines.push(`${String(Math.round(performance.now() - beganAt)).padStart(6)} ms  ${text}`);
    if (lines.length > linesMax) lines.shift();
  };
  const nameOf = (request: Request) => `${request.method()} ${request.url().replace(/^\w+:\/\/[^/]+/, '')}`;
  page.on('request', (request) => note(`→ ${nameOf(request)}`));
  page.on('requestfailed', (request) => note(`× ${nameOf(request)}: ${request.failure()?.errorText}`));
  page.on('requestfinished', async (request) => {
    const response = await request.response().catch(() => null);
    note(`← ${nameOf(request)}: ${response?.status()}`);
  });
  page.on('framenavigated', (frame) => note(`at ${frame.url()}`));
  page.on('console', (message) => note(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (err) => note(String(err)));
  const print = async () => {
    const shown = await page.locator('body').ariaSnapshot({ timeout: 5_000 }).catch(String);
    process.stderr.write(`${[...lines, page.url(), shown.slice(0, charactersMax)].join('\n')}\n`);
  };
  return { print };
}
