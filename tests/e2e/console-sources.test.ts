import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { executablePath, openBrowser } from '../support/browser/chromium.ts';
import { choose, makeKey, openTab, signIn, useConsole } from '../support/browser/console.ts';
import { accessOf } from '../support/databases.ts';
import { api, createSource, engines } from '../support/hub.ts';

const pooler = process.env.PGBOUNCER_TRANSACTION_URL;

describe.skipIf(executablePath === undefined)('sources in the console (needs Chromium)', () => {
  const { shared, goTo, button } = useConsole();
  const settingsOf = async (sourceId: string) =>
    (await api.ok(api.get(`/v1/sources/${sourceId}`))).connectionSettings;
  const make = async (engine: string, connectionSettings: object) => {
    const address = { host: '127.0.0.1', port: 1, database: 'd', user: 'reader', password: 'secret' };
    const settings = { ...address, ...connectionSettings };
    const body = { hubId: shared.hubId, label: 'servers', engine, connectionSettings: settings };
    return (await api.ok(api.post('/v1/sources', body))).sourceId as string;
  };
  const openSettings = async (sourceId: string) => {
    await goTo('source', sourceId, 'settings');
    await shared.page.getByText('More settings').click();
  };

  it('edits the servers of a PostgreSQL source', async () => {
    const { page } = shared;
    const sourceId = await make('postgres', { hosts: [{ host: 'b.db.example', port: 5_433 }] });
    await openSettings(sourceId);
    expect(await page.getByLabel('Further servers').inputValue()).toBe('b.db.example:5433');
    expect(await page.getByLabel('Replica set').count()).toBe(0);
    await page.getByLabel('Server to connect to').selectOption('prefer-standby');
    await page.getByLabel('Pooling').selectOption('transaction');
    await button('Save and test').click();
    await page.getByText('Saved.').waitFor();
    expect(await settingsOf(sourceId)).toMatchObject({
      hosts: [{ host: 'b.db.example', port: 5_433 }],
      targetSessionAttrs: 'prefer-standby',
      pooling: 'transaction',
    });
    await page.getByLabel('Further servers').fill('c.db.example\n[2001:db8::1]:6000');
    await page.getByLabel('Pooling').selectOption('session (default)');
    await page.getByLabel('User').fill('reader');
    await page.getByLabel('Password').fill('secret');
    await button('Save and test').click();
    await expect
      .poll(() => settingsOf(sourceId))
      .toMatchObject({
        hosts: [
          { host: 'c.db.example', port: 1 },
          { host: '2001:db8::1', port: 6_000 },
        ],
      });
    expect(await settingsOf(sourceId)).not.toHaveProperty('pooling');
  });

  it('adds a bastion to a source', async () => {
    const { page } = shared;
    const sourceId = await make('postgres', {});
    await goTo('source', sourceId, 'settings');
    await page.getByLabel('Through an SSH bastion').check();
    await page.getByLabel('Bastion', { exact: true }).fill('127.0.0.1');
    await page.getByLabel('SSH port').fill('1');
    await page.getByLabel('SSH user').fill('hub');
    await page.getByLabel('Host key').fill('ssh-ed25519');
    await page.getByLabel('SSH password').fill('secret');
    await page.getByLabel('User', { exact: true }).fill('reader');
    await page.getByLabel('Password', { exact: true }).fill('secret');
    await button('Save and test').click();
    await page.getByText('It must be the fingerprint').waitFor();
    const hostKey = `SHA256:${'A'.repeat(43)}`;
    await page.getByLabel('Host key').fill(hostKey);
    await button('Save and test').click();
    await page.getByText('The bastion of the source cannot be reached.').waitFor();
    const { ssh } = await settingsOf(sourceId);
    expect(ssh).toEqual({ host: '127.0.0.1', port: 1, user: 'hub', hostKey, password: '********' });
  });

  it('edits the servers of a MongoDB source', async () => {
    const { page } = shared;
    const sourceId = await make('mongodb', { replicaSet: 'rs0', readPreference: 'secondary' });
    await openSettings(sourceId);
    expect(await page.getByLabel('Replica set').inputValue()).toBe('rs0');
    expect(await page.getByLabel('Pooling').count()).toBe(0);
    await page.getByLabel(/mongodb\+srv/).check();
    expect(await page.getByLabel('Further servers').count()).toBe(0);
    await page.getByLabel('Reads go to').selectOption('nearest');
    await page.getByLabel('Replica set').fill('');
    await page.getByLabel('User').fill('reader');
    await page.getByLabel('Password').fill('secret');
    await button('Save and test').click();
    await expect.poll(() => settingsOf(sourceId)).toMatchObject({ srv: true, readPreference: 'nearest' });
    expect(await settingsOf(sourceId)).not.toHaveProperty('replicaSet');
  });

  it('shows what is wrong at its field, before and after the hub was asked', async () => {
    const { page } = shared;
    await goTo('new-source');
    await button('Test and save').click();
    const host = page.getByLabel('Host', { exact: true });
    await page.locator('input:focus').and(host).waitFor();
    expect(await page.locator('[aria-invalid=true]').count()).toBe(2);
    const address = page.getByLabel('Paste an address');
    await address.fill('no address');
    await page.getByText('An address begins with').waitFor();
    await address.fill('mysql://reader:p%40ss@127.0.0.1:1/shop');
    await page.getByText('Filled from the address of 127.0.0.1.').waitFor();
    const labels = ['Paste an address', 'Host', 'Port', 'Database', 'User', 'Password'];
    const values = labels.map((label) => page.getByLabel(label, { exact: true }).inputValue());
    expect(await Promise.all(values)).toEqual(['', '127.0.0.1', '1', 'shop', 'reader', 'p@ss']);
    expect(await page.locator('[aria-invalid=true]').count()).toBe(0);
    await button('Test and save').click();
    await page.getByText('The hub could not connect to this server.').waitFor();
    expect(await host.getAttribute('aria-invalid')).toBe('true');
    const sourceId = await make('postgres', {});
    await goTo('source', sourceId, 'settings');
    await page.getByText('The hub could not connect to this server.').waitFor();
  });

  it.skipIf(pooler === undefined || !engines.includes('postgres'))(
    'offers the pooling that the server needs (needs PGBOUNCER_TRANSACTION_URL)',
    async () => {
      const { page } = shared;
      const sourceId = await make('postgres', accessOf(pooler as string));
      await goTo('source', sourceId);
      await button('Use transaction pooling').click();
      await page.getByText('Pooling was set to “transaction”.').waitFor();
      await button('Use transaction pooling').waitFor({ state: 'detached' });
      expect(await settingsOf(sourceId)).toMatchObject({ pooling: 'transaction' });
    },
  );

  it('does not offer what the key may not do', async () => {
    const { hubId } = shared;
    const sourceId = await createSource(hubId);
    const label = `read only ${randomBytes(4).toString('hex')}`;
    await api.ok(api.post('/v1/queries', { hubId, sourceId, label, query: 'SELECT 1 AS one' }));
    const scopes = ['hubs:read', 'sources:read', 'queries:read', 'queries:execute'];
    const key = await makeKey(scopes, { hubIds: [hubId] });
    const browser = await openBrowser();
    try {
      const { page } = await openTab(browser, { viewport: { width: 1280, height: 900 } });
      await signIn(page, key);
      await choose(page, label);
      await page.getByText('read-only key').waitFor();
      const named = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
      expect(await named(/^Publish/).getAttribute('title')).toBe('This key lacks the scope queries:write.');
      for (const name of ['Add to Queries', 'Add to Sources', 'Add to Text'])
        expect(await named(name).count()).toBe(0);
      await named('More actions').click();
      expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Copy link']);
      await page.keyboard.press('Escape');
      for (const name of ['Keys', 'Audit', 'Summaries'])
        expect(await page.getByRole('link', { name }).count()).toBe(0);
      await named(/^Run/).click();
      await page.locator('.figures[data-status=done]').waitFor();
    } finally {
      await browser.close();
    }
  });
});
