import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { oidcSettings } from '../support/browser/provider.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';
import { clockSettings, setClocks } from './support/clocks.ts';
import {
  type StartProvider,
  startKeycloakRealm,
  startOidcProvider,
  type TestedProvider,
} from './support/providers.ts';

/** Longer than the deadline within which Keycloak has to start, and Maven may have to fetch it before. */
const startTimeoutMs = 600_000;
/** By the back channel. */
const endedWithinMs = 5_000;

describe.skipIf(executablePath === undefined).each<[string, StartProvider]>([
  ['oidc-provider', startOidcProvider],
  ['Keycloak 26', startKeycloakRealm],
])('a person of %s in the console (needs Chromium)', (name, start) => {
  let dir: string;
  let provider: TestedProvider | undefined;
  /** The provider tells it who signed out. Keycloak keeps no session that it could tell of if `offline_access` is asked. */
  let told: SpawnedHub;
  /** It asks the provider every second, with `offline_access`. */
  let asking: SpawnedHub;
  const pages: Page[] = [];

  beforeAll(async () => {
    const ports = [await freePort(), await freePort()];
    const origins = ports.map((port) => `http://127.0.0.1:${port}`);
    dir = await mkdtemp(join(tmpdir(), 'datahub-clocks-'));
    const on = await start(origins);
    provider = on;
    if (on === undefined) return;
    await setClocks(dir, 'hub', [0]);
    const spawn = (at: 0 | 1, settings: Record<string, string>) =>
      spawnHub({
        ...{ PORT: String(ports[at]), ...oidcSettings(on, origins[at] as string), ...clockSettings(dir) },
        ...settings,
      });
    told = await spawn(0, {});
    asking = await spawn(1, {
      DATAHUB_OIDC_SCOPES: 'openid profile email offline_access',
      DATAHUB_OIDC_REFRESH_MS: '1000',
    });
    for (const { api } of [told, asking])
      for (const [who, role] of [
        [{ group: 'data' }, 'editor'],
        [{ subject: on.subject }, 'viewer'],
      ])
        await api.ok(api.post('/v1/grants', { who, role }));
  }, startTimeoutMs);
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.context().close();
  });
  afterAll(async () => {
    await told?.close();
    await asking?.close();
    await provider?.close();
    await rm(dir, { recursive: true, force: true });
  });

  /** A test that counts as skipped if there is no such provider. */
  const withProvider = (what: string, test: (on: TestedProvider) => Promise<void>) =>
    it(what, async (context) => {
      context.skip(provider === undefined, `${name} is missing`);
      await test(provider as TestedProvider);
    });
  const signIn = async (on: TestedProvider, { url }: SpawnedHub): Promise<Page> => {
    const page = await (await (await sharedBrowser()).newContext()).newPage();
    pages.push(page);
    await page.goto(`${url}/#/hubs`);
    await page.getByRole('link', { name: /^Sign in with 127/ }).click();
    await on.enter(page);
    await page.getByRole('button', { name: 'Grace Hopper' }).waitFor();
    return page;
  };
  const rolesIn = async (page: Page): Promise<string> => {
    const me = await page.evaluate(`fetch('/v1/people/current').then((answer) => answer.json())`);
    const { roles = [] } = me as { roles?: { role: string }[] };
    return roles.map(({ role }) => role).join();
  };
  const statusIn = (page: Page) =>
    page.evaluate(`fetch('/v1/hubs').then(({ status }) => status)`) as Promise<number>;
  const makeKey = async (page: Page): Promise<string> => {
    const body = JSON.stringify({ name: 'k', scopes: ['hubs:read'] });
    const sent = `{ method: 'POST', headers: { 'content-type': 'application/json' }, body: ${JSON.stringify(body)} }`;
    const made = await page.evaluate(`fetch('/v1/keys', ${sent}).then((answer) => answer.json())`);
    return (made as { key: string }).key;
  };

  withProvider('has the role of a group, until the group is taken away', async (on) => {
    const page = await signIn(on, asking);
    expect(await rolesIn(page)).toBe('editor');
    await page.getByRole('button', { name: 'Grace Hopper' }).click();
    await page.getByRole('menuitem', { name: 'Roles and sessions …' }).click();
    await page.getByText('editor in all hubs').waitFor();
    await on.setGroups([]);
    await expect.poll(() => rolesIn(page)).toBe('viewer');
    await on.setGroups(['data']);
    await expect.poll(() => rolesIn(page)).toBe('editor');
  });

  withProvider('signs in after the provider changed its keys', async (on) => {
    await on.rotateKeys();
    const page = await signIn(on, told);
    expect(await statusIn(page)).toBe(200);
    // The message that signs out is signed with the new key, too.
    await on.signOut(page);
    await expect.poll(() => statusIn(page)).toBe(401);
  });

  withProvider('is out within five seconds after the provider signed the person out', async (on) => {
    const page = await signIn(on, told);
    await on.signOut(page);
    const began = performance.now();
    await expect.poll(() => statusIn(page)).toBe(401);
    const took = performance.now() - began;
    console.log(`${name}: out ${Math.round(took)} ms after the provider said so`);
    expect(took).toBeLessThan(endedWithinMs);
    await page.reload();
    await page.getByRole('link', { name: /^Sign in with 127/ }).waitFor();
  });

  withProvider('is out with all keys if the provider disables the person', async (on) => {
    await asking.api.ok(asking.api.post('/v1/grants', { who: { subject: on.subject }, role: 'admin' }));
    const page = await signIn(on, asking);
    const key = await makeKey(page);
    const byKey = async () => (await asking.api.get('/v1/hubs', { key })).status;
    expect(await byKey()).toBe(200);
    await on.setDisabled(true);
    await expect.poll(() => statusIn(page)).toBe(401);
    await expect.poll(byKey).toBe(401);
    expect((await asking.api.ok(asking.api.get('/v1/people')))[0].state).toBe('paused');
    await on.setDisabled(false);
    expect(await statusIn(await signIn(on, asking))).toBe(200);
    await expect.poll(byKey).toBe(200);
  });

  withProvider('signs in with a clock that is a minute fast or slow', async (on) => {
    for (const shiftMs of [60_000, -60_000]) {
      await setClocks(dir, 'hub', [shiftMs]);
      const page = await signIn(on, told);
      expect(await statusIn(page)).toBe(200);
      await on.signOut(page);
      await expect.poll(() => statusIn(page)).toBe(401);
    }
    await setClocks(dir, 'hub', [0]);
  });

  withProvider('stays signed in while the provider is down, and nobody else comes in', async (on) => {
    const page = await signIn(on, asking);
    on.network.fault = { resetInAnswerTo: 'grant_type=authorization_code' };
    const other = await (await (await sharedBrowser()).newContext()).newPage();
    pages.push(other);
    await other.goto(`${asking.url}/auth/login`);
    await on.enter(other);
    await other.getByText('The provider for sign-in cannot be reached.').waitFor();
    on.network.fault = 'reset';
    const before = on.network.opened;
    // The hub asks for the person in vain. After a question without an answer it waits a minute.
    await setClocks(dir, 'hub', [61_000]);
    await expect.poll(() => on.network.opened).toBeGreaterThan(before);
    expect([await statusIn(page), await rolesIn(page)]).toEqual([200, 'admin']);
    expect((await asking.api.get('/v1/hubs')).status).toBe(200);
    on.network.fault = 'none';
    await setClocks(dir, 'hub', [0]);
    expect(await statusIn(await signIn(on, asking))).toBe(200);
  });
});
