import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { useConsole } from '../support/browser/console.ts';
import { api, createSource, execute } from '../support/hub.ts';

const areas = ['sales', 'stock', 'billing', 'people', 'web', 'audit', 'mail', 'fleet'];
const things = ['orders', 'items', 'events', 'accounts', 'sessions'];
const tables = Array.from({ length: 20_000 }, (_, n) => ({
  schema: 'public',
  name: `${areas[n % areas.length]}_${things[n % things.length]}_${n}`,
  kind: 'table',
  columns: ['id', 'created_at'].map((name) => ({ name, type: 'bigint', nullable: false })),
  primaryKey: [],
  foreignKeys: [],
}));
const words = [
  'sales_orders_1200',
  'web_',
  'items_33',
  'fleet_accounts_7',
  'audit_events_1',
  'stock_items_9',
];

/** Runs in the page: notes the time from a key to the popup whose first name contains the typed text. */
const watchPopup = `(() => {
  globalThis.popups = [];
  const root = document.querySelector('.editor-host').shadowRoot;
  let typedAt;
  root.addEventListener('beforeinput', () => { typedAt = performance.now(); }, true);
  new MutationObserver(() => {
    const word = /\\w*$/.exec(root.querySelector('.cm-activeLine').textContent)[0];
    const first = root.querySelector('.cm-tooltip-autocomplete li')?.textContent ?? '';
    if (typedAt === undefined || !first.includes(word)) return;
    popups.push(performance.now() - typedAt);
    typedAt = undefined;
  }).observe(root, { childList: true, subtree: true, characterData: true });
})()`;

describe.skipIf(executablePath === undefined)('completion in the console (needs Chromium)', () => {
  const { shared, goTo } = useConsole();

  it('completes joins, formats, finds, shows rows of a table, and remembers its panes', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const name = `zz_lines_${process.pid}`;
    const columns = 'id INT PRIMARY KEY, sale_id INT, FOREIGN KEY (sale_id) REFERENCES sales (id)';
    const change = (command: string, query: string) => execute({ hubId, sourceId, command, query });
    await change('CREATE', `CREATE TABLE ${name} (${columns})`);
    try {
      await change('INSERT', `INSERT INTO ${name} VALUES (41, NULL)`);
      const body = { hubId, sourceId, label: 'lines', query: 'select id from sales where id = :id' };
      const { config } = await api.ok(api.post('/v1/queries', body));
      const described = page.waitForResponse(/\/schema$/);
      await goTo('query', config.query.queryId);
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      await described;
      await page.getByRole('button', { name: 'Format' }).click();
      await page.locator('.cm-line', { hasText: 'SELECT' }).waitFor();
      await page.locator('.cm-variable', { hasText: ':id' }).waitFor();
      await page.locator('.cm-content').click();
      await page.keyboard.press('Control+f');
      await page.locator('.cm-search').waitFor();
      await page.keyboard.type('sales');
      await page.locator('.cm-searchMatch').first().waitFor();
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+a');
      await page.keyboard.type('SELECT * FROM sales s JOIN z');
      const join = `${name} zl ON zl.sale_id = s.id`;
      await page.locator('.cm-tooltip-autocomplete li', { hasText: join }).waitFor();
      await page.keyboard.press('Tab');
      await page.locator('.cm-line', { hasText: join }).waitFor();

      await page.getByRole('button', { name: 'Tables', exact: true }).click();
      await page.getByLabel('Search tables and columns').fill(name);
      await page.getByText('primary key').first().waitFor({ state: 'attached' });
      await page.getByRole('button', { name: 'references sales.id' }).waitFor();
      await page.getByRole('button', { name: 'Show ten rows' }).click();
      await page.locator('.preview .grid-cell', { hasText: '41' }).waitFor();
      const height = () =>
        page.locator('.statement-area').evaluate((area) => (area as any).offsetHeight as number);
      const before = await height();
      await page.getByLabel('Height of the statement').focus();
      await page.keyboard.press('ArrowDown');
      await expect.poll(height).toBe(before + 24);
      await page.reload();
      await page.locator('.tables-pane').waitFor();
      await expect.poll(height).toBe(before + 24);
      await page.getByRole('button', { name: 'Tables', exact: true }).click();
    } finally {
      await change('DROP', `DROP TABLE ${name}`);
    }
  });

  it('keeps up with typing in a schema with 20,000 tables, and finds each of them', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const body = { hubId, sourceId, label: 'many tables', query: 'SELECT 1 AS one' };
    const { config } = await api.ok(api.post('/v1/queries', body));
    // A database would take half a minute to create the tables.
    await page.route('**/v1/sources/*/schema', (route) => route.fulfill({ json: { tables } }));
    await goTo('query', config.query.queryId);
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.evaluate(watchPopup);
    const times: number[] = [];
    for (const word of words) {
      await page.keyboard.press('Control+a');
      await page.keyboard.type('SELECT * FROM ');
      for (const [i, character] of [...word].entries()) {
        await page.keyboard.type(character);
        await expect.poll(() => page.evaluate('popups.length')).toBeGreaterThan(i);
      }
      await page.locator('.cm-tooltip-autocomplete li', { hasText: word }).first().waitFor();
      times.push(...((await page.evaluate('popups.splice(0)')) as number[]));
      await page.keyboard.press('Escape');
    }
    for (const [first, ...others] of words) {
      await page.keyboard.press('Control+a');
      await page.keyboard.type(`SELECT * FROM ${first}`);
      await page.locator('.cm-tooltip-autocomplete li').first().waitFor();
      // Faster than the popup: Tab must wait for it, and not leave the editor.
      await page.keyboard.type(others.join(''));
      await page.keyboard.press('Tab');
      await page.locator('.cm-tooltip-autocomplete').waitFor({ state: 'detached' });
      await page.keyboard.type(' AS found');
      await page.locator('.cm-line', { hasText: /FROM \w+_\w+_\d+ AS found$/ }).waitFor();
      await page.keyboard.press('Escape');
    }
    times.sort((a, b) => a - b);
    const [p50, p95] = [0.5, 0.95].map((share) => times[Math.floor(times.length * share)]?.toFixed());
    console.log(`popup after a key: p50 ${p50} ms, p95 ${p95} ms`);
  });
});
