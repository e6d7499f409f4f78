/** Opens the console in a real Chromium. */

import { randomBytes } from 'node:crypto';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject } from 'vitest';
import { api, database, engines } from '../hub.ts';
import { sharedBrowser } from './chromium.ts';
import { type Diary, keepDiary } from './diary.ts';

/** PostgreSQL, and MariaDB or MySQL, as far as there are servers. What the console does on these two differs. */
export const bothEngines = ['postgres', engines.find((one) => one !== 'postgres')].filter(
  (one) => one !== undefined && engines.includes(one),
) as string[];

/** Markup that would run if a page inserted this text as markup. */
export const hostile = '<img src=x onerror=globalThis.taken=1>';

export interface Tab {
  page: Page;
  /** The browser's errors and warnings, including violations of the content security policy. */
  complaints: string[];
  /** Requested addresses outside of the hub. */
  strays: string[];
  diary: Diary;
}

export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ colorScheme: 'light', ...options });
  const tab = watch(await context.newPage());
  await tab.page.goto(inject('hub').url);
  return tab;
}

function watch(page: Page): Tab {
  // A step that waits longer fails, and the error names the step.
  page.setDefaultTimeout(60_000);
  const tab: Tab = { page, complaints: [], strays: [], diary: keepDiary(page) };
  page.on('pageerror', (err) => tab.complaints.push(err.stack ?? String(err)));
  page.on('console', (message) => {
    const text = message.text();
    if (['error', 'warning'].includes(message.type()) && !text.startsWith('Failed to load resource'))
      tab.complaints.push(text);
  });
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(inject('hub').url) && !/^(data|blob):/.test(url)) tab.strays.push(url);
  });
  return tab;
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.frame').waitFor();
}

export const makeKey = async (scopes: string[], limits: object): Promise<string> =>
  (await api.ok(api.post('/v1/keys', { name: 'console', scopes, limits }))).key;

export async function createClassifier(examples: object[] = []): Promise<string> {
  const { id } = await api.ok(
    api.post('/v1/classifiers', { name: `mail ${randomBytes(4).toString('hex')}` }),
  );
  if (examples.length > 0) await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
  return id;
}

/** Selects an item in the tree. */
export const choose = (page: Page, label: string) =>
  page.getByRole('treeitem', { name: label }).first().click();

/** Waits until a run has ended with this status. */
export const ended = (page: Page, status: 'done' | 'failed' | 'cancelled') =>
  page.locator(`.figures[data-status=${status}]`).waitFor();

/** Waits until the view that was opened last is drawn, and has nothing left to load. */
export async function drawn(page: Page): Promise<void> {
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  await page.locator('.loading[role=status]').first().waitFor({ state: 'detached' });
}

/** Closes the dialog of a view, if it is one. The address changes once it is closed. */
export async function closeDialog(page: Page): Promise<void> {
  if ((await page.locator('dialog[open]').count()) === 0) return;
  await page.keyboard.press('Escape');
  await page.locator('dialog').waitFor({ state: 'detached' });
}

/** Holds the answers of an address back, until the returned function is called. */
export async function holdAnswers(page: Page, address: string): Promise<() => void> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  await page.route(address, async (route) => {
    await released;
    await route.continue();
  });
  return release;
}

/** How the console names the engines. */
export const engineNames: Record<string, string> = {
  postgres: 'PostgreSQL',
  mysql: 'MySQL',
  mariadb: 'MariaDB',
  mongodb: 'MongoDB',
};

export async function fillSource(page: Page, engine: string): Promise<void> {
  const { host, port, user, password, database: name } = database(engine);
  await page.getByLabel('Name', { exact: true }).fill(`a ${engine} source`);
  await page.getByLabel('Engine').selectOption({ label: engineNames[engine] ?? engine });
  await page.getByLabel('Host').fill(host);
  await page.getByLabel('Port').fill(String(port));
  await page.getByLabel('Database', { exact: true }).fill(name);
  await page.getByLabel('User').fill(user);
  await page.getByLabel('Password').fill(password);
}

/** Returns the visible cells, sorted by row, because the grid reuses its row elements in any order. */
export const cells = (page: Page) =>
  page
    .locator('.grid-row:not([hidden])')
    .evaluateAll((rows) =>
      rows
        .sort((a, b) => Number(a.getAttribute('aria-rowindex')) - Number(b.getAttribute('aria-rowindex')))
        .map((row) => [...row.querySelectorAll('.grid-cell:not([hidden])')].map((cell) => cell.textContent)),
    );

/** Opens a tab without a key for each test. It shares nothing with those before. */
export function useFreshTabs() {
  const shared = { browser: undefined as unknown as Browser, page: undefined as unknown as Page };
  let tab: Tab;
  beforeAll(async () => {
    shared.browser = await sharedBrowser();
  });
  beforeEach(async () => {
    tab = await openTab(shared.browser);
    shared.page = tab.page;
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await tab.diary.print();
    expectQuiet(tab);
    await leave(tab);
    await tab.page.context().close();
  });
  return shared;
}

/** Ends what a test does with the requests of its page. A request that is under way would fail outside of the test. */
const leave = ({ page }: Tab) => page.unrouteAll({ behavior: 'ignoreErrors' });

const expectQuiet = ({ complaints, strays }: Tab) => expect([complaints, strays]).toEqual([[], []]);

/** Runs in the page before its own scripts. If the test signs out, it does not restore the key. */
const keepKey = (key: string) => {
  if (sessionStorage.getItem('test.signed-in') !== null) return;
  sessionStorage.setItem('test.signed-in', '');
  sessionStorage.setItem('datahub.key', key);
};

/**
 * Opens a signed-in tab for each test, with a key for the whole account and a separate hub for the file. The tabs share
 * the browser's caches.
 */
export function useConsole() {
  const shared = { hubId: '', key: '', page: undefined as unknown as Page };
  let context: BrowserContext;
  let tab: Tab;
  beforeAll(async () => {
    shared.hubId = (await api.ok(api.post('/v1/hubs', { label: 'console' }))).hubId;
    shared.key = await makeKey(['*'], {});
    const browser = await sharedBrowser();
    context = await browser.newContext({ colorScheme: 'light', viewport: { width: 1280, height: 900 } });
    await context.addInitScript(keepKey, shared.key);
  });
  afterAll(() => context?.close());
  beforeEach(async () => {
    tab = watch(await context.newPage());
    shared.page = tab.page;
    await tab.page.goto(inject('hub').url);
    await tab.page.locator('.frame').waitFor();
  });
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') await tab.diary.print();
    expectQuiet(tab);
    await leave(tab);
    await tab.page.close();
  });
  const button = (name: string | RegExp) => shared.page.getByRole('button', { name, exact: true });
  return {
    shared,
    button,
    /** Writes a statement as a person does: `fill` selects and inserts in two steps, between which the editor can move. */
    write: async (text: string) => {
      const { page } = shared;
      await page.locator('.code').click();
      await page.locator('.cm-content:focus').waitFor();
      await page.keyboard.press('ControlOrMeta+a');
      await page.keyboard.insertText(text);
      await expect.poll(() => page.locator('.cm-content').innerText()).toBe(text);
    },
    /** Publishes the draft of the page. `agreeTo` is what the person must agree to. */
    publish: async (agreeTo?: string) => {
      await button('Publish …').click();
      if (agreeTo !== undefined) await shared.page.getByLabel(agreeTo, { exact: true }).check();
      await button('Publish').click();
      await shared.page.getByText('not published').waitFor({ state: 'detached' });
    },
    /** Selects an item of the menu that the button opens. */
    act: async (name: string, item: string) => {
      await button(name).click();
      await shared.page.getByRole('menuitem', { name: item }).click();
    },
    goTo: (...to: string[]) =>
      shared.page.evaluate(`location.hash = '#/hub/${[shared.hubId, ...to].join('/')}'`),
  };
}
