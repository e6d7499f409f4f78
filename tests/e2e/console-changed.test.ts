import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { useConsole } from '../support/browser/console.ts';
import { api, createSource } from '../support/hub.ts';

/** The page is that of one person. The requests of `api` are those of somebody else at the same time. */
describe.skipIf(executablePath === undefined)('what two people change at once (needs Chromium)', () => {
  const { shared, goTo, button, act, write } = useConsole();
  const problem = () => shared.page.locator('.problem');
  const field = (name: string) => shared.page.getByRole('dialog').getByLabel(name, { exact: true });
  const closed = () => shared.page.locator('dialog').waitFor({ state: 'detached' });
  const read = (path: string) => api.ok(api.get(path));
  const createQuery = async (label: string) => {
    const sourceId = await createSource(shared.hubId);
    const body = { hubId: shared.hubId, sourceId, label, query: 'SELECT 1 AS id, 2 AS amount' };
    return (await api.ok(api.post('/v1/queries', body))).config.query.queryId as string;
  };
  const createWatch = async (label: string) => {
    const { hubId } = shared;
    const settings = { queryId: await createQuery(label), schedule: { everyS: 3_600 }, when: 'new' };
    const watch = await api.ok(api.post('/v1/watches', { hubId, label, ...settings }));
    return { ...settings, path: `/v1/watches/${watch.watchId}`, watchId: watch.watchId as string };
  };
  const createDestination = async (label: string) => {
    const body = { label, url: 'http://127.0.0.1:9/old', hubIds: [shared.hubId] };
    const { destinationId } = await api.ok(api.post('/v1/destinations', body));
    return { body, path: `/v1/destinations/${destinationId}` };
  };

  it('pauses a watch, and keeps what somebody else saved since the page was read', async () => {
    const { page } = shared;
    const { path, watchId, queryId } = await createWatch('Paused');
    await goTo('watches', watchId);
    await page.getByRole('heading', { name: 'Paused' }).waitFor();
    const theirs = { label: 'Theirs', queryId, schedule: { everyS: 60 }, when: 'gone', include: ['amount'] };
    await api.ok(api.put(path, theirs));
    await act('Actions for Paused', 'Pause');
    await page.locator('.tag', { hasText: 'paused' }).waitFor();
    expect(await read(path)).toMatchObject({
      ...{ ...theirs, schedule: { everyS: 60, missed: 'skip' } },
      paused: true,
    });
  });

  it('saves no form of a watch over what somebody else saved, until its person has seen that', async () => {
    const { path, watchId, queryId, when } = await createWatch('Sales');
    await goTo('watches', watchId);
    await act('Actions for Sales', 'Edit …');
    await field('Name').fill('Mine');
    const theirs = { label: 'Theirs', queryId, schedule: { everyS: 60 }, when, paused: true };
    await api.ok(api.put(path, theirs));
    await button('Save').click();
    await problem().getByText('now: Minutes between runs.').waitFor();
    await problem().getByText('Name (theirs: “Theirs”)').waitFor();
    expect((await read(path)).label).toBe('Theirs');
    expect([await field('Name').inputValue(), await field('Minutes between runs').inputValue()]).toEqual([
      'Mine',
      '1',
    ]);
    await button('Load theirs').click();
    await problem().waitFor({ state: 'detached' });
    expect(await field('Name').inputValue()).toBe('Theirs');
    await field('Name').fill('Mine again');
    await button('Save').click();
    await closed();
    expect(await read(path)).toMatchObject({
      ...{ label: 'Mine again', schedule: { everyS: 60 } },
      paused: true,
    });
    // A run, or a change of what the form does not show, is no conflict.
    await act('Actions for Mine again', 'Edit …');
    await field('Minutes between runs').fill('5');
    await api.ok(api.put(path, { ...theirs, label: 'Mine again', paused: false, path: 'theirs' }));
    await button('Save').click();
    await closed();
    expect(await read(path)).toMatchObject({ schedule: { everyS: 300 }, paused: false, path: 'theirs' });
  });

  it('keeps a destination disabled, and its address, while it is renamed', async () => {
    const { body, path } = await createDestination('Ops');
    await goTo('watches');
    const theirs = { ...body, url: 'http://127.0.0.1:9/new', disabled: true };
    await button('Actions for Ops').waitFor();
    await api.ok(api.put(path, { ...theirs, events: ['query.published'] }));
    // The dialog shows what the hub has, though the list is older.
    await act('Actions for Ops', 'Edit …');
    expect(await field('Address').inputValue()).toBe('http://127.0.0.1:9/new');
    await field('Name').fill('Renamed');
    await api.ok(api.put(path, { ...theirs, url: 'http://127.0.0.1:9/newer' }));
    await button('Save').click();
    await problem().getByText('now: Address, Events that it is told.').waitFor();
    expect((await read(path)).label).toBe('Ops');
    await button('Save').click();
    await closed();
    expect(await read(path)).toMatchObject({
      ...{ label: 'Renamed', url: 'http://127.0.0.1:9/newer', events: [] },
      disabled: true,
    });
    await api.ok(api.put(path, { ...theirs, label: 'Renamed', url: 'http://127.0.0.1:9/newest' }));
    await act('Actions for Renamed', 'Enable');
    await shared.page.getByText('The destination is told again.').waitFor();
    expect(await read(path)).toMatchObject({ url: 'http://127.0.0.1:9/newest', disabled: false });
    await api.ok(api.delete(path));
  });

  it('changes of a source only the settings that its person changed', async () => {
    const { page } = shared;
    const sourceId = await createSource(shared.hubId);
    const path = `/v1/sources/${sourceId}`;
    await goTo('source', sourceId, 'settings');
    await page.getByText('More settings').click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.getByLabel('Maximum connections').fill('2');
    const theirs = { pool: { max: 3 }, statementTimeoutMs: 5_000 };
    await api.ok(api.put(path, { connectionSettings: theirs }));
    await button('Save and test').click();
    await problem().getByText('now: Statement time limit, ms.').waitFor();
    await problem().getByText('Maximum connections (theirs: “3”)').waitFor();
    expect((await read(path)).connectionSettings).toMatchObject(theirs);
    expect(await page.getByLabel('Statement time limit, ms').inputValue()).toBe('5000');
    const sent = page.waitForRequest((request) => request.method() === 'PUT');
    await button('Save and test').click();
    expect((await sent).postDataJSON()).toEqual({ label: 'Mine', connectionSettings: { pool: { max: 2 } } });
    await page.getByText('Saved.').waitFor();
    await problem().waitFor({ state: 'detached' });
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    expect((await read(path)).connectionSettings).toMatchObject({ ...theirs, pool: { max: 2 } });
  });

  it('renames no query, source, folder or hub over the name of somebody else', async () => {
    const { page, hubId } = shared;
    const queryId = await createQuery('a query');
    const folder = await api.ok(api.post(`/v1/hubs/${hubId}/folders`, { label: 'a folder' }));
    const sourceId = await createSource(hubId);
    await api.ok(api.put(`/v1/sources/${sourceId}`, { label: 'a source' }));
    const { hubId: other } = await api.ok(api.post('/v1/hubs', { label: 'a hub' }));
    await page.reload();
    const rename = async (label: string, path: string, body: object) => {
      await page.locator('.row, .item', { hasText: label }).first().hover();
      await act(`Actions for ${label}`, 'Rename');
      await field('Name').fill(`my ${label}`);
      await api.ok(api.put(path, body));
      await button('Rename').click();
      await problem().getByText('Name (theirs: “theirs”)').waitFor();
      await button('Rename').click();
      await closed();
      await page.getByText(`my ${label}`).first().waitFor();
    };
    await goTo();
    await rename('a query', `/v1/queries/${queryId}`, { meta: { label: 'theirs' } });
    await rename('a folder', `/v1/folders/${folder.nodeId}`, { label: 'theirs' });
    await rename('a source', `/v1/sources/${sourceId}`, { label: 'theirs' });
    await page.evaluate(`location.hash = '#/hubs'`);
    await rename('a hub', `/v1/hubs/${other}`, { label: 'theirs' });
    expect((await read(`/v1/queries/${queryId}`)).meta.label).toBe('my a query');
    await api.ok(api.delete(`/v1/hubs/${other}`));
  });

  it('says that a query was deleted, and makes a new one of what its person wrote', async () => {
    const { page } = shared;
    const queryId = await createQuery('Deleted beneath');
    await goTo('query', queryId);
    await write('SELECT 7 AS written');
    await api.ok(api.delete(`/v1/queries/${queryId}`));
    await button('Publish …').click();
    await page.getByText('could not be checked').waitFor();
    await page.getByText('not compared').waitFor();
    await button('Publish').click();
    await page.getByRole('link', { name: 'make a new query of it' }).click();
    await button('Create query').click();
    await page.getByRole('heading', { name: 'Deleted beneath' }).waitFor();
    const queries = await read(`/v1/queries?hubId=${shared.hubId}`);
    expect(queries.map(({ config }: any) => config.query.query)).toContain('SELECT 7 AS written');
    await goTo('new-query', 'from', queryId.replace(/.$/, 'z'));
    await problem().getByText('There is no such query.').waitFor();
  });

  it('keeps the pin that somebody else took from a query whose chart is saved', async () => {
    const { page } = shared;
    const queryId = await createQuery('charted');
    const path = `/v1/queries/${queryId}`;
    await api.ok(api.put(path, { config: { presentation: { pinned: true } } }));
    await goTo('query', queryId);
    await button(/^Run/).click();
    await page.locator('.figures[data-status=done]').waitFor();
    await button('Chart').click();
    await api.ok(api.put(path, { config: { presentation: { pinned: false } } }));
    await button('Save chart').click();
    await expect.poll(async () => (await read(path)).config.presentation.chart).toBeDefined();
    expect((await read(path)).config.presentation.pinned).toBe(false);
  });
});
