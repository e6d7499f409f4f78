import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer as createHttpServer, type Server } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Provider from 'oidc-provider';
import { type Browser, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAuthority } from '../../tools/databases/certificates.ts';
import { findCommand } from '../../tools/databases/process.ts';
import { executablePath } from '../support/browser/chromium.ts';
import { database, engines } from '../support/hub.ts';
import { type SpawnedHub, spawnHub } from '../support/spawned.ts';

const audience = 'https://shop.example/api';
const page = await readFile(new URL('../../docs/examples/signed-in.html', import.meta.url), 'utf8');
const engine = engines.find((one) => one !== 'mongodb') as string;

const canRun = executablePath !== undefined && findCommand('openssl') !== undefined;

describe.skipIf(!canRun)('a page with signed-in users (needs Chromium and openssl)', () => {
  const servers: Server[] = [];
  let dir: string;
  let hub: SpawnedHub;
  let browser: Browser;
  let origin: string;
  let queryId: string;
  let html = '';

  const listen = async (server: Server): Promise<number> => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  };

  /** A provider whose users are who they say they are. Its access tokens are signed for the audience. */
  const startProvider = async (tls: { cert: Buffer; key: Buffer }): Promise<string> => {
    let handle: ReturnType<Provider['callback']> | undefined;
    const port = await listen(
      createServer(tls, (request, response) => {
        void handle?.(request, response);
      }) as unknown as Server,
    );
    const provider = new Provider(`https://localhost:${port}`, {
      clients: [
        {
          client_id: 'shop',
          token_endpoint_auth_method: 'none',
          application_type: 'native',
          redirect_uris: [`${origin}/`],
          grant_types: ['authorization_code', 'refresh_token'],
        },
      ],
      clientBasedCORS: () => true,
      issueRefreshToken: async () => true,
      findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
      extraTokenClaims: (_, token) => ({ app: { customer: 'accountId' in token ? token.accountId : null } }),
      features: {
        resourceIndicators: {
          enabled: true,
          defaultResource: () => audience,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({ scope: '', audience, accessTokenFormat: 'jwt' }),
        },
      },
    });
    handle = provider.callback();
    return provider.issuer;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'datahub-openid-'));
    const { ca, cert, key } = await (await createAuthority(dir))({ name: 'server' });
    const serve = createHttpServer((_, response) =>
      response.setHeader('content-type', 'text/html').end(html),
    );
    origin = `http://127.0.0.1:${await listen(serve)}`;
    const issuer = await startProvider({ cert: await readFile(cert), key: await readFile(key) });
    hub = await spawnHub({ NODE_EXTRA_CA_CERTS: ca });
    const { api } = hub;
    const { hubId } = await api.ok(api.post('/v1/hubs', { label: 'shop' }));
    const { host, port, user, password, database: name } = database(engine);
    const connectionSettings = { host, port, database: name, user, password };
    const { sourceId } = await api.ok(
      api.post('/v1/sources', { hubId, label: 's', engine, connectionSettings }),
    );
    const query = `SELECT id, customer FROM (SELECT 1 AS id, 'ada' AS customer UNION ALL SELECT 2, 'bob' UNION ALL SELECT 3, 'ada' UNION ALL SELECT 4, 'eve'
      UNION ALL SELECT 5, 'eve' UNION ALL SELECT 6, 'eve') AS o WHERE customer = :customer AND id > :after ORDER BY id`;
    const context = [{ key: 'after', type: 'bigint', value: 0 }];
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'q', query, context, cache: { maxAgeS: 600 } }),
    );
    queryId = stored.config.query.queryId;
    const claims = { customer: 'app.customer' };
    const limits = { origins: [origin], queryIds: [queryId], user: { issuer, audience, claims } };
    const made = await api.ok(api.post('/v1/keys', { name: 'page', limits }));
    const attributes = { hub: hub.url, key: made.key, query: queryId, issuer, audience, page: '2' };
    html = Object.entries(attributes).reduce(
      (text, [name, value]) => text.replace(new RegExp(`data-${name}="[^"]*"`), `data-${name}="${value}"`),
      page,
    );
    browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] });
  });

  afterAll(async () => {
    await browser?.close();
    await hub?.close();
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
    await rm(dir, { recursive: true, force: true });
  });

  const signIn = async (name: string) => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const tab = await context.newPage();
    await tab.goto(origin);
    await tab.getByRole('button', { name: 'Sign in' }).click();
    await tab.locator('input[name=login]').fill(name);
    await tab.locator('input[name=password]').fill('any');
    await tab.locator('button[type=submit]').click();
    await tab.getByRole('button', { name: 'Continue' }).click();
    await tab.waitForURL(`${origin}/`);
    await tab.waitForFunction(
      "!['Loading …', ''].includes(document.querySelector('#state')?.textContent ?? '')",
    );
    return { tab, close: () => context.close() };
  };
  const cells = async (name: string) => {
    const { tab, close } = await signIn(name);
    const texts = await tab.locator('#rows td').allTextContents();
    await close();
    return texts;
  };

  it('shows two users who sign in at an OpenID provider their own rows, from the database and the cache', async () => {
    const ada = ['1', 'ada', '3', 'ada'];
    expect(await cells('ada')).toEqual(ada);
    expect(await cells('bob')).toEqual(['2', 'bob']);
    expect(await cells('ada')).toEqual(ada);
  });

  it('reads further rows on demand, with a new token if the first has expired', async () => {
    const { tab, close } = await signIn('eve');
    expect(await tab.locator('#state').textContent()).toBe('2 rows, and more');
    const sent: (string | undefined)[] = [];
    await tab.route(`${hub.url}/v1/queries/**`, async (route) => {
      const { authorization } = route.request().headers();
      sent.push(authorization);
      const expired = { status: 401, json: { code: 'TOKEN_INVALID', detail: 'The token has expired.' } };
      const headers = { 'access-control-allow-origin': origin };
      if (authorization === sent[0] && authorization !== undefined)
        await route.fulfill({ ...expired, headers });
      else await route.continue();
    });
    await tab.getByRole('button', { name: 'More' }).click();
    await tab.waitForFunction("document.querySelector('#state')?.textContent === '3 rows'");
    expect(await tab.locator('#rows td').allTextContents()).toEqual(['4', 'eve', '5', 'eve', '6', 'eve']);
    expect(await tab.getByRole('button', { name: 'More' }).isHidden()).toBe(true);
    expect(new Set(sent).size).toBe(2);
    await close();
  });

  it('offers to sign in again if the provider no longer refreshes the token', async () => {
    const { tab, close } = await signIn('eve');
    const headers = { 'access-control-allow-origin': '*' };
    await tab.route(`${hub.url}/v1/queries/**`, (route) =>
      route.fulfill({ status: 401, headers, json: { detail: 'The token has expired.' } }),
    );
    await tab.route('**/token', (route) =>
      route.fulfill({ status: 400, headers, json: { error_description: 'The session has ended.' } }),
    );
    await tab.getByRole('button', { name: 'More' }).click();
    await tab.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await tab.getByRole('alert').textContent()).toContain('The session has ended.');
    await close();
  });
});
