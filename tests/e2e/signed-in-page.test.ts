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
        },
      ],
      clientBasedCORS: () => true,
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
    const query = `SELECT id, customer FROM (SELECT 1 AS id, 'ada' AS customer UNION ALL SELECT 2, 'bob' UNION ALL SELECT 3, 'ada') AS o
      WHERE customer = :customer ORDER BY id`;
    const stored = await api.ok(
      api.post('/v1/queries', { hubId, sourceId, label: 'q', query, cache: { maxAgeS: 600 } }),
    );
    queryId = stored.config.query.queryId;
    const claims = { customer: 'app.customer' };
    const limits = { origins: [origin], queryIds: [queryId], user: { issuer, audience, claims } };
    const made = await api.ok(api.post('/v1/keys', { name: 'page', limits }));
    const attributes = { hub: hub.url, key: made.key, query: queryId, issuer, audience };
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
});
