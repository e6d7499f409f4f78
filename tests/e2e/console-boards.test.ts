import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canReadXlsx, readXlsx } from '../../tools/xlsx-reader.ts';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { openTab, signIn, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)('boards in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();

  const prepare = async () => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId);
    const store = async (label: string, query: string, more: object = {}): Promise<string> => {
      const body = { hubId, sourceId, label, query, ...more };
      return (await api.ok(api.post('/v1/queries?signature=1', body))).config.query.queryId;
    };
    const region = { key: 'region', type: 'string', value: 'north' };
    const byRegion = "SELECT CAST(:region AS varchar(20)) AS region, '7' AS n";
    const one = await store('By region', byRegion, { context: [region] });
    const other = await store('Fixed', "SELECT 'x' AS a, 12345678901234567 AS digits");
    return { hubId, one, other, store };
  };

  it('is made of cards and texts, keeps values, and opens with those of a link', async () => {
    const { page } = shared;
    const { hubId, one } = await prepare();
    await goTo('boards');
    await button('New board').click();
    await page.getByLabel('Name', { exact: true }).fill('Sales');
    await button('Create').click();
    await page.getByLabel('Add a query').selectOption({ label: 'By region' });
    await button('Text').click();
    await page.getByLabel('Text', { exact: true }).fill('# Today\nWhat is sold.');
    await button('Apply').click();
    await page
      .getByRole('toolbar', { name: 'The card' })
      .nth(1)
      .getByRole('button', { name: 'Earlier' })
      .click();
    await page.getByLabel('Size').nth(1).selectOption({ label: 'Large' });
    await page.getByLabel('region', { exact: true }).fill('south');
    await page.getByLabel('Minutes between runs').fill('5');
    await button('Save the board').click();
    await page.getByText('The board is saved.').waitFor();
    const [board] = await api.ok(api.get(`/v1/boards?hubId=${hubId}`));
    expect(board).toMatchObject({ label: 'Sales', refreshMinutes: 5, values: { region: 'south' } });
    expect(board.cards).toEqual([
      { text: '# Today\nWhat is sold.', size: 'wide' },
      { queryId: one, size: 'large' },
    ]);
    const cards = page.getByRole('list', { name: 'Cards' });
    await cards.getByRole('heading', { name: 'Today' }).waitFor();
    await cards.getByText('south').waitFor();
    await page.getByText('runs again every 5 min').waitFor();

    // What the button says is what it does.
    await button('Full screen').click();
    await button('Leave full screen').click();
    await button('Full screen').waitFor();

    // Changes that are not saved are said so, and stay while one looks elsewhere.
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Minutes between runs').fill('7');
    await page.getByText('Changes not saved').waitFor();
    await page.getByRole('link', { name: 'Keys', exact: true }).click();
    await page.goBack();
    await page.getByText('Changes not saved').waitFor();
    const minutes = () => page.getByLabel('Minutes between runs').inputValue();
    expect(await minutes()).toBe('7');
    // So they do if the page is loaded again.
    await page.reload();
    await page.getByText('Changes not saved').waitFor();
    expect(await minutes()).toBe('7');
    await button('Cancel').click();
    await page.getByText('Changes not saved').waitFor({ state: 'detached' });
    await page.getByText('runs again every 5 min').waitFor();

    // A change of a value is no change of the board, and the address has it only if a person asks.
    await page.getByLabel('region', { exact: true }).fill('west');
    await page.getByLabel('region', { exact: true }).press('Tab');
    await cards.getByText('west').waitFor();
    expect(page.url()).not.toContain('west');
    await page.evaluate(`location.hash = '#/hub/${hubId}/boards/${board.boardId}?region=east'`);
    await page.reload();
    await cards.getByText('east').waitFor();
    expect((await api.ok(api.get(`/v1/boards/${board.boardId}`))).values).toEqual({ region: 'south' });
    await goTo();
    await page.getByRole('link', { name: 'Sales', exact: true }).click();
    await cards.getByText('south').waitFor();
  });

  it('sends values of variables that a query does not declare, and saves values as they were stored', async () => {
    const { page } = shared;
    const { hubId, store } = await prepare();
    const queryId = await store('Undeclared', "SELECT CONCAT('x is ', CAST(:x AS char(20))) AS said");
    const values = { x: 5, on: true };
    const { boardId } = await api.ok(
      api.post('/v1/boards', { hubId, label: 'Numbers', values, cards: [{ queryId }] }),
    );
    await goTo('boards', boardId);
    await page.getByText('x is 5').waitFor();
    await page.getByText('ignores on').waitFor();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Renamed');
    await button('Save the board').click();
    await page.getByText('The board is saved.').waitFor();
    expect(await api.ok(api.get(`/v1/boards/${boardId}`))).toMatchObject({ label: 'Renamed', values });
    await page.getByLabel('x', { exact: true }).fill('6');
    await page.getByLabel('x', { exact: true }).press('Tab');
    await page.getByText('x is 6').waitFor();
  });

  it('says of a card that its reader may not run it, and which change came first', async () => {
    const { page } = shared;
    const { hubId, one } = await prepare();
    const cards = [{ queryId: one }, { path: 'not/here', size: 'wide' }];
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'Parts', cards }));
    await goTo('boards', boardId);
    await page.getByText('This hub has no query “not/here”, or your key may not read it.').waitFor();
    await page.getByRole('link', { name: 'Edit', exact: true }).click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await api.ok(api.put(`/v1/boards/${boardId}`, { label: 'Theirs', cards }));
    await button('Save the board').click();
    await page.locator('.problem', { hasText: 'Name (theirs: “Theirs”)' }).waitFor();
    await button('Load theirs').click();
    await expect.poll(() => page.getByLabel('Name', { exact: true }).inputValue()).toBe('Theirs');
    expect(await page.getByText('Changes not saved').count()).toBe(0);
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    const others = { label: 'Theirs again', cards, refreshMinutes: 9, values: { region: 'west' } };
    await api.ok(api.put(`/v1/boards/${boardId}`, others));
    await button('Save the board').click();
    await page.getByText('as it is now: Minutes between runs, Values.').waitFor();
    await button('Save the board').click();
    await page.getByText('The board is saved.').waitFor();
    expect(await api.ok(api.get(`/v1/boards/${boardId}`))).toMatchObject({ ...others, label: 'Mine' });
    const { key } = await api.ok(api.post('/v1/keys', { name: 'r', scopes: ['queries:read', 'hubs:read'] }));
    const tab = await openTab(await sharedBrowser());
    await signIn(tab.page, key);
    await tab.page.evaluate(`location.hash = '#/hub/${hubId}/boards/${boardId}'`);
    await tab.page.getByText('By region: your key may not execute it.').waitFor();
    await tab.page.context().close();
  });

  it('writes a number into one line of a small card', async () => {
    const { page } = shared;
    const { hubId, store } = await prepare();
    const presentation = { chart: { kind: 'number', y: ['revenue'] } };
    const queryId = await store('Revenue', 'SELECT CAST(1234567890125 AS decimal(20,2)) AS revenue', {
      presentation,
    });
    const cards = [{ queryId, size: 'small' }];
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'Small', cards }));
    await goTo('boards', boardId);
    const number = page.locator('.big-numbers b', { hasText: '1,234,567,890,125.00' });
    expect(await number.evaluate((element) => element.getClientRects().length)).toBe(1);
  });

  it('says what a chart has no room for', async () => {
    const { page } = shared;
    const { hubId, store } = await prepare();
    const digits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `SELECT ${i} AS d`).join(' UNION ALL ');
    const many = `SELECT CONCAT('n', a.d, b.d, c.d, e.d) AS name, 1 AS v FROM (${digits}) a, (${digits}) b, (${digits}) c, (SELECT 1 AS d UNION ALL SELECT 2) e`;
    const parts = `SELECT 'x' AS place, CONCAT('g', a.d, b.d) AS grp, 1 AS v FROM (${digits}) a, (SELECT 1 AS d UNION ALL SELECT 2) b`;
    const cards = [
      {
        queryId: await store('Many', many, {
          presentation: { chart: { kind: 'bars', x: 'name', y: ['v'] } },
        }),
      },
      {
        queryId: await store('Parts', parts, {
          presentation: { chart: { kind: 'stacked-bars', x: 'place', y: ['v'], split: 'grp' } },
        }),
      },
    ];
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'Full', cards }));
    await goTo('boards', boardId);
    await page.getByText('The first 1,000 values of name are drawn; 1,000 more have no room.').waitFor();
    await page.getByText('12 series of grp have no room and are not drawn.').waitFor();
  });

  it.runIf(canReadXlsx())('is downloaded as one workbook with a sheet for each card', async () => {
    const { page } = shared;
    const { hubId, one, other } = await prepare();
    const cards = [
      { text: 'no sheet' },
      {
        queryId: one,
        values: { region: 'north & east' },
        label: 'A/B: "quoted" name of more than 31 characters',
      },
      { queryId: other },
      { queryId: other },
      { queryId: other, label: 'History' },
      // The 31st character is the first half of a pair.
      { queryId: other, label: `${'x'.repeat(30)}😀` },
    ];
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'Whole', cards }));
    await goTo('boards', boardId);
    await button('More actions of the board').click();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'Download as XLSX' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('Whole.xlsx');
    const sheets = readXlsx(await readFile(await file.path()));
    expect(sheets.map(([name]) => name)).toEqual([
      'A B  "quoted" name of more than',
      'Fixed',
      'Fixed (2)',
      'History (2)',
      'x'.repeat(30),
    ]);
    const values = sheets.map(([, rows]) => rows.map((row) => row.map(([, value]) => value)));
    expect(values[0]).toEqual([
      ['region', 'n'],
      ['north & east', '7'],
    ]);
    expect(values[2]).toEqual([
      ['a', 'digits'],
      ['x', '12345678901234567'],
    ]);
  });
});
