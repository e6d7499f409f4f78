import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import type { Locator } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { bothEngines, cells, ended, fillSource, useConsole } from '../support/browser/console.ts';
import { api, createSource, database, engines } from '../support/hub.ts';

const sqlEngines = engines.filter((one) => ['postgres', 'mysql', 'mariadb'].includes(one));
const unique = () => randomBytes(4).toString('hex');

/** Runs in the page: the width and height of each bar in the colour of the first series. */
const barsOnCanvas = `(() => {
  const canvas = document.querySelector('.chart canvas');
  if (canvas === null || canvas.width === 0) return [];
  const copy = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height });
  const context = copy.getContext('2d', { willReadFrequently: true });
  context.drawImage(canvas, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const isBar = (x, y) => {
    const at = (y * canvas.width + x) * 4;
    return data[at] < 40 && data[at + 1] > 100 && data[at + 1] < 135 && data[at + 2] > 90 && data[at + 2] < 125;
  };
  const heights = Array.from({ length: canvas.width }, (_, x) => {
    let height = 0;
    for (let y = 0; y < canvas.height; y++) if (isBar(x, y)) height++;
    return height;
  });
  const bars = [];
  for (const [x, height] of heights.entries()) {
    if (height < 8) continue;
    if ((heights[x - 1] ?? 0) < 8) bars.push({ width: 0, height: 0 });
    const bar = bars.at(-1);
    bar.width++;
    bar.height = Math.max(bar.height, height);
  }
  return bars;
})()`;

describe.skipIf(executablePath === undefined)('queries in the console (needs Chromium)', () => {
  const { shared, goTo, button, publish } = useConsole();

  /** Tests and saves a source until this is shown. A busy server may not answer in the time that the hub gives it. */
  const saveSource = (wanted: Locator) => {
    const unanswered = shared.page.locator('.problem', { hasText: 'SOURCE_UNREACHABLE' });
    const save = async () => {
      await button('Test and save').click();
      await wanted.or(unanswered).first().waitFor();
      return wanted.isVisible();
    };
    return expect.poll(save).toBe(true);
  };

  it.each(sqlEngines)('leads from a new hub to a snippet, on %s', async (engine) => {
    const { page } = shared;
    const label = `shop ${unique()}`;
    await page.evaluate("location.hash = '#/hubs'");
    await button('New hub').click();
    await page.getByLabel('Name', { exact: true }).fill(label);
    await button('Create hub').click();
    await page.getByRole('link', { name: 'Connect a source' }).click();
    await fillSource(page, engine);
    await page.getByLabel('Password').fill('not the password');
    await saveSource(page.locator('.problem', { hasText: 'SOURCE_AUTH' }));
    await page.getByLabel('Password').fill(database(engine).password);
    await saveSource(page.locator('h1', { hasText: `a ${engine} source` }));
    // A source that failed its test was deleted.
    await expect
      .poll(() => page.getByRole('tree', { name: 'Sources' }).getByRole('treeitem').count())
      .toBe(1);
    await page.getByLabel('Search tables and columns').fill('sales');
    // If only one table is found, it is already open.
    const link = page.getByRole('link', { name: 'Query this table' });
    const open = 'document.querySelector("details.table").open = true';
    await expect
      .poll(async () => (await page.evaluate(open)) && link.count(), { timeout: 60_000 })
      .toBeGreaterThan(0);
    await page.getByRole('link', { name: 'Query this table' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('By region');
    await page.locator('.code').click();
    await page.locator('.editor[data-state=open]').waitFor();
    await page.keyboard.press('Control+a');
    await page.keyboard.type('SELECT region, note FROM sales WHERE region = :region');
    await button('Create query').click();
    await page.locator('h1', { hasText: 'By region' }).waitFor();
    await page.getByLabel('region', { exact: true }).fill('south');
    await button(/^Run/).click();
    await ended(page, 'done');
    expect((await cells(page))[0]?.[0]).toBe('south');
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.getByRole('tab', { name: 'Python' }).click();
    await page.locator('.copy-block pre', { hasText: '{\\"region\\":\\"south\\"}' }).waitFor();
  });

  /** Waits for a column of the contract. A busy source may not describe the query in the time that the hub gives it. */
  const describedAs = async (name: string) => {
    const column = shared.page.locator('.facts td', { hasText: name }).first();
    const again = button('Ask it again');
    const ask = async () => {
      await column.or(again).first().waitFor();
      // It leaves if an earlier question is answered meanwhile.
      if (await again.isVisible()) await again.click({ timeout: 5_000 }).catch(() => undefined);
      return column.isVisible();
    };
    await expect.poll(ask, { timeout: 60_000 }).toBe(true);
  };

  it('asks a source again that did not describe the query', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const body = { hubId, sourceId, label: 'undescribed', query: 'SELECT note FROM sales' };
    const { config } = await api.ok(api.post('/v1/queries', body));
    await page.route('**/v1/queries/*?signature=1', (route) => route.fulfill({ status: 503, body: '{}' }));
    await goTo('query', config.query.queryId, 'contract');
    await button('Ask it again').waitFor();
    await page.unroute('**/v1/queries/*?signature=1');
    await describedAs('note');
  });

  it.each(bothEngines)(
    'completes tables and columns, runs the draft, and publishes it, on %s',
    async (engine) => {
      const { page, hubId } = shared;
      const sourceId = await createSource(hubId, engine);
      const body = { hubId, sourceId, label: `edited ${unique()}`, query: 'SELECT 1 AS one' };
      const { config } = await api.ok(api.post('/v1/queries', body));
      await goTo('query', config.query.queryId);
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      await page.keyboard.press('Control+a');
      await page.keyboard.type('SELECT note FROM sal');
      await page.locator('.cm-tooltip-autocomplete li', { hasText: 'sales' }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type(' WHERE reg');
      await page.locator('.cm-tooltip-autocomplete li', { hasText: 'region' }).waitFor();
      await page.keyboard.press('Tab');
      await page.keyboard.type(' = :region');
      await button(/^Run draft/).waitFor();
      await page.getByLabel('region', { exact: true }).fill('south');
      await page.keyboard.press('Control+Enter');
      await ended(page, 'done');
      await page.locator('.figures', { hasText: 'of the draft' }).waitFor();
      const stored = async () => (await api.get(`/v1/queries/${config.query.queryId}`)).body.config;
      expect((await stored()).query.query).toBe('SELECT 1 AS one');
      await button('Declare region').click();
      await page.getByLabel('Type').selectOption('string');
      await page.getByLabel('Default').fill('north');
      await button('Apply').click();
      await publish('Publish although one goes');
      const { query, context } = await stored();
      expect(query.query).toBe('SELECT note FROM sales WHERE region = :region');
      expect(context).toEqual([{ key: 'region', type: 'string', value: 'north' }]);
      await page.getByRole('tab', { name: 'Runs' }).click();
      await page.getByRole('button', { name: 'Use these values' }).first().waitFor();
      await page.getByRole('tab', { name: 'Contract' }).click();
      await describedAs('note');
    },
  );

  it.each(bothEngines)(
    'marks faults while typing, and which callers a change breaks, on %s',
    async (engine) => {
      const { page, hubId } = shared;
      const sourceId = await createSource(hubId, engine);
      const query = 'SELECT id, region FROM sales';
      const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'typed', query }));
      await goTo('query', config.query.queryId);
      await page.locator('.code').click();
      await page.locator('.editor[data-state=open]').waitFor();
      const write = async (text: string) => {
        await page.keyboard.press('Control+a');
        await page.keyboard.type(text);
        await page.keyboard.press('Escape');
      };
      await write('SELECT id, no_such_column FROM sales');
      await page.locator('.cm-lintRange-error', { hasText: 'no_such_column' }).waitFor();
      await write('SELECT region FROM sales');
      await page.getByText('Publishing can break callers: the column id is removed.').waitFor();
      expect(await page.locator('.cm-lintRange-error').count()).toBe(0);
      await button('Discard changes').click();
      await page.getByText('Publishing can break callers').waitFor({ state: 'detached' });
      await page.getByRole('tab', { name: 'Contract' }).click();
      await page.getByLabel('Command').selectOption('DELETE');
      await page.getByRole('tab', { name: 'Query', exact: true }).click();
      await page.getByText('Publishing can break callers: calls over GET fail').waitFor();
      await button('Discard changes').click();
      await page.getByText('Publishing can break callers').waitFor({ state: 'detached' });
      const stored = (await api.get(`/v1/queries/${config.query.queryId}`)).body.config.query.query;
      expect(stored).toBe(query);
    },
  );

  it.each(bothEngines)('caches results, and can run a query without the cache, on %s', async (engine) => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId, engine);
    const query = 'SELECT region FROM sales';
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'kept', query }));
    const { queryId } = config.query;
    await goTo('query', queryId, 'contract');
    await page.getByLabel('Cache results for, seconds').fill('600');
    await page.getByLabel('Columns that are never null').fill('region');
    await page.keyboard.press('Enter');
    await publish();
    expect((await api.get(`/v1/queries/${queryId}`)).body.config).toMatchObject({
      cache: { maxAgeS: 600 },
      notNull: ['region'],
    });
    await page.getByRole('tab', { name: 'Query', exact: true }).click();
    await button(/^Run/).click();
    await ended(page, 'done');
    await button(/^Run/).click();
    await page.locator('.figures', { hasText: 'from the cache' }).waitFor();
    await button('Run without the cache').click();
    await page.locator('.figures', { hasText: 'from the cache' }).waitFor({ state: 'detached' });
    await ended(page, 'done');
  });

  it('keeps the statement that validates a result when the times of the cache change', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const validate = 'SELECT max(id) FROM sales';
    const query = 'SELECT region FROM sales';
    const cache = { maxAgeS: 60, validate };
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'kept', query, cache }));
    const { queryId } = stored.config.query;
    const cacheAfterPublishing = async () => {
      await publish();
      return (await api.get(`/v1/queries/${queryId}`)).body.config.cache;
    };
    await goTo('query', queryId, 'contract');
    const age = page.getByLabel('Cache results for, seconds');
    await age.waitFor();
    expect(await page.getByLabel('Check for changes with').inputValue()).toBe(validate);
    // As a person types it: the field is empty for a moment.
    await age.fill('');
    await age.fill('120');
    await page.getByLabel('Then refresh in the background for, seconds').fill('300');
    expect(await cacheAfterPublishing()).toEqual({ maxAgeS: 120, staleS: 300, validate });
    await page.getByLabel('Check for changes with').fill('SELECT count(*) FROM sales');
    expect(await cacheAfterPublishing()).toEqual({
      maxAgeS: 120,
      staleS: 300,
      validate: 'SELECT count(*) FROM sales',
    });
    await page.getByLabel('Check for changes with').fill('');
    expect(await cacheAfterPublishing()).toEqual({ maxAgeS: 120, staleS: 300 });
    await age.fill('');
    expect(await cacheAfterPublishing()).toBeUndefined();
  });

  it.each(bothEngines)('asks before it writes, and marks a dry run, on %s', async (engine) => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId, engine);
    const query = 'UPDATE sales SET note = note WHERE region = :region';
    const body = { hubId, sourceId, label: `write ${unique()}`, query, command: 'UPDATE' };
    const { config } = await api.ok(api.post('/v1/queries', body));
    await goTo('query', config.query.queryId);
    await page.getByText(/writes: UPDATE/).waitFor();
    await page.getByLabel('region', { exact: true }).fill('south');
    await button(/^Run …/).click();
    await button('Dry run').click();
    await page.getByText('Nothing was changed').waitFor();
    await page.getByText('would be affected.').waitFor();
    await button(/^Run …/).click();
    await button('Run UPDATE').click();
    await page.getByText(/rows? affected\./).waitFor();
    expect(await page.getByText('Nothing was changed').count()).toBe(0);
  });

  it('shows bars that begin at zero and are whole, and JSON', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT 1 AS x, 10 AS y UNION ALL SELECT 2, 30 UNION ALL SELECT 3, 20';
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'chart', query }));
    await goTo('query', config.query.queryId);
    await button(/^Run/).click();
    await ended(page, 'done');
    await button('Chart').click();
    await page.getByLabel('As', { exact: true }).selectOption('bars');
    await page.getByLabel('Across', { exact: true }).selectOption('x');
    await page.locator('.chart canvas').waitFor();
    // The canvas is empty for a moment whenever it is drawn again.
    let bars: { width: number; height: number }[] = [];
    const readBars = async () => {
      bars = await page.evaluate(barsOnCanvas);
      return bars;
    };
    await expect.poll(readBars, { timeout: 60_000 }).toHaveLength(3);
    const [low, high, middle] = bars.map(({ height }) => height) as [number, number, number];
    expect(high / low).toBeCloseTo(3, 0);
    expect(middle / low).toBeCloseTo(2, 0);
    expect(
      Math.max(...bars.map(({ width }) => width)) - Math.min(...bars.map(({ width }) => width)),
    ).toBeLessThan(3);
    await button('JSON').click();
    await page.locator('.json', { hasText: '{"x":1,"y":10}' }).waitFor();
  });

  it('creates folders, and moves queries by pointer and by keyboard', async () => {
    const { page } = shared;
    // A hub of its own, because the pointer must reach the query and the folder without scrolling.
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: `moves ${unique()}` }));
    const sourceId = await createSource(hubId);
    const label = `moved ${unique()}`;
    const { config } = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label, query: 'SELECT 1 AS a' }),
    );
    const folders = [`from ${unique()}`, `to ${unique()}`];
    const parentOf = async () =>
      (await api.get(`/v1/queries/${config.query.queryId}`)).body.meta.parentNodeId;
    await page.evaluate(`location.hash = '#/hub/${hubId}/query/${config.query.queryId}'`);
    for (const folder of folders) {
      await button('Add to Queries').click();
      await page.getByRole('menuitem', { name: 'New folder' }).click();
      await page.getByLabel('Name', { exact: true }).fill(folder);
      await button('Create folder').click();
      await page.getByRole('treeitem', { name: folder }).waitFor();
    }
    const [, target = ''] = folders;
    const before = await parentOf();
    await page.getByRole('treeitem', { name: label }).dragTo(page.getByRole('treeitem', { name: target }));
    await expect.poll(parentOf, { timeout: 60_000 }).not.toBe(before);
    const inTarget = await parentOf();
    await page.getByRole('treeitem', { name: label }).focus();
    await page.keyboard.press('m');
    await page.getByLabel('To', { exact: true }).selectOption({ label: `Queries / ${folders[0]}` });
    await button('Move').click();
    await expect.poll(parentOf, { timeout: 60_000 }).not.toBe(inTarget);
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.getByRole('treeitem', { name: label }).focus();
    await page.keyboard.press('F2');
    await page.getByLabel('Name', { exact: true }).fill(`${label} again`);
    await button('Rename').click();
    await page.getByRole('treeitem', { name: `${label} again` }).waitFor();
  });

  it('shows calls that run unchanged, with the key that it makes, and tries them', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = "SELECT region, note, 10.50 AS price FROM sales WHERE region = :region AND 'x' <> :other";
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'used', query }));
    await goTo('query', config.query.queryId);
    await page.getByLabel('region', { exact: true }).fill("o'hara");
    await page.getByLabel('other', { exact: true }).fill('"$HOME" \\ `id` é');
    await page.getByRole('tab', { name: 'Use it' }).click();
    const textOf = async (name: string) => {
      await page.getByRole('tab', { name, exact: true }).click();
      return (await page.locator('.copy-block pre').textContent()) ?? '';
    };
    const env = { ...process.env, DATAHUB_KEY: shared.key };
    const run = async (program: string, args: string[]) =>
      (await promisify(execFile)(program, args, { env })).stdout;
    const node = [
      process.execPath,
      ['--input-type=module-typescript', '-e', await textOf('TypeScript')],
    ] as const;
    expect(await run('bash', ['-c', await textOf('curl')])).toContain('"price":10.50');
    expect(await run(node[0], [...node[1]])).toContain('price: 10.5');
    const python = await textOf('Python');
    const hasPython = await run('python3', ['--version']).catch(() => undefined);
    if (hasPython !== undefined) expect(await run('python3', ['-c', python])).toContain("Decimal('10.50')");

    const address = await textOf('Link');
    const answer = await fetch(address, { headers: { 'x-service-api-key': shared.key } });
    expect(await answer.text()).toContain('"price":10.50');
    await textOf('curl');
    await button('Make a key …').click();
    await button('Create key').click();
    await page.locator('.copy-block pre', { hasText: 'dhk_' }).waitFor();
    // Without the variable of the environment, the new key is what counts.
    expect(await run('env', ['-u', 'DATAHUB_KEY', 'bash', '-c', await textOf('curl')])).toContain('10.50');
    await button('Try').click();
    await page.locator('.answer-line', { hasText: 'with the new key' }).waitFor();
    expect(await page.locator('.answer-line').innerText()).toContain('200');
    expect(await page.locator('.use-answer pre').innerText()).toContain('"price":10.50');

    await page.getByRole('tab', { name: 'Agent' }).click();
    await page.getByLabel('Name of the tool').fill(`tool_${unique()}`);
    await page.getByLabel('What agents read about it').fill('Returns the notes of a region.');
    await button('Offer it to agents').click();
    await button('Hide it from agents').waitFor();
    await button('Try').click();
    await page.locator('.answer-head', { hasText: '/mcp' }).waitFor();
    expect(await page.locator('.use-answer pre').innerText()).toContain('The following is data.');
  });
});
