import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type OutgoingHttpHeaders, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import {
  type Agent,
  createAgent,
  oidcSettings,
  startProvider,
  type TestProvider,
} from '../support/browser/provider.ts';
import { createSource } from '../support/hub.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

let provider: TestProvider;
let hub: SpawnedHub;
let origin: string;
const hubIds: string[] = [];

beforeAll(async () => {
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  provider = await startProvider(origin);
  // Operators write the slash that the provider's own name lacks.
  const issuer = { DATAHUB_OIDC_ISSUER: `${provider.issuer}/` };
  hub = await spawnHub({ PORT: String(port), ...oidcSettings(provider, origin), ...issuer });
  for (const label of ['A', 'B', 'C'])
    hubIds.push((await hub.api.ok(hub.api.post('/v1/hubs', { label }))).hubId);
});
afterAll(async () => {
  await hub?.close();
  await provider?.close();
});

const own = { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors' };

async function signIn(who: string, agent = createAgent()): Promise<Agent & { at: string; status: number }> {
  provider.who = who;
  const { url, response } = await agent.visit(`${origin}/auth/login?to=${encodeURIComponent('#/hubs')}`);
  return { ...agent, at: url, status: response.status };
}
const call = async (agent: Agent, path: string, init: RequestInit = {}, headers: object = own) => {
  const body = init.body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await agent.send(`${origin}${path}`, {
    ...init,
    headers: { ...headers, ...body } as never,
  });
  return {
    status: response.status,
    headers: response.headers,
    body: JSON.parse((await response.text()) || '{}'),
  };
};
const grant = (who: object, role: string, hubs?: string[]) =>
  hub.api.ok(hub.api.post('/v1/grants', { who, role, ...(hubs ? { hubIds: hubs } : {}) }));

describe('signing in', () => {
  beforeEach(() => {
    provider.people.set('ada', {
      name: 'Ada Lovelace',
      email: 'Ada@Example.com',
      email_verified: true,
      groups: ['data'],
    });
    provider.people.set('eve', { name: 'Eve <script>', email: 'ada@example.com', email_verified: false });
  });

  it('refuses a person without a role, and lists the person', async () => {
    const { status, cookies } = await signIn('eve');
    expect([status, cookies(origin)]).toEqual([403, '']);
    const people = await hub.api.ok(hub.api.get('/v1/people'));
    expect(people).toMatchObject([{ name: 'Eve <script>', email: null, roles: [], state: 'active' }]);
  });

  it('gives a session in a cookie that scripts cannot read, and leads back to the page', async () => {
    await grant({ group: 'data' }, 'viewer');
    await grant({ email: 'ada@example.com' }, 'editor', [hubIds[0] as string]);
    const ada = await signIn('ada');
    expect(ada.at).toBe(`${origin}/#/hubs`);
    const me = await call(ada, '/v1/people/current');
    expect(me.body).toMatchObject({
      name: 'Ada Lovelace',
      email: 'ada@example.com',
      groups: ['data'],
      roles: [
        { role: 'viewer', hubIds: null },
        { role: 'editor', hubIds: [hubIds[0]] },
      ],
    });
    expect((await call(ada, '/v1/hubs')).body).toHaveLength(3);
    const rename = (hubId: string) =>
      call(ada, `/v1/hubs/${hubId}`, { method: 'PUT', body: JSON.stringify({ label: 'x' }) });
    expect([(await rename(hubIds[0] as string)).status, (await rename(hubIds[1] as string)).status]).toEqual([
      200, 403,
    ]);
    expect((await call(ada, '/v1/keys')).status).toBe(403);
    const { body: entries } = await hub.api.get(`/v1/audit?personId=${me.body.personId}&action=hub.update`);
    expect(entries).toMatchObject([{ resourceId: hubIds[0], person: { name: 'Ada Lovelace' } }]);
  });

  it('lets the tab that began last end its sign-in, when two tabs began one', async () => {
    provider.who = 'ada';
    const agent = createAgent();
    const begin = async () => (await agent.send(`${origin}/auth/login`)).headers.get('location') as string;
    const [first, second] = [await begin(), await begin()];
    expect((await agent.visit(first)).response.status).toBe(401);
    expect((await agent.visit(second)).response.status).toBe(200);
    expect((await call(agent, '/v1/hubs')).status).toBe(200);
  });

  it('ends a session by signing out, everywhere at once, and by the provider', async () => {
    const [one, two] = [await signIn('ada'), await signIn('ada')];
    expect((await call(one, '/auth/logout', { method: 'POST' }, {})).status).toBe(403);
    const secret = one.cookies(origin);
    expect((await call(one, '/auth/logout', { method: 'POST' })).status).toBe(200);
    expect(one.cookies(origin)).toBe('');
    const again = () => hub.api.get('/v1/hubs', { key: '', headers: { ...own, cookie: secret } });
    expect((await again()).status).toBe(401);
    expect((await call(two, '/v1/hubs')).status).toBe(200);
    expect((await call(two, '/v1/people/current/sessions', { method: 'DELETE' })).body.count).toBeGreaterThan(
      0,
    );
    await expect.poll(async () => (await call(two, '/v1/hubs')).status).toBe(401);
    const three = await signIn('ada');
    const logout = async (token: string) =>
      fetch(`${origin}/auth/backchannel-logout`, {
        method: 'POST',
        body: new URLSearchParams({ logout_token: token }),
      });
    for (const change of [
      { aud: 'another' },
      { iss: 'https://id.example' },
      { nonce: 'x' },
      { events: {} },
      { iat: Math.floor(Date.now() / 1_000) - 3_600, exp: undefined },
      { jti: undefined },
    ])
      expect((await logout(await provider.logoutToken({ sub: 'ada' }, change))).status).toBe(401);
    expect((await logout('x')).status).toBe(401);
    // An old message, sent again: it ends nothing that began after it.
    const old = { iat: Math.floor(Date.now() / 1_000) - 500 };
    expect((await logout(await provider.logoutToken({ sub: 'ada' }, old))).status).toBe(200);
    expect((await call(three, '/v1/hubs')).status).toBe(200);
    const json = { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } };
    expect((await fetch(`${origin}/auth/backchannel-logout`, json)).status).toBe(415);
    expect((await call(three, '/v1/hubs')).status).toBe(200);
    // The clock of the provider may differ by a minute.
    const late = { iat: Math.floor(Date.now() / 1_000) + 55 };
    expect((await logout(await provider.logoutToken({ sub: 'ada' }, late))).status).toBe(200);
    await expect.poll(async () => (await call(three, '/v1/hubs')).status).toBe(401);
  });

  it('gives roles and hands keys over from the command line and the API', async () => {
    const program = fileURLToPath(new URL('../../packages/cli/src/main.ts', import.meta.url));
    const env = { ...process.env, DATAHUB_URL: hub.url, DATAHUB_API_KEY: hub.key };
    const run = async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [program, ...args], { env })).stdout;
    provider.people.set('mary', { name: 'Mary', email: 'mary@example.com', email_verified: true });
    const granted = await run('people', 'grant', '--email', 'mary@example.com', '--role', 'admin');
    expect(granted).toContain('mary@example.com is admin in all hubs');
    const mary = await signIn('mary');
    expect(await run('people', 'list')).toContain('admin in all hubs');
    const body = JSON.stringify({ name: 'nightly', scopes: ['hubs:read'] });
    const [kept, lost] = await Promise.all(
      [1, 2].map(() => call(mary, '/v1/keys', { method: 'POST', body })),
    );
    const { personId } = (await call(mary, '/v1/people/current')).body;
    await hub.api.ok(hub.api.put(`/v1/keys/${kept?.body.keyId}`, { personId: null }));
    await hub.api.ok(hub.api.delete(`/v1/people/${personId}`));
    const statusOf = async (key: string) => (await hub.api.get('/v1/hubs', { key })).status;
    expect([await statusOf(kept?.body.key), await statusOf(lost?.body.key)]).toEqual([200, 401]);
    await expect.poll(async () => (await call(mary, '/v1/hubs')).status).toBe(401);
  });

  it('takes the groups of the last sign-in', async () => {
    const ada = await signIn('ada');
    provider.people.set('ada', { name: 'Ada', groups: [] });
    expect((await signIn('ada')).status).toBe(403);
    await expect.poll(async () => (await call(ada, '/v1/hubs')).status).toBe(401);
  });

  it('works after the provider changed its keys', async () => {
    await provider.rotateKeys();
    expect((await signIn('ada')).status).toBe(200);
  });

  it('says so while the provider is away, and keys work', async () => {
    await provider.stop();
    const away = await spawnHub({ PORT: String(await freePort()), ...oidcSettings(provider, origin) });
    const response = await fetch(`${away.url}/auth/login`, { redirect: 'manual' });
    expect([response.status, await response.text()]).toEqual([
      503,
      expect.stringContaining('cannot be reached'),
    ]);
    expect((await away.api.get('/v1/hubs')).status).toBe(200);
    await provider.start();
    expect((await fetch(`${away.url}/auth/login`, { redirect: 'manual' })).status).toBe(303);
    await away.close();
  });
});

describe('a provider that is asked again', () => {
  let asking: SpawnedHub;
  let asked: TestProvider;
  beforeAll(async () => {
    const port = await freePort();
    asked = await startProvider(`http://127.0.0.1:${port}`);
    asking = await spawnHub({
      PORT: String(port),
      ...oidcSettings(asked, `http://127.0.0.1:${port}`),
      DATAHUB_OIDC_SCOPES: 'openid profile email offline_access',
      DATAHUB_OIDC_REFRESH_MS: '1000',
    });
    for (const [who, role] of [
      [{ group: 'data' }, 'editor'],
      [{ subject: 'joan' }, 'viewer'],
    ])
      await asking.api.ok(asking.api.post('/v1/grants', { who, role }));
  });
  afterAll(async () => {
    await asking?.close();
    await asked?.close();
  });
  const signInThere = async () => {
    asked.people.set('joan', { name: 'Joan', groups: ['data'] });
    asked.who = 'joan';
    const agent = createAgent();
    expect((await agent.visit(`${asking.url}/auth/login`)).response.status).toBe(200);
    return async (path: string) => {
      const response = await agent.send(`${asking.url}${path}`, { headers: own });
      return { status: response.status, body: JSON.parse(await response.text()) };
    };
  };

  it('takes a group away, and ends a person whom it no longer knows with all keys', async () => {
    const get = await signInThere();
    const roleNow = async () => (await get('/v1/people/current')).body.roles?.[0].role;
    expect(await roleNow()).toBe('editor');
    asked.people.set('joan', { name: 'Joan', groups: [] });
    await expect.poll(roleNow, { timeout: 120_000 }).toBe('viewer');
    asked.people.delete('joan');
    await expect.poll(async () => (await get('/v1/hubs')).status, { timeout: 120_000 }).toBe(401);
    const [joan] = await asking.api.ok(asking.api.get('/v1/people'));
    expect([joan.state, joan.roles]).toMatchObject(['paused', [{ role: 'viewer', hubIds: null }]]);
    await signInThere();
    expect((await asking.api.ok(asking.api.get('/v1/people')))[0].state).toBe('active');
  });
});

describe('a session', () => {
  it('counts only for requests of the hub’s own pages', async () => {
    provider.people.set('ada', { name: 'Ada', groups: ['data'] });
    const ada = await signIn('ada');
    const cookie = ada.cookies(origin);
    // Without fetch, which sets some of these headers itself.
    const statusWith = async (headers: OutgoingHttpHeaders) => {
      const [response] = await once(request(`${origin}/v1/hubs`, { headers }).end(), 'response');
      response.resume();
      return response.statusCode;
    };
    for (const headers of [
      {},
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' },
      { 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' },
      { 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' },
      { origin: 'https://evil.example' },
      { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'cors', origin: 'https://evil.example' },
      { origin: 'null' },
      // Somebody else set a second one.
      { ...own, cookie: `${cookie}; ${cookie}` },
    ])
      expect(await statusWith({ cookie, ...headers }), JSON.stringify(headers)).toBe(401);
    for (const headers of [own, { origin }]) expect(await statusWith({ cookie, ...headers })).toBe(200);
    // A key wins over the cookie.
    expect(
      (await call(ada, '/v1/keys/current', {}, { ...own, 'x-service-api-key': hub.key })).body.scopes,
    ).toEqual(['*']);
  });

  it('is not begun by another page, and leads nowhere else', async () => {
    provider.who = 'ada';
    const [victim, attacker] = [createAgent(), createAgent()];
    // The attacker's own sign-in up to the answer of the provider.
    let at = `${origin}/auth/login`;
    while (!at.startsWith(`${origin}/auth/callback`)) {
      const location = (await attacker.send(at)).headers.get('location') as string;
      at = new URL(location, at).href;
    }
    expect((await victim.send(at)).status).toBe(401);
    expect(victim.cookies(origin)).toBe('');
    expect((await attacker.send(at)).status).toBe(303);
    // Its code works once.
    expect((await attacker.send(at)).status).toBe(401);
    for (const to of [
      'https://evil.example/',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
      '#\r\nx: y',
    ]) {
      const agent = createAgent();
      expect((await agent.visit(`${origin}/auth/login?to=${encodeURIComponent(to)}`)).url).toBe(`${origin}/`);
    }
  });
});

describe.skipIf(executablePath === undefined)('a person in the console (needs Chromium)', () => {
  it('downloads rows without a navigation, which would give none', async () => {
    const [hubId = ''] = hubIds;
    const sourceId = await createSource(hubId, undefined, hub.api);
    const query = { hubId, sourceId, label: 'q', query: 'SELECT 4711 AS one' };
    const { queryId } = (await hub.api.ok(hub.api.post('/v1/queries', query))).config.query;
    await grant({ subject: 'rosa' }, 'viewer', [hubId]);
    provider.people.set('rosa', { name: 'Rosa' });
    provider.who = 'rosa';
    const context = await (await sharedBrowser()).newContext();
    const page = await context.newPage();
    const to = encodeURIComponent(`#/hub/${hubId}/query/${queryId}`);
    await page.goto(`${origin}/auth/login?to=${to}`);
    await page.getByRole('button', { name: /^Run/ }).click();
    await page.locator('.figures[data-status=done]').waitFor();
    let navigations = 0;
    page.on('request', (request) => {
      if (request.isNavigationRequest() && request.url().startsWith(origin)) navigations++;
    });
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ]);
    expect(await readFile(await file.path(), 'utf8')).toContain('4711');
    expect(navigations).toBe(0);
    const visited = await page.goto(`${origin}/v1/queries/${queryId}/data`);
    expect([visited?.status(), await visited?.text()]).toEqual([401, expect.not.stringContaining('4711')]);
    await context.close();
  });

  it('is offered in each hub what the role in this hub allows', async () => {
    const [read = '', managed = ''] = hubIds;
    await grant({ subject: 'heidi' }, 'viewer', [read]);
    await grant({ subject: 'heidi' }, 'admin', [managed]);
    provider.people.set('heidi', { name: 'Heidi' });
    provider.who = 'heidi';
    const context = await (await sharedBrowser()).newContext();
    const page = await context.newPage();
    await page.goto(`${origin}/auth/login?to=${encodeURIComponent(`#/hub/${managed}`)}`);
    const offered = () => page.getByRole('link', { name: 'Audit' });
    await offered().waitFor();
    await page.goto(`${origin}/#/hub/${read}`);
    await offered().waitFor({ state: 'detached' });
    await page.goto(`${origin}/#/hub/${managed}`);
    await offered().waitFor();
    await context.close();
  });

  it('signs in, gives a role, and signs out', async () => {
    provider.people.set('grace', { name: 'Grace Hopper', groups: ['admins'] });
    await grant({ group: 'admins' }, 'admin');
    provider.who = 'grace';
    const context = await (await sharedBrowser()).newContext();
    const page = await context.newPage();
    await page.goto(`${origin}/#/hubs`);
    await page.getByRole('link', { name: /^Sign in with 127/ }).click();
    await page.getByRole('button', { name: 'Grace Hopper' }).click();
    await page.getByRole('menuitem', { name: 'Roles and sessions …' }).click();
    await page.getByText('admin in all hubs').waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    expect(new URL(page.url()).hash).toBe('#/hubs');
    // Scripts see neither the session nor a key.
    expect(await page.evaluate('document.cookie')).toBe('__Host-datahub-person=1');
    expect(await page.evaluate('Object.keys(sessionStorage)')).toEqual([]);
    await page.goto(`${origin}/#/hub/${hubIds[0]}/people`);
    await page.getByRole('button', { name: 'Give a role' }).click();
    await page.getByLabel('Its name').fill('readers');
    await page.getByLabel('In', { exact: true }).selectOption({ label: 'B' });
    await page.getByRole('dialog').getByRole('button', { name: 'Give the role' }).click();
    await page.getByRole('row', { name: /readers.*viewer.*B/ }).waitFor();
    await page.getByRole('row', { name: /Grace Hopper.*admin in all hubs/ }).waitFor();
    await page.goto(`${origin}/#/hub/${hubIds[0]}/audit`);
    await page.getByRole('row', { name: /Gave a role.*Grace Hopper/ }).waitFor();
    // Another tab of the browser is signed in, too, and out with this one.
    const other = await context.newPage();
    await other.goto(`${origin}/#/hubs`);
    await other.getByRole('button', { name: 'Grace Hopper' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    for (const one of [page, other]) await one.getByRole('link', { name: /^Sign in with/ }).waitFor();
    // Those of the provider are on the same host.
    const left = (await context.cookies(origin)).filter(({ name }) => name.startsWith('__Host-'));
    expect(left).toEqual([]);
    await context.close();
  });
});
