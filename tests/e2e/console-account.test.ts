import { randomBytes } from 'node:crypto';
import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { drawn, useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

const unique = () => randomBytes(4).toString('hex');

describe.skipIf(executablePath === undefined)('keys, texts and hubs in the console (needs Chromium)', () => {
  const { shared, goTo, button, act } = useConsole();

  it('creates a browser key for one query, rotates and revokes it', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT region FROM sales WHERE region = :region';
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'public', query }));
    const { queryId } = config.query;
    await goTo('query', queryId);
    await page.getByLabel('region', { exact: true }).fill('south');
    await page.getByRole('tab', { name: 'Use it' }).click();
    await page.getByRole('tab', { name: 'Web page' }).click();
    await button('Make a browser key …').click();
    await page.getByRole('link', { name: 'write the whole form' }).click();
    const name = `browser ${unique()}`;
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Origins').fill('https://shop.example');
    await page.keyboard.press('Enter');
    await button('Pin a variable').click();
    await page.getByLabel('Variable', { exact: true }).fill('region');
    await page.getByLabel('Value', { exact: true }).fill('north');
    await button('Create key').click();
    const secret = (await page.locator('.copy-block pre').first().textContent()) ?? '';
    expect(secret).toMatch(/^dhk_/);
    await page.getByText('In a page of https://shop.example').waitFor();
    await button('I have copied it').click();
    const keyOf = async () => (await api.get('/v1/keys')).body.find((one: any) => one.name === name);
    expect(await keyOf()).toMatchObject({
      scopes: ['queries:execute'],
      limits: {
        queryIds: [queryId],
        origins: ['https://shop.example'],
        context: { region: 'north' },
        ratePerMinute: 60,
        maxRows: 1000,
      },
    });
    await button(`Actions for ${name}`).click();
    await page.getByRole('menuitem', { name: 'Rotate' }).click();
    await button('Create the new key').click();
    await page.getByText(/^It has the same permissions as the old key, which ends on \d{4}-/).waitFor();
    await button('I have copied it').click();
    await button(`Actions for ${name}`).first().click();
    await page.getByRole('menuitem', { name: 'Revoke' }).click();
    await page.getByText('Today it has executed no query.').waitFor();
    await button('Revoke key').click();
    await page.getByText('Revoked').waitFor();
  });

  it('shows the usage of a key by day, with its signed-in users', async () => {
    const { page } = shared;
    const name = `used ${unique()}`;
    const { keyId } = await api.ok(api.post('/v1/keys', { name, scopes: ['queries:execute'] }));
    await goTo('keys');
    await page.reload();
    await page
      .getByRole('row')
      .filter({ hasText: name })
      .getByText(/^created with “.+”$/)
      .waitFor();
    const open = async () => {
      await button(`Actions for ${name}`).click();
      await page.getByRole('menuitem', { name: 'Usage' }).click();
    };
    await open();
    await page.getByText(/^No query was executed with it since/).waitFor();
    await button('Close').click();
    const days = [
      { day: '2026-11-22', count: 1_200, failed: 0, users: 38 },
      { day: '2026-11-23', count: 30, failed: 3, users: 9 },
    ];
    const sum = { from: '2026-10-25', to: '2026-11-23', count: 1_230, failed: 3, users: 41 };
    await page.route(`**/${keyId}/usage`, (sent) => sent.fulfill({ json: { keyId, ...sum, days } }));
    await open();
    const dialog = page.getByRole('dialog', { name: `Usage of “${name}”` });
    await dialog
      .getByText('1,230 executions of all queries by about 41 signed-in users since 2026-10-25')
      .waitFor();
    const rows = await dialog.locator('tbody tr').allInnerTexts();
    expect(rows.map((row) => row.split(/\s*\t\s*/))).toEqual([
      ['2026-11-23', '30', '3 (10 %)', '9'],
      ['2026-11-22', '1,200', '0', '38'],
    ]);
  });

  it('creates a key for signed-in users, and shows what an example of their tokens pins', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = 'SELECT region FROM sales WHERE region = :region';
    const label = `mine ${unique()}`;
    const { config } = await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query }));
    const name = `users ${unique()}`;
    await goTo('keys');
    await page.reload();
    await button('New key').click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await page.getByLabel('Queries it may run').selectOption({ label });
    await page.getByLabel(/^Calls also need the token/).check();
    await page.getByLabel('Issuer', { exact: true }).fill('https://id.example');
    await page.getByLabel('Audience', { exact: true }).fill('shop');
    await page.getByLabel('Variable of the claim').fill('region');
    await page.getByLabel('Claim', { exact: true }).fill('app.region');
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: 'https://id.example',
      aud: ['other'],
      sub: 'é',
      exp: 4e9,
      app: { region: 'north' },
    };
    await page.getByLabel('An example of a token').fill(`${part({ alg: 'RS256' })}.${part(claims)}.x`);
    const example = page.getByLabel('The example');
    await example.getByText('region = "north"').waitFor();
    expect(await example.locator('.banner').allTextContents()).toEqual(['Its audience (aud) is ["other"].']);
    await button('Create key').click();
    await button('I have copied it').click();
    await page.getByRole('row', { name }).getByText('signed-in users of https://id.example').waitFor();
    const made = (await api.get('/v1/keys')).body.find((one: any) => one.name === name);
    expect(made.limits.queryIds).toEqual([config.query.queryId]);
    expect(made.limits.user).toEqual({
      issuer: 'https://id.example',
      audience: 'shop',
      claims: { region: 'app.region' },
      ratePerMinute: 60,
    });
    const second = (await api.ok(api.post('/v1/queries', { hubId, sourceId, label: `also ${label}`, query })))
      .config.query.queryId;
    const id = unique();
    const other = await api.ok(api.post('/v1/hubs', { label: `other hub ${id}` }));
    const elsewhere = {
      hubId: other.hubId,
      sourceId: await createSource(other.hubId),
      label: 'elsewhere',
      query,
    };
    const third = (await api.ok(api.post('/v1/queries', elsewhere))).config.query.queryId;
    await page.reload();
    await act(`Actions for ${name}`, 'Change');
    await page.getByLabel('Queries it may run').selectOption(second);
    await page.getByLabel('Hubs it may use').selectOption(other.hubId);
    await page.getByLabel('Queries it may run').selectOption({ label: `other hub ${id}: elsewhere` });
    await page.getByLabel('Requests per minute', { exact: true }).fill('30');
    await button('Save the key').click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    const changed = (await api.get('/v1/keys')).body.find((one: any) => one.name === name);
    expect(changed.limits).toEqual({
      ...made.limits,
      hubIds: [hubId, other.hubId],
      queryIds: [config.query.queryId, second, third],
      ratePerMinute: 30,
    });
  });

  it('trains a classifier by typing and from a file, predicts, and deletes a class', async () => {
    const { page } = shared;
    await goTo('new-classifier');
    await page.getByLabel('Name', { exact: true }).fill(`mail ${unique()}`);
    await button('Create classifier').click();
    await page.getByLabel('Label').fill('refund');
    await page.getByLabel('Text', { exact: true }).fill('I want my money back');
    await button('Train').first().click();
    await page.getByText('Learned an example').waitFor();
    // What a browser cannot read would become other letters.
    for (const head of ['label,text\n', '']) {
      const buffer = Buffer.from(`${head}müll,Die Tür\n`, 'latin1');
      await page.locator('input[type=file]').setInputFiles({ name: 'old.csv', mimeType: 'text/csv', buffer });
      await page.getByText(`Line ${head === '' ? 1 : 2} is not UTF-8`).waitFor();
      expect(await button(/^Train (with old|\d)/).count()).toBe(0);
    }
    const lines = Array.from({ length: 1_200 }, (_, i) => `delivery,"where, is parcel ${i}"`);
    const file = {
      name: 'mail.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`label,text\n${lines.join('\n')}\n`),
    };
    await page.locator('input[type=file]').setInputFiles(file);
    await button('Train with mail.csv').click();
    expect(await page.getByText('is not UTF-8').count()).toBe(0);
    await page.getByText('1,200 examples learned').waitFor({ timeout: 60_000 });
    await page.getByRole('tab', { name: 'Predict' }).click();
    // The page that trains also has a field for the text.
    await button('Predict').waitFor();
    await page.getByLabel('Text', { exact: true }).fill('where is it');
    await button('Predict').click();
    await page.locator('.big-word', { hasText: 'delivery' }).waitFor();
    // An answer that comes late is not shown beside the next text.
    const held = Promise.withResolvers<Route>();
    await page.route('**/predict', held.resolve);
    await page.getByLabel('Text', { exact: true }).fill('I want money');
    await button('Predict').click();
    const late = await held.promise;
    await page.getByText('This is the label of “where is it”.').waitFor();
    await page.unroute('**/predict');
    await page.getByLabel('Text', { exact: true }).fill('where is the parcel');
    await button('Predict').click();
    await page.getByText('This is the label of').waitFor({ state: 'detached' });
    await late.fulfill({ json: { label: 'late', confidence: 1, scores: [] } }).catch(() => undefined);
    await drawn(page);
    expect(await page.locator('.big-word').innerText()).toBe('delivery');
    await page.getByRole('tab', { name: 'Evaluation' }).click();
    await page.getByText('Accuracy', { exact: true }).first().waitFor();
    const chart = page.getByRole('img', { name: /the accuracy was .* over the last \d+ of 1,200/ });
    await chart.locator('canvas').waitFor();
    // Of few cases a count and a range, and nothing is certain.
    await chart.locator('.u-over').hover({ position: { x: 2, y: 5 } });
    const pointed = page.locator('.curve .legend-line');
    await pointed.filter({ hasText: /Accuracy \d+ of 10 \(\d+ / }).waitFor();
    expect(await pointed.textContent()).not.toContain('100 %');
    await page.getByText('Learning curve as a table').click();
    await page.getByRole('rowheader', { name: '501 to 1,200' }).waitFor();
    await page.getByRole('tab', { name: 'Classes' }).click();
    await button('Actions for refund').click();
    await page.getByRole('menuitem', { name: 'Delete class' }).click();
    await button('Delete class').click();
    await button('Actions for refund').waitFor({ state: 'detached' });
  });

  it('summarises several texts, and marks the sentences in them', async () => {
    const { page } = shared;
    await goTo('summary');
    await page
      .getByLabel('Text', { exact: true })
      .fill('The cat sat. The dog ran to the house. The house was on fire. Dogs like a house.');
    await button('Add a text').click();
    await page.getByLabel('Text 2').fill('The house burnt down. It rained later.');
    await page.getByLabel('Sentences').fill('2');
    await button('Summarise').click();
    await page.locator('.marked mark').first().waitFor();
    expect(await page.locator('.marked').count()).toBe(2);
  });

  it('takes names of columns that the source did not describe, and asks it again', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const query = "SELECT 'The house is old.' AS body";
    const stored = await api.ok(api.post('/v1/queries', { hubId, sourceId, label: 'undescribed', query }));
    await page.route('**/v1/queries/*?signature=1', (route) => route.fulfill({ status: 503, body: '{}' }));
    await goTo('summary', 'column');
    await page.reload();
    await page.getByLabel('Query', { exact: true }).selectOption(stored.config.query.queryId);
    await page.getByLabel('Column of the texts').fill('body');
    await button('Summarise').click();
    await page.locator('.copy-block pre', { hasText: 'The house is old.' }).waitFor();
    await page.unroute('**/v1/queries/*?signature=1');
    // The hub itself waits for the source for a second at most.
    const described = async () =>
      (await api.ok(api.get(`/v1/queries/${stored.config.query.queryId}?signature=1`))).signature;
    await expect.poll(described, { timeout: 60_000 }).toBeTruthy();
    await button('Ask again').click();
    // Not the text field that stands there until the answer has come.
    await page.locator('select').and(page.getByLabel('Column of the texts')).selectOption('body');
  });

  it('says when the code of a page is missing', async () => {
    const { page } = shared;
    await page.route('**/console/later.js', (route) => route.abort());
    await goTo('summary');
    await page.reload();
    await page.getByText('Its code could not be loaded. Reload the page.').waitFor();
    await page.unroute('**/console/later.js');
    // The hub was updated after the first page was loaded.
    await page.route('**/console/later.js', async (route) => {
      const code = await (await route.fetch()).text();
      const body = code.replace(/"[\w-]{12}"(?=,\w+='\.)/, '"anotherBuild"');
      await route.fulfill({ contentType: 'text/javascript', body });
    });
    await page.reload();
    await page.getByText('Its code could not be loaded. Reload the page.').waitFor();
    await page.unroute('**/console/later.js');
    await page.reload();
    await page.getByLabel('Text', { exact: true }).waitFor();
  });

  it('renames, archives and deletes hubs', async () => {
    const { page } = shared;
    const label = `old ${unique()}`;
    await api.ok(api.post('/v1/hubs', { label }));
    await page.evaluate("location.hash = '#/hubs'");
    await page.reload();
    const act = async (name: string, item: string) => {
      await button(`Actions for ${name}`).click();
      await page.getByRole('menuitem', { name: item }).click();
    };
    await act(label, 'Rename');
    await page.getByLabel('Name', { exact: true }).fill(`${label} 2`);
    await button('Rename').click();
    await act(`${label} 2`, 'Archive');
    await page.getByText('Archived (').click();
    await act(`${label} 2`, 'Delete');
    await page.getByLabel('Type “').fill(`${label} 2`);
    await button('Delete hub and everything in it').click();
    await button(`Actions for ${label} 2`).waitFor({ state: 'detached' });
  });

  it('shows what others created once the tab is visible again', async () => {
    const { page, hubId } = shared;
    await goTo();
    await button('Add to Queries').waitFor();
    const names = { hub: `hub ${unique()}`, folder: `folder ${unique()}`, classifier: `mail ${unique()}` };
    await api.ok(api.post('/v1/hubs', { label: names.hub }));
    await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: names.folder }));
    await api.ok(api.post('/v1/classifiers', { name: names.classifier }));
    await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
    await page.getByRole('treeitem', { name: names.folder }).waitFor();
    await page.getByRole('link', { name: names.classifier }).waitFor();
    await page.getByRole('link', { name: 'Data Hub' }).click();
    await page.getByRole('link', { name: names.hub }).waitFor();
  });

  it('searches by name, and shows the audit log', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const label = `findable ${unique()}`;
    await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query: 'SELECT 1 AS a' }));
    await goTo();
    await page.reload();
    await page.getByRole('treeitem', { name: label }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill(label.slice(0, 14));
    await page.keyboard.press('Enter');
    await page.locator('h1', { hasText: label }).waitFor();
    await page.getByRole('link', { name: 'Audit', exact: true }).click();
    await page.locator('td', { hasText: 'Created a query' }).first().waitFor();
  });

  it('filters the audit log by action, day, what was changed, and who did it', async () => {
    const { page, hubId } = shared;
    const sourceId = await createSource(hubId);
    const name = `auditor ${unique()}`;
    const { key, keyId } = await api.ok(api.post('/v1/keys', { name, scopes: ['*'] }));
    const query = { hubId, sourceId, label: `audited ${unique()}`, query: 'SELECT 1 AS a' };
    const { queryId } = (await api.ok(api.post('/v1/queries', query, { key }))).config.query;
    await api.ok(api.put(`/v1/queries/${queryId}`, { meta: { label: query.label.toUpperCase() } }));
    const rows = page.locator('tbody tr');
    const texts = () => rows.evaluateAll((all) => all.map((row) => row.children[1]?.textContent));
    await goTo();
    await page.reload();
    await page.getByRole('treeitem', { name: query.label.toUpperCase() }).waitFor();
    await goTo('audit', 'what', queryId);
    await expect.poll(texts).toEqual(['Changed a query', 'Created a query']);
    await page.getByText(`Only entries of ${query.label.toUpperCase()}`).waitFor();
    await page.getByLabel('Action', { exact: true }).selectOption({ label: 'Created a query' });
    await expect.poll(texts).toEqual(['Created a query']);
    await rows.getByRole('link', { name, exact: true }).click();
    await page.getByText(`Only what the key ${name} did`).waitFor();
    expect(page.url()).toContain(`/audit/key/${keyId}`);
    await expect.poll(texts).toEqual(['Created a query']);
    await page.getByRole('link', { name: 'Show all', exact: true }).click();
    await expect.poll(async () => (await texts()).length).toBeGreaterThan(2);
    const label = `board ${unique()}`;
    const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label, cards: [] }));
    await page.getByRole('button', { name: 'Refresh', exact: true }).click();
    await rows.getByRole('link', { name: label, exact: true }).click();
    await page.getByText(`Only entries of ${label}`).waitFor();
    expect(page.url()).toContain(`/audit/what/${boardId}`);
    await page.getByRole('link', { name: 'Show all', exact: true }).click();
    await page.getByLabel('Day (UTC)', { exact: true }).fill('2020-02-29');
    await page.getByText('0 entries', { exact: true }).waitFor();
    await page.getByLabel('Day (UTC)', { exact: true }).fill(new Date().toISOString().slice(0, 10));
    await expect.poll(async () => (await texts()).length).toBeGreaterThan(2);
  });
});
