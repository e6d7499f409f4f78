import { readFile } from 'node:fs/promises';
import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { findChromium } from '../../tools/databases/chromium.ts';
import { api, createSource, database, engines } from '../support/hub.ts';

const executablePath = await findChromium({ say: (line) => console.log(line) });
const engine = engines[0] as string;
const isPostgres = engine === 'postgres';
/** Runs in a page that takes a text for markup. */
const hostile = '<img src=x onerror=globalThis.taken=1>';
const quoted = isPostgres ? `"${hostile}"` : `\`${hostile}\``;
const queries = {
  rows: `SELECT region, note, '' AS nothing, 12345678901234567890 AS digits, 10.50 AS price,\n  '${hostile}' AS ${quoted}\nFROM sales WHERE region = :region`,
  typed: 'SELECT :big AS big, :kind AS kind FROM sales WHERE id IN (:ids) AND :flag = :flag',
  wrong: 'SELECT id\nFROM no_such_table',
  slow: isPostgres ? 'SELECT pg_sleep(20)' : 'SELECT SLEEP(20)',
  many: `SELECT a.n * 100 + b.n AS n FROM (${tenfold('a')}) a CROSS JOIN (${tenfold('b')}) b`,
};

const contexts: Record<string, object[]> = {
  rows: [{ key: 'region', type: 'string', description: hostile }],
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

describe.skipIf(executablePath === undefined)('the page at / (needs Chromium: set CHROMIUM_PATH)', () => {
  let browser: Browser;
  let tab: Page;
  let [hubId, sourceId, key] = ['', '', ''];
  const ids: Record<string, string> = {};
  /** What the browser complains of, but for answers that are problems. */
  const complaints: string[] = [];

  const makeKey = async (scopes: string[], limits: object): Promise<string> =>
    (await api.ok(api.post('/v1/keys', { name: 'console', scopes, limits }))).key;

  beforeAll(async () => {
    ({ hubId } = await api.ok(api.post('/v1/hubs', { label: `hub ${hostile}` })));
    sourceId = await createSource(hubId);
    const { nodeId } = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: `folder ${hostile}` }));
    for (const [name, query] of Object.entries(queries)) {
      const context = contexts[name] ?? [];
      const body = { hubId, sourceId, label: `${name} ${hostile}`, query, context, parentNodeId: nodeId };
      ids[name] = (await api.ok(api.post('/v1/queries', body))).config.query.queryId;
    }
    key = await makeKey(['*'], { hubIds: [hubId] });
    browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
  }, 60_000);
  afterAll(() => browser?.close());

  beforeEach(async () => {
    complaints.length = 0;
    tab = await browser.newPage();
    tab.on('pageerror', (err) => complaints.push(String(err)));
    tab.on('console', (message) => {
      if (!message.text().startsWith('Failed to load resource')) complaints.push(message.text());
    });
    const response = await tab.goto(inject('hub').url);
    expect(response?.status()).toBe(200);
  });
  afterEach(async () => {
    expect(complaints).toEqual([]);
    expect(await tab.evaluate('globalThis.taken')).toBeUndefined();
    expect(await tab.locator('img').count()).toBe(0);
    await tab.close();
  });

  const giveKey = async (text: string) => {
    await tab.getByLabel('Key', { exact: true }).fill(text);
    await tab.keyboard.press('Enter');
  };
  const choose = (name: string) => tab.getByRole('button', { name: `${name} ${hostile}` }).click();
  const run = () => tab.getByRole('button', { name: 'Run', exact: true }).click();
  const state = (text: string | RegExp) => tab.locator('#run-state').filter({ hasText: text }).waitFor();

  it('says that the hub is ready', async () => {
    await tab.locator('#ready', { hasText: 'is ready' }).waitFor();
    expect(await tab.locator('#work').isVisible()).toBe(false);
  });

  it.each([
    [200, '{"status":"ready","missing":["ml"]}', 'is ready, without ml'],
    [503, '{"status":"not ready","missing":["catalog","ml"]}', 'is not ready: it waits for catalog, ml'],
    [502, '<html>', 'does not answer: does it run?'],
  ])('says what is missing: %i %s', async (status, body, words) => {
    await tab.route('**/readyz', (route) => route.fulfill({ status, body }));
    await tab.reload();
    await tab.locator('#ready', { hasText: words }).waitFor();
  });

  it('shows rows as they are stored', async () => {
    await giveKey(key);
    await choose('rows');
    expect(await tab.locator('#detail h2').textContent()).toBe(`rows ${hostile}`);
    expect(await tab.locator('#detail .sql').textContent()).toBe(`${queries.rows}\n`);
    const region = tab.getByLabel('region');
    await region.fill("o'hara");
    await region.press('Enter');
    await state('1 row:');
    const heads = (await tab.locator('#rows th').allTextContents()).map((head) => head.split(/(?<=>)/)[0]);
    expect(heads.at(-1)).toBe(hostile);
    const values = ["o'hara", 'quote', 'empty text', '12345678901234567890', '10.50', hostile];
    expect(await tab.locator('#rows td').allTextContents()).toEqual(values);
    await region.fill('north');
    await run();
    await tab.locator('#rows td', { hasText: 'north' }).waitFor();
    expect(await tab.locator('#rows td em').allTextContents()).toEqual(['null', 'empty text']);
  });

  it('sends what is typed as its type, digit by digit', async () => {
    await giveKey(key);
    await choose('typed');
    await tab.getByLabel('big', { exact: true }).fill('12345678901234567890.10');
    await tab.getByLabel('flag', { exact: true }).selectOption('true');
    await tab.getByLabel('ids', { exact: true }).fill('[1, 2');
    await run();
    expect(await tab.locator('#run-state').textContent()).toBe('');
    await tab.getByLabel('ids', { exact: true }).fill('[1, 2]');
    const line = await tab.locator('#detail .curl').textContent();
    expect(line).toContain('"context":{"big":12345678901234567890.10,"ids":[1, 2],"flag":true}');
    await run();
    await state('2 rows:');
    const cells = await tab.locator('#rows td').allTextContents();
    expect(cells).toEqual(['12345678901234567890.10', '1', '12345678901234567890.10', '1']);
    expect(await tab.locator('#variable-big-hint').textContent()).toBe('decimal · required · no default');
    expect(await tab.locator('#variable-kind-hint').textContent()).toBe('integer · default 1');
  });

  it('gives the line that does the same, without the key', async () => {
    await giveKey(key);
    await choose('rows');
    await tab.getByLabel('region').fill("o'hara");
    expect(await tab.locator('#detail .curl').textContent()).toBe(
      `curl -s '${inject('hub').url}/v1/queries/execute' \\\n  -H "x-service-api-key: $KEY" \\\n  -H 'content-type: application/json' \\\n  -d '{"queryId":"${ids.rows}","context":{"region":"o'\\''hara"}}'`,
    );
  });

  it('holds the key in memory alone', async () => {
    await giveKey(key);
    await choose('rows');
    await tab.locator('#detail h2').waitFor();
    const kept =
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])';
    expect(await tab.evaluate(kept)).not.toContain(key);
    expect(await tab.content()).not.toContain(key);
    expect(await tab.inputValue('#key')).toBe('');
    expect(await tab.context().cookies()).toEqual([]);
    await tab.reload();
    expect(await tab.locator('#work').isVisible()).toBe(false);
  });

  it('words a problem, and marks its place', async () => {
    await giveKey(key);
    await choose('wrong');
    await run();
    await state('Failed after');
    const words = await tab.locator('#rows .problem').innerText();
    expect(words).toContain('SQL_REJECTED (422)');
    expect(words.match(/The database refuses the statement/g)).toHaveLength(1);
    expect(words).toMatch(/at the stage: (prepare|execute)/);
    expect(words).toMatch(/request [0-9a-f]{32}/);
    if (isPostgres) {
      expect(words).toContain('line 2, column 6');
      expect(await tab.locator('.sql mark').textContent()).toBe('no_such_table');
    }
    await choose('rows');
    await run();
    expect(await tab.locator('#rows .problem').innerText()).toContain('region');
  });

  it('cancels', async () => {
    await giveKey(key);
    await choose('slow');
    await run();
    expect(await tab.locator('progress').isVisible()).toBe(true);
    await tab.getByRole('button', { name: 'Cancel' }).click();
    await state('Cancelled after');
    expect(await tab.locator('progress').isVisible()).toBe(false);
  });

  it('shows the first rows, and hands all over as a file', async () => {
    await giveKey(key);
    await choose('many');
    await run();
    await state('The first 500 rows; there are more');
    expect(await tab.locator('#rows tbody tr').count()).toBe(500);
    const [download] = await Promise.all([
      tab.waitForEvent('download'),
      tab.getByRole('button', { name: 'Run into a CSV file' }).click(),
    ]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split(/\r?\n/);
    expect([lines[0], lines.length]).toEqual(['n', 10_001]);
  });

  it('narrows the tree by label, and says when nothing is left', async () => {
    await giveKey(key);
    const leaves = tab.locator('#tree button.query');
    await leaves.first().waitFor();
    expect(await leaves.count()).toBe(Object.keys(queries).length);
    await tab.getByLabel('Filter').fill('WRO');
    expect(await leaves.allTextContents()).toEqual([`wrong ${hostile}`]);
    await tab.getByLabel('Filter').fill('none of them');
    await tab.locator('#tree', { hasText: 'shorten the filter' }).waitFor();
  });

  it('shows a source without its secrets, and tests it', async () => {
    await giveKey(key);
    await tab.getByRole('button', { name: `a ${engine} source` }).click();
    await tab.getByRole('button', { name: 'Test the connection' }).click();
    await tab.locator('#detail', { hasText: 'It answers after' }).waitFor();
    const text = await tab.locator('#detail').innerText();
    expect(text).toContain('********');
    expect(text).not.toContain(database(engine).password);
  });

  it('asks a classifier, and summarises', async () => {
    const { id } = await api.ok(api.post('/v1/classifiers', { name: `mail ${hostile}` }));
    const examples = ['late', 'refund'].map((label) => ({
      label: `${label} ${hostile}`,
      context: `it is ${label}`,
    }));
    await api.ok(api.post(`/v1/classifiers/${id}/train`, { examples }));
    await giveKey(await makeKey(['*'], {}));
    await tab.selectOption('#classifier', id);
    await tab.locator('#text').fill('so late');
    await tab.getByRole('button', { name: 'Predict its label' }).click();
    await tab.locator('meter').first().waitFor();
    expect(await tab.locator('#text-answer dt').first().textContent()).toBe(`late ${hostile}`);
    await tab.getByRole('button', { name: 'Summarise it' }).click();
    await tab.locator('#text-answer', { hasText: 'so late' }).waitFor();
  });

  it('helps a key that may only execute', async () => {
    await giveKey(await makeKey(['queries:execute'], { queryIds: [ids.rows] }));
    await tab.locator('#tree', { hasText: 'SCOPE_DENIED' }).waitFor();
    await tab.getByLabel('Query by its id').fill(ids.rows as string);
    await tab.keyboard.press('Enter');
    await tab.getByLabel('Variables, as a JSON object').fill('{"region": "south"}');
    await run();
    await state('1 row:');
    expect(await tab.locator('#rows td').first().textContent()).toBe('south');
  });

  it('says that a key is refused, and shows nothing', async () => {
    await giveKey('dhk_not-a-key-at-all');
    await tab.locator('#key-problem', { hasText: 'KEY_INVALID (401)' }).waitFor();
    expect(await tab.locator('#work').isVisible()).toBe(false);
  });

  it('says what to do where there is nothing', async () => {
    const { hubId: empty } = await api.ok(api.post('/v1/hubs', { label: 'empty' }));
    await giveKey(await makeKey(['*'], { hubIds: [empty] }));
    await tab.locator('#tree', { hasText: 'There are no sources yet. Make one' }).waitFor();
    await api.ok(api.delete(`/v1/hubs/${empty}`));
    await tab.getByRole('button', { name: 'Look again' }).click();
    await tab.locator('#tree', { hasText: 'There are no hubs yet. Make one' }).waitFor();
  });

  it('lists every route', async () => {
    await tab.getByText('All routes of the API').click();
    await tab.locator('#route-list td', { hasText: '/v1/queries/execute' }).waitFor();
    const { paths } = (await api.get('/openapi.json')).body;
    const count = Object.values(paths).flatMap((methods) => Object.keys(methods as object)).length;
    expect(await tab.locator('#route-list tbody tr').count()).toBe(count);
  });
});
