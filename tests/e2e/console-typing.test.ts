import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { holdAnswers, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

/** Texts that editors like to complete, to pair or to indent. */
const snippets = [
  'SELECT id AS rev\nFROM sales',
  'SELECT note rev\nFROM sales s',
  'SELECT s.id\nFROM sales s',
  'SELECT s.reg\nFROM sales AS s',
  'SELECT 1 AS sal\n, 2 AS no',
  'SELECT region r\nFROM sales',
  'SELECT id i\nFROM sales\nORDER BY i',
  'SELECT sum(id) AS su\nFROM sales',
  'SELECT a\n  , b\nFROM t',
  'SELECT\n  id,\n  note\nFROM sales',
  'WITH s AS (\n  SELECT 1\n)\nSELECT 2',
  'WITH a AS (SELECT 1), b AS (SELECT 2)\nSELECT 3',
  'WITH re AS (\n  SELECT id\n  FROM sales)\nTABLE re',
  'SELECT (1 + (2 * 3))\nAS su',
  'SELECT count(*)\nFROM (SELECT 1) x',
  'SELECT [1]\n{ 2 }',
  "SELECT 'it''s'\nAS t",
  "SELECT 'a' || 'b'\nFROM sales",
  'SELECT "no te"\nFROM sales',
  "SELECT '('\nAS par",
  "SELECT '''quoted'''\n",
  "SELECT ':no'\nAS se",
  'SELECT `id`\nFROM `sales`',
  "-- it's 'one\nSELECT 1",
  '-- (open\nSELECT 1',
  '/* se\n "x */ SELECT 1',
  'SELECT $$it is$$\nAS d',
  "SELECT E'\\\\n'\nAS e",
  'SELECT 1 -- se\n-- fr\n',
  'SELECT :reg\nAS re',
  'SELECT id FROM sales WHERE region = :region\n',
  'SELECT 1::int\nAS in',
  'SELECT 1\n\n\nFROM sales',
  '\nSELECT 1',
  'select id\nfrom sales\nwhere id in (1, 2)',
  'SELECT CASE WHEN 1 = 1 THEN 2\nEND en',
  'INSERT INTO sales (id)\nVALUES (1)\nRETURNING re',
  'UPDATE sales SET note = no\nWHERE id = 1',
  'SELECT id FROM sales s JOIN sales t\nON s.id = t.id',
  'SELECT "a""b" AS c\nLIMIT 1',
];
/** Texts with a completion before a line break, a pair and an indent: what comes late depends on the speed of the keys. */
const atAnySpeed = [0, 5, 10, 16].map((i) => snippets[i] ?? '');

/** The text of an editor: the element of a line shows no line break. */
const textOf = (page: Page) =>
  page.locator('.cm-line').evaluateAll((lines) => lines.map((line) => line.textContent).join('\n'));

describe.skipIf(executablePath === undefined)('typing in the console (needs Chromium)', () => {
  const { shared, goTo } = useConsole();

  async function prepare(query = 'SELECT 1 AS one'): Promise<void> {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'typed', query }));
    await goTo('query', config.query.queryId);
    await page.locator('.code').waitFor();
  }

  it('writes 40 snippets as they are typed, also slowly', async () => {
    await prepare();
    const { page } = shared;
    const address = page.url();
    const typeAll = async (texts: string[], type: (tab: Page, text: string) => Promise<unknown>) => {
      const tab = await page.context().newPage();
      await tab.goto(address);
      await tab.locator('.code').click();
      await tab.locator('.editor[data-state=open]').waitFor();
      for (const text of texts) {
        await tab.keyboard.press('Control+a');
        await tab.keyboard.press('Delete');
        await type(tab, text);
        expect(await textOf(tab)).toBe(text);
      }
      await tab.close();
    };
    expect(snippets).toHaveLength(40);
    await Promise.all([
      // No key waits until the page has handled the one before.
      typeAll(snippets, ({ keyboard }, text) => Promise.all([...text].map((key) => keyboard.type(key)))),
      ...[30, 120].map((delay) =>
        typeAll(atAnySpeed, ({ keyboard }, text) => keyboard.type(text, { delay })),
      ),
    ]);
  });

  it('takes a completion by Tab in the moment it appears', async () => {
    await prepare();
    const { page } = shared;
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    // Runs in the page: presses Tab in the frame in which the popup opens.
    await page.evaluate(`(() => {
      const root = document.querySelector('.editor-host').shadowRoot;
      new MutationObserver((_, observer) => {
        if (root.querySelector('.cm-tooltip-autocomplete li[aria-selected]')?.textContent.includes('sales') !== true) return;
        observer.disconnect();
        const tab = new KeyboardEvent('keydown', { key: 'Tab', keyCode: 9, bubbles: true, cancelable: true });
        root.querySelector('.cm-content').dispatchEvent(tab);
      }).observe(root, { childList: true, subtree: true });
    })()`);
    await page.keyboard.type('TABLE s');
    await expect.poll(() => textOf(page)).toBe('TABLE sales');
  });

  it('takes a completion by Tab, and by Enter after an arrow', async () => {
    await prepare();
    const { page } = shared;
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    const popup = async (text: string) => {
      await page.keyboard.press('Control+a');
      await page.keyboard.type(text);
      await page.locator('.cm-tooltip-autocomplete li', { hasText: 'sales' }).waitFor();
    };
    await popup('TABLE sal');
    await page.keyboard.press('Enter');
    expect(await textOf(page)).toBe('TABLE sal\n');
    await popup('TABLE sal');
    await page.keyboard.press('Tab');
    expect(await textOf(page)).toBe('TABLE sales');
    await popup('TABLE sal');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    expect(await textOf(page)).toBe('TABLE sales');
  });

  it('keeps working if the list of completions has the focus while it is replaced', async () => {
    await prepare();
    const { page } = shared;
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('SELECT c');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'count' }).first().waitFor();
    // Runs in the page: the next letter comes while the list has the focus, as a late answer of the source does.
    const hadFocus = await page.evaluate(`(() => {
      const root = document.querySelector('.editor-host').shadowRoot;
      const list = root.querySelector('.cm-tooltip-autocomplete ul');
      list.focus();
      const options = { data: 'o', inputType: 'insertText', bubbles: true, cancelable: true, composed: true };
      const hadFocus = root.activeElement === list;
      root.querySelector('.cm-content').dispatchEvent(new InputEvent('beforeinput', options));
      return hadFocus;
    })()`);
    expect(hadFocus).toBe(true);
    await page.locator('.cm-content:focus').waitFor();
    await page.keyboard.type('unt');
    await expect.poll(() => textOf(page)).toBe('SELECT count');
  });

  it('loses no key while the editor loads', async () => {
    await prepare('SELECT 0');
    const { page } = shared;
    let load: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      load = resolve;
    });
    await page.route('**/console/editor.js', async (route) => {
      await asked;
      await route.continue();
    });
    // The browser may have the code already.
    await page.reload();
    await page.locator('.code').click();
    await page.keyboard.type('SELECT 1 AS on');
    load();
    await page.keyboard.type('e,\n  2 AS two FROM sales -- more', { delay: 20 });
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.type(' keys');
    expect(await textOf(page)).toBe('SELECT 1 AS one,\n  2 AS two FROM sales -- more keysSELECT 0');
    await page.unroute('**/console/editor.js');
  });

  it('keeps what is typed while a new query is checked and stored', async () => {
    await prepare();
    const { page } = shared;
    await goTo('new-query');
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('SELECT 1 AS one');
    const release = await holdAnswers(page, '**/v1/queries/check');
    await page.getByRole('button', { name: 'Create query' }).click();
    await page.locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type(', 2 AS two');
    release();
    await page.getByText('Draft · not published').waitFor();
    await page.locator('.code', { hasText: 'SELECT 1 AS one, 2 AS two' }).waitFor();
    await page.unroute('**/v1/queries/check');
  });

  it.each(["SELECT 'a\r\nb' AS c\r\n", "SELECT 'a\r\nb\rc\nd' AS e"])(
    'keeps the line breaks of a text, which literals have: %j',
    async (text) => {
      await prepare(text);
      const { page } = shared;
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      const checking = page.waitForRequest('**/v1/queries/check');
      await page.keyboard.press('Control+End');
      await page.keyboard.type(' -- x');
      expect((await checking).postDataJSON().query).toBe(`${text} -- x`);
    },
  );
});
