import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Refresh } from '@datahub/proto/catalog/v1/people';
import { pino } from 'pino';
import { afterEach, expect, it } from 'vitest';
import type { OidcSettings } from '../../src/people/oidc-settings.ts';
import { createRefreshRunner } from '../../src/people/refresh-runner.ts';
import { sealToken } from '../../src/people/refresh-tokens.ts';

const closing: (() => unknown)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((close) => close())));

it('asks about all who are due, without a pause between them, and reads the description once', {
  timeout: 20_000,
}, async () => {
  const asked: Record<string, number> = {};
  const provider = createServer(async (request, response) => {
    const path = request.url ?? '';
    asked[path] = (asked[path] ?? 0) + 1;
    const isToken = path === '/token';
    const body = isToken ? { error: 'invalid_grant' } : description;
    response.writeHead(isToken ? 400 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  });
  await once(provider.listen(0, '127.0.0.1'), 'listening');
  closing.push(() => provider.close());
  const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`;
  const description = { issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` };
  const settings: OidcSettings = {
    ...{ issuer, clientId: 'hub', clientSecret: 's', scopes: 'openid offline_access', groupsClaim: 'groups' },
    ...{ account: '', refreshMs: 1_000, awayMs: 1_000, publicOrigin: 'http://localhost' },
  };
  const due = Array.from({ length: 150 }, (_, i): Refresh => {
    const of = { issuer, subject: `u${i}` };
    return { accountId: 'a', personId: `p${i}`, ...of, refreshToken: sealToken(settings, of, 't') };
  });
  const ended: string[] = [];
  const catalog = {
    takeRefreshes: async ({ limit }: { limit: number }) => ({ refreshes: due.splice(0, limit) }),
    endRefresh: async ({ refresh }: { refresh?: Refresh }) => void ended.push(refresh?.subject ?? ''),
  };
  const runner = createRefreshRunner(settings, {
    upstreams: { catalog } as never,
    logger: pino({ enabled: false }),
  });
  closing.push(() => runner.close());
  // Ten at each poll would take fifteen seconds.
  await expect.poll(() => ended.length, { timeout: 12_000, interval: 20 }).toBe(150);
  expect(new Set(ended).size).toBe(150);
  expect(asked['/.well-known/openid-configuration']).toBe(1);
});
