import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '@datahub/service-kit/process/free-port';
import type { BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executablePath, sharedBrowser } from '../support/browser/chromium.ts';
import { oidcSettings, startProvider, type TestProvider } from '../support/browser/provider.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

/** What a page of somebody else does while an admin is signed in. It gets `hub`, the origin, and `hubId`. */
const scripts: Record<string, string> = {
  'a form that creates a hub': `submit('/v1/hubs', 'application/x-www-form-urlencoded', { label: 'x' })`,
  'a form of plain text that is JSON': `submit('/v1/hubs', 'text/plain', { '{"label":"x","y":"': '"}' })`,
  'a form with files': `submit('/v1/hubs', 'multipart/form-data', { label: 'x' })`,
  'a form that signs out': `submit('/auth/logout', 'application/x-www-form-urlencoded', {})`,
  'a form that says who signed out': `submit('/auth/backchannel-logout', 'application/x-www-form-urlencoded', { logout_token: 'x' })`,
  'a form that consents to an agent': `submit('/oauth/authorize', 'application/x-www-form-urlencoded', { ...consent, decision: 'allow', hub: hubId })`,
  'a form that consents with a key of the attacker': `submit('/oauth/authorize', 'application/x-www-form-urlencoded', { ...consent, key: 'x'.repeat(40) })`,
  'fetch with CORS that reads': `return (await fetch(hub + '/v1/hubs', { credentials: 'include' })).text()`,
  'fetch with CORS that writes': `return (await fetch(hub + '/v1/hubs', { method: 'POST', credentials: 'include', headers: { 'content-type': 'application/json' }, body: '{"label":"x"}' })).text()`,
  'fetch without CORS that writes': `await fetch(hub + '/v1/hubs', { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{"label":"x"}' })`,
  'fetch that deletes': `return (await fetch(hub + '/v1/hubs/' + hubId + '?recursive=true', { method: 'DELETE', credentials: 'include' })).text()`,
  'fetch that ends all sessions': `return (await fetch(hub + '/v1/people/current/sessions', { method: 'DELETE', credentials: 'include' })).text()`,
  'an old request': `const sent = new XMLHttpRequest(); sent.withCredentials = true; sent.open('GET', hub + '/v1/keys', false); sent.send(); return sent.responseText`,
  'a beacon': `navigator.sendBeacon(hub + '/v1/grants', new Blob(['{"who":{"group":"x"},"role":"admin"}'], { type: 'text/plain' }))`,
  'a stream of events': `const stream = new EventSource(hub + '/v1/events', { withCredentials: true }); return new Promise((done) => { stream.onmessage = (event) => done(event.data); stream.onerror = () => done('') })`,
  'a script that is data': `return load('script', '/v1/hubs')`,
  'a frame of the console': `return framed('/')`,
  'a frame of the consent': `return framed('/oauth/authorize?' + new URLSearchParams(consent))`,
  'a frame of the API': `return framed('/v1/hubs')`,
  'a visit of the API': `location = hub + '/v1/hubs'`,
  'a visit of the consent that would send its answer elsewhere': `location = hub + '/oauth/authorize?' + new URLSearchParams({ ...consent, redirect_uri: location.origin + '/stolen' })`,
  'a visit of the sign-in that would lead elsewhere': `location = hub + '/auth/login?to=' + encodeURIComponent(location.origin + '/stolen')`,
  'an answer of the provider to the sign-in of the attacker': `location = hub + '/auth/callback?code=x&state=y'`,
  'a cookie that is set for the hub': `document.cookie = '__Host-datahub=x; Secure; Path=/; Domain=localhost'; document.cookie = '__Host-datahub=x; Secure; Path=/'; location = hub + '/'`,
  'a name that leads to the hub (DNS rebinding)': `return (await fetch(location.origin.replace(/\\d+$/, new URL(hub).port) + '/v1/hubs', { credentials: 'include' })).text()`,
};

const helpers = `
  const consent = { response_type: 'code', client_id: 'datahub-cli', redirect_uri: 'http://127.0.0.1:9/callback', code_challenge: 'x'.repeat(43), code_challenge_method: 'S256', state: 's' };
  const submit = (path, enctype, fields) => {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: hub + path, enctype });
    for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }));
    document.body.append(form);
    form.submit();
  };
  const load = (tag, path) => new Promise((done) => {
    const element = Object.assign(document.createElement(tag), { src: hub + path, onload: () => done('loaded'), onerror: () => done('') });
    document.body.append(element);
  });
  const framed = async (path) => {
    await load('iframe', path);
    try { return frames[frames.length - 1].document.body.innerText } catch { return '' }
  };`;

describe.skipIf(executablePath === undefined)(
  'pages of others while an admin is signed in (needs Chromium)',
  () => {
    let provider: TestProvider;
    let hub: SpawnedHub;
    let attacker: Server;
    let origin: string;
    let hubId: string;
    let port: number;
    let context: BrowserContext;
    let before: string;
    const label = 'the-secret-hub';

    beforeAll(async () => {
      const hubPort = await freePort();
      origin = `http://localhost:${hubPort}`;
      provider = await startProvider(origin);
      hub = await spawnHub({ PORT: String(hubPort), ...oidcSettings(provider, origin) });
      ({ hubId } = await hub.api.ok(hub.api.post('/v1/hubs', { label })));
      await hub.api.ok(hub.api.post('/v1/grants', { who: { subject: 'ada' }, role: 'admin' }));
      provider.people.set('ada', { name: 'Ada' });
      provider.who = 'ada';
      attacker = createServer((_, response) => {
        response.setHeader('content-type', 'text/html').end('<!doctype html><body>Look at this</body>');
      });
      await new Promise<void>((resolve) => attacker.listen(0, '127.0.0.1', resolve));
      ({ port } = attacker.address() as AddressInfo);
      context = await (await sharedBrowser()).newContext();
      const page = await context.newPage();
      await page.goto(`${origin}/auth/login`);
      await page.waitForURL(`${origin}/`);
      before = await stateOf();
    });
    afterAll(async () => {
      await context?.close();
      attacker?.close();
      attacker?.closeAllConnections();
      await hub?.close();
      await provider?.close();
    });

    /** All that an attack could change, and whether the admin is still signed in as before. */
    const stateOf = async () => {
      const lists = ['hubs', 'grants', 'agents', 'keys', 'people'].map(async (name) => {
        const entries: Record<string, unknown>[] = await hub.api.ok(hub.api.get(`/v1/${name}`));
        return entries.map((entry) => entry[`${name === 'people' ? 'person' : name.slice(0, -1)}Id`]);
      });
      const own = context.pages()[0];
      const me = await own?.evaluate(
        `fetch('/v1/people/current').then((r) => r.json()).then((p) => p.name + p.sessions.length)`,
      );
      const read = await own?.evaluate(`fetch('/v1/hubs').then((r) => r.text())`);
      expect(read).toContain(label);
      return JSON.stringify([await Promise.all(lists), me]);
    };

    describe.each([
      ['another site', 'evil.localhost'],
      ['another port of the host', 'localhost'],
    ])('of %s', (_, host) => {
      // At another port of the same host a page can set cookies: give the hub a host of its own (docs/adr/0023-people.md).
      const isSameHost = host === 'localhost';
      const names = Object.keys(scripts).filter(
        (name) => !isSameHost || /consents|plain text|reads$/.test(name),
      );
      it.each(names)('%s', async (name) => {
        const page = await context.newPage();
        const shown: string[] = [];
        page.on('response', async (response) => {
          if (response.url().startsWith(origin)) shown.push(await response.text().catch(() => ''));
        });
        await page.goto(`http://${host}:${port}/`);
        const got = await page
          .evaluate(
            `(async (hub, hubId) => { ${helpers} ${scripts[name]} })(${JSON.stringify(origin)}, ${JSON.stringify(hubId)}).catch(String)`,
          )
          // The page has gone elsewhere.
          .catch(() => '');
        await page.waitForLoadState('networkidle');
        expect(String(got)).not.toContain(label);
        const at = new URL(page.url());
        expect(at.pathname).not.toContain('stolen');
        // A page of the hub may show it to the admin.
        if (at.origin !== origin) expect(await page.content()).not.toContain(label);
        if (/visit of the API|reads|data/.test(name)) expect(shown.join('')).not.toContain(label);
        await page.close();
        expect(await stateOf()).toBe(before);
      });
    });
  },
);
