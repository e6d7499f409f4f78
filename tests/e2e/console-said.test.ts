import { describe, expect, it } from 'vitest';
import { executablePath } from '../support/browser/chromium.ts';
import { holdAnswers, useConsole } from '../support/browser/console.ts';
import { prepareWatch } from '../support/browser/views.ts';
import { api, createSource, database } from '../support/hub.ts';

describe.skipIf(executablePath === undefined)(
  'what the console says of what it shows (needs Chromium)',
  () => {
    const { shared, goTo, button, write, act } = useConsole();
    const failing = (address: string) =>
      shared.page.route(address, (route) =>
        route.fulfill({
          status: 503,
          contentType: 'application/problem+json',
          body: JSON.stringify({ status: 503, title: 'Unavailable', code: 'UNAVAILABLE', detail: 'Away.' }),
        }),
      );
    const store = async (body: object): Promise<string> => {
      const { hubId } = shared;
      const sourceId = await createSource(hubId);
      return (await api.ok(api.post('/v1/queries', { hubId, sourceId, ...body }))).config.query.queryId;
    };

    it('does not say that the audit has no entries before it is read, or if it cannot be read', async () => {
      const { page } = shared;
      const release = await holdAnswers(page, '**/v1/audit?**');
      await goTo('audit');
      await page.getByText('Loading the audit').waitFor();
      expect(await page.locator('.head .tag').count()).toBe(0);
      expect(await page.locator('.pager').count()).toBe(0);
      release();
      await page.getByText(/^[\d,]+ entries$/).waitFor();
      await failing('**/v1/audit?**');
      await button(/Refresh/).click();
      await page.getByText('Away.').waitFor();
      expect(await page.locator('.head .tag').count()).toBe(0);
    });

    it('reads the labels of the boards and watches that the audit shows, and of no others', async () => {
      const { page, hubId } = shared;
      const board = { hubId, label: 'shown board', cards: [{ text: 'a' }] };
      const { boardId } = await api.ok(api.post('/v1/boards', board));
      await api.ok(api.post('/v1/boards', { ...board, label: 'other board' }));
      // The home asks for the boards of the hub.
      await goTo('people');
      await page.getByText('Nobody has a role yet.').waitFor();
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      await goTo('audit', 'what', boardId);
      await page.getByRole('cell', { name: 'shown board' }).first().waitFor();
      expect(asked.filter((path) => /^\/v1\/(boards|watches)/.test(path))).toEqual([`/v1/boards/${boardId}`]);
    });

    it('says of a hub without a provider that nobody can sign in, and of a check that it was cut', async () => {
      const { page } = shared;
      await goTo('people');
      await page.getByText('Nobody can sign in yet').waitFor();
      const queryId = await store({ label: 'drifted', query: 'SELECT 1 AS n' });
      await page.route(`**/v1/queries/${queryId}*`, async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), state: 'broken' } });
      });
      await page.route('**/v1/sources/*/check', (route) =>
        route.fulfill({ json: { checked: 1, broken: [], left: 2 } }),
      );
      await goTo('query', queryId);
      await button('Check now').click();
      await page.getByText('2 queries of the source could not be checked in time.').waitFor();
      await page.unrouteAll({ behavior: 'wait' });
    });

    it('does not say that nothing has happened before the events are read', async () => {
      const { page } = shared;
      const release = await holdAnswers(page, '**/v1/events?**');
      await page.reload();
      await button(/^Events: /).click();
      await page.getByText('Loading the events').waitFor();
      expect(await page.getByText('Nothing has happened yet.').count()).toBe(0);
      release();
      await page.getByText('Loading the events').waitFor({ state: 'detached' });
    });

    it('does not say that a watch has no runs if they cannot be read', async () => {
      const { page, hubId } = shared;
      const sourceId = await createSource(hubId);
      await prepareWatch({ hubId, sourceId, name: 'strip', query: 'SELECT 1 AS strip' });
      await failing('**/v1/watches/*/runs?**');
      await goTo('watches');
      const row = page.getByRole('row', { name: /^strip/ });
      await row.getByText('Show its runs').waitFor();
      expect(await row.getByRole('img').count()).toBe(0);
    });

    it('leads from page to page of the kept runs, to the last one', async () => {
      const { page } = shared;
      const queryId = await store({ label: 'many runs', query: 'SELECT 1 AS a' });
      const executed = Array.from({ length: 60 }, () => api.post('/v1/queries/execute', { queryId }));
      await Promise.all(executed);
      const total = async () => (await api.get(`/v1/queries/${queryId}/runs`)).headers.get('x-total-count');
      await expect.poll(total, { timeout: 20_000 }).toBe('60');
      await goTo('query', queryId, 'runs');
      await page.getByText('1 to 50 of 60').waitFor();
      await button('Next').click();
      await page.getByText('51 to 60 of 60').waitFor();
      expect(await page.getByRole('region', { name: 'Kept runs' }).getByRole('row').count()).toBe(11);
      expect(await button('Next').isDisabled()).toBe(true);
    });

    it('counts the sources of the hub with a key that may not read them', async () => {
      const { page, hubId } = shared;
      await createSource(hubId);
      await createSource(hubId);
      const { key } = await api.ok(api.post('/v1/keys', { name: 'no sources', scopes: ['hubs:read'] }));
      const tree = await api.ok(api.get(`/v1/hubs/${hubId}/contents`));
      const [, sources] = tree.children;
      await page.evaluate(`sessionStorage.setItem('datahub.key', ${JSON.stringify(key)})`);
      await goTo();
      await page.reload();
      await page.locator('.head').getByText(`${sources.children.length} sources`, { exact: true }).waitFor();
    });

    it('says on a card which part of the rows it shows, and shows NULL as null', async () => {
      const { page } = shared;
      const columns = "NULL AS nothing, '–' AS dash, 'b' AS b, 'c' AS c, 'd' AS d";
      const rows = Array.from({ length: 7 }, () => `SELECT ${columns}`).join(' UNION ALL ');
      await store({ label: 'first rows', query: rows, presentation: { pinned: true } });
      await goTo();
      await page.reload();
      const card = page.locator('.pinned-card', { hasText: 'first rows' });
      await card.getByText('first 5 of 7 rows, 4 of 5 columns').waitFor();
      expect(await card.locator('td').first().innerText()).toBe('null');
      expect(await card.locator('td').nth(1).innerText()).toBe('–');
    });

    it('lays no card over another while a board is edited on a phone', async () => {
      const { page, hubId } = shared;
      const queryId = await store({ label: 'on a board', query: 'SELECT 1 AS a' });
      const cards = [{ text: '# A' }, { queryId, size: 'wide' }, { queryId, size: 'large' }];
      const { boardId } = await api.ok(api.post('/v1/boards', { hubId, label: 'narrow', cards }));
      await page.setViewportSize({ width: 390, height: 844 });
      await goTo('boards', boardId, 'edit');
      await page.locator('.board-card').nth(2).waitFor();
      const boxes = await page
        .locator('.board-card > *')
        .evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().toJSON()));
      const overlaps = boxes.slice(1).filter(({ top }, i) => top < (boxes[i]?.bottom ?? 0) - 1);
      expect(overlaps).toEqual([]);
    });

    it('says that there are more deliveries than it shows, and leads to them', async () => {
      const { page } = shared;
      const { destinationId } = await api.ok(
        api.post('/v1/destinations', { label: 'many sent', url: 'https://receiver.example/' }),
      );
      const delivery = { destinationId, type: 'watch.fired', createdAt: new Date().toISOString() };
      const ended = { state: 'delivered', attempts: 1, status: 200, error: null, nextAt: null };
      await page.route('**/v1/deliveries?**', (route) => {
        const from = Number(new URL(route.request().url()).searchParams.get('offset'));
        const ids = Array.from({ length: Math.min(100, 130 - from) }, (_, i) => `delivery ${from + i}`);
        return route.fulfill({
          headers: { 'content-type': 'application/json', 'x-total-count': '130' },
          body: JSON.stringify(ids.map((deliveryId) => ({ deliveryId, ...delivery, ...ended }))),
        });
      });
      await goTo('watches');
      await act('Actions for many sent', 'Deliveries');
      await page.getByText('1 to 100 of 130').waitFor();
      await button('Next').click();
      await page.getByText('101 to 130 of 130').waitFor();
    });

    it.skipIf(!database('postgres'))(
      'explains with the session of the query, and says if the plan is of an earlier text',
      async () => {
        const { page } = shared;
        const label = 'explained';
        const session = { settings: { 'app.region': { value: 'north' } } };
        const query = "SELECT 1 AS a WHERE current_setting('app.region') = 'north'";
        const queryId = await store({ label, query, session });
        await goTo('query', queryId);
        await button('Explain').click();
        await page.locator('.plan').waitFor();
        expect(await page.getByText('earlier text').count()).toBe(0);
        await write(query.replace('1 AS a', '2 AS a'));
        await page.getByText('This is the plan of an earlier text or of other values.').waitFor();
        await button(/Explain again/).click();
        await page.getByText('This is the plan of an earlier text').waitFor({ state: 'detached' });
      },
    );
  },
);
