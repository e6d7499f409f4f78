import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

/** Runs in the page: what the browser's database holds, as text. */
const keptText = `new Promise((resolve) => {
  const opening = indexedDB.open('datahub-drafts', 2);
  opening.onsuccess = () => {
    const all = opening.result.transaction('drafts-by-tab').objectStore('drafts-by-tab').getAll();
    all.onsuccess = () => resolve(JSON.stringify(all.result));
    opening.result.close();
  };
})`;

describe.skipIf(executablePath === undefined)('what the console does not show (needs Chromium)', () => {
  const { shared, goTo, button, write } = useConsole();
  const create = async (body: object) => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId);
    const made = await api.ok(api.post('/v1/queries', { hubId, sourceId, ...body }));
    return made.config.query.queryId as string;
  };
  const configOf = async (queryId: string) => (await api.ok(api.get(`/v1/queries/${queryId}`))).config;

  it('is in the copy of a query', async () => {
    const settings = {
      context: [{ key: 'a', value: 1 }],
      cache: { maxAgeS: 60 },
      notNull: ['a'],
      keepValues: true,
      errors: 'author',
      session: { searchPath: 'public', settings: { 'app.tenant': { value: '1' } } },
      presentation: { columns: { a: { width: 99 } } },
    };
    const queryId = await create({ label: 'original', query: 'SELECT :a AS a', ...settings });
    await shared.page.reload();
    await goTo('new-query', 'from', queryId);
    await shared.page.getByText(/Copied with it: .*session settings/).waitFor();
    await button('Create query').click();
    await shared.page.waitForURL(/\/query\//);
    const copied = shared.page.url().split('/').at(-1) as string;
    expect(copied).not.toBe(queryId);
    const [{ query: _, ...before }, { query: __, ...after }] = [
      await configOf(queryId),
      await configOf(copied),
    ];
    expect(after).toEqual(before);
  });

  it('stays when a variable gets a description', async () => {
    const context = [
      { key: 'a', value: '' },
      { key: 'b', value: '12' },
      { key: 'c', type: 'string', value: 'null', enum: ['null', '1', ' x '] },
    ];
    const queryId = await create({ label: 'variables', query: 'SELECT :a AS a, :b AS b, :c AS c', context });
    await goTo('query', queryId);
    for (const { key } of context) {
      await button(`Declare ${key}`).click();
      await shared.page.getByLabel('Description').fill('changed');
      await button('Apply').click();
    }
    const changed = async () => String(await shared.page.evaluate(keptText)).split('changed').length - 1;
    await expect.poll(changed).toBe(context.length);
    const kept = JSON.parse(JSON.parse((await shared.page.evaluate(keptText)) as string)[0].draft);
    expect(kept.context).toMatchObject(context.map((one) => ({ ...one, description: 'changed' })));
  });

  it('keeps a draft whose variables have numbers with all their digits', async () => {
    const context = [{ key: 'a', value: '0' }];
    const queryId = await create({ label: 'exact', query: 'SELECT :a AS a', context });
    const change = JSON.stringify({ config: { context } }).replace('"0"', '12345678901234567890.10');
    await api.ok(api.put(`/v1/queries/${queryId}`, undefined, { raw: change }));
    await goTo('query', queryId);
    await write('SELECT :a AS kept_exact');
    await expect.poll(() => shared.page.evaluate(keptText)).toContain('kept_exact');
    await shared.page.reload();
    await shared.page.locator('.editor-pane', { hasText: 'kept_exact' }).waitFor();
  });
});
