/** What the console says and does if the hub carries out a change and its answer is lost on the way. */

import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { drawn, ended, makeKey, openTab, signIn } from '../support/browser/console.ts';
import { api, createSource, engines, execute } from '../support/hub.ts';

/** Passes requests on to the hub, and cuts the connection in place of the answers that `loses` names. */
async function startRelay(hub: URL, loses: (call: string) => boolean): Promise<Server> {
  const relay = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const passed = request({ host: hub.hostname, port: hub.port, method, path, headers }, (answer) => {
      if (loses(`${method} ${path}`)) answer.resume().on('end', () => incoming.socket.destroy());
      else answer.pipe(outgoing.writeHead(answer.statusCode ?? 502, answer.headers));
    });
    passed.on('error', () => incoming.socket.destroy());
    incoming.pipe(passed);
  });
  relay.listen(0, '127.0.0.1');
  await new Promise((resolve) => relay.once('listening', resolve));
  return relay;
}

describe.skipIf(executablePath === undefined)('a change whose answer is lost (needs Chromium)', () => {
  /** The call whose answers are lost, and how many more of them. */
  let lost = { call: '', count: 0 };
  let seen = 0;
  let relay: Server;
  const table = `lost_answers_${process.pid}`;
  const made = { hubId: '', sourceId: '' };

  beforeAll(async () => {
    relay = await startRelay(new URL(inject('hub').url), (call) => {
      if (call !== lost.call) return false;
      seen++;
      return lost.count-- > 0;
    });
    made.hubId = (await api.ok(api.post('/v1/hubs', { label: 'lost answers' }))).hubId;
    made.sourceId = await createSource(made.hubId, engines[0]);
    await execute({ ...made, command: 'CREATE', query: `CREATE TABLE ${table} (id INT)` });
  });
  afterAll(async () => {
    relay.close();
    await execute({ ...made, command: 'DROP', query: `DROP TABLE ${table}` });
  });

  const open = async (hash: string) => {
    const { page } = await openTab(await sharedBrowser());
    await page.goto(`http://127.0.0.1:${(relay.address() as AddressInfo).port}/`);
    await signIn(page, await makeKey(['*'], {}));
    await page.evaluate(`location.hash = ${JSON.stringify(`#/hub/${made.hubId}/${hash}`)}`);
    await drawn(page);
    return page;
  };

  it('is carried out once, and the console learns its answer', async () => {
    const body = { ...made, label: 'one more', query: `INSERT INTO ${table} VALUES (1)`, command: 'INSERT' };
    const { config } = await api.ok(api.post('/v1/queries', body));
    const page = await open(`query/${config.query.queryId}`);
    lost = { call: 'POST /v1/queries/execute', count: 3 };
    seen = 0;
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.getByRole('button', { name: 'Run INSERT' }).click();
    await ended(page, 'done');
    await page.getByText('1 row affected.').waitFor();
    expect(seen).toBeGreaterThan(3);
    const count = { ...made, command: 'SELECT', query: `SELECT COUNT(*) AS n FROM ${table}` };
    expect((await execute(count)).data).toEqual([{ n: 1 }]);
    await page.context().close();
  });

  it('is said to be unknown if no answer comes, and is not made again by a second press', async () => {
    const page = await open('new-classifier');
    lost = { call: 'POST /v1/classifiers', count: Number.POSITIVE_INFINITY };
    const name = `once ${process.pid}`;
    await page.getByLabel('Name', { exact: true }).fill(name);
    const create = page.getByRole('button', { name: 'Create classifier' });
    await create.click();
    await page.getByText('nobody knows whether this was carried out').waitFor();
    lost.count = 0;
    await create.click();
    await page.getByRole('heading', { name }).waitFor();
    const all: { name: string }[] = await api.ok(api.get('/v1/classifiers?limit=1000'));
    expect(all.filter((one) => one.name === name)).toHaveLength(1);
    await page.context().close();
  });

  it('of a publication is looked up, also if a proxy answered instead', async () => {
    const query = 'SELECT 1 AS n';
    const { config } = await api.ok(api.post('/v1/queries', { ...made, label: 'published', query }));
    const { queryId } = config.query;
    const page = await open(`query/${queryId}`);
    await page.route(`**/v1/queries/${queryId}`, async (route) => {
      if (route.request().method() === 'PUT') {
        await route.fetch();
        await route.fulfill({ status: 504, body: '<html>' });
      } else await route.continue();
    });
    await page.locator('.code').click();
    await page.keyboard.press('ControlOrMeta+a');
    await page.keyboard.insertText('SELECT 2 AS n');
    await page.getByRole('button', { name: 'Publish …' }).click();
    await page.getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('not published').waitFor({ state: 'detached' });
    await page.context().close();
  });
});
