import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cliClient } from '@datahub/contract/people/oauth';
import { freePort } from '@datahub/service-kit/process/free-port';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type DistributedHub, startDistributed } from '../../services/hub/src/distributed.ts';
import { createApi } from '../support/api.ts';
import { challenge, fieldsOf, verifier } from '../support/browser/oauth-client.ts';
import { createAgent, oidcSettings, startProvider, type TestProvider } from '../support/browser/provider.ts';
import { hubSettings } from '../support/spawned.ts';

const key = `test-key-${'g'.repeat(40)}`;
const loopback = 'http://127.0.0.1:9/callback';
let dataDir: string;
let provider: TestProvider;
let hub: DistributedHub;
/** The origin that browsers use is that of the first gateway. */
let origin: string;
let other: string;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'datahub-gateways-'));
  const port = await freePort();
  origin = `http://127.0.0.1:${port}`;
  provider = await startProvider(origin);
  provider.people.set('ada', { name: 'Ada' });
  provider.who = 'ada';
  const settings = { ...hubSettings(dataDir, key), PORT: String(port), DATAHUB_EDGE: 'none' };
  hub = await startDistributed({ ...settings, ...oidcSettings(provider, origin) }, 'ignore', {
    replicas: { gateway: 2 },
  });
  other = `http://127.0.0.1:${hub.gateways[1]?.port}`;
  const api = createApi({ url: origin, key });
  await api.ok(api.post('/v1/grants', { who: { subject: 'ada' }, role: 'admin' }));
});
afterAll(async () => {
  await hub?.close();
  await provider?.close();
  await rm(dataDir, { recursive: true, force: true });
});

/** A sign-in that begins at the first gateway and ends at the second. Returns the cookie of the session. */
async function signIn(): Promise<string> {
  const browser = createAgent();
  let at = `${origin}/auth/login`;
  while (!at.startsWith(`${origin}/auth/callback`)) {
    const location = (await browser.send(at)).headers.get('location') as string;
    at = new URL(location, at).href;
  }
  const headers = { cookie: browser.cookies(origin) };
  const answer = await fetch(at.replace(origin, other), { headers, redirect: 'manual' });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, `${origin}/`]);
  const [, cookie = ''] = /(__Host-datahub=[^;]+)/.exec(answer.headers.getSetCookie().join('\n')) ?? [];
  return cookie;
}

const own = (cookie: string) => ({ cookie, 'sec-fetch-site': 'same-origin' });
const statusOf = async (gateway: string, headers: Record<string, string>) =>
  (await fetch(`${gateway}/v1/hubs`, { headers })).status;

/** Asks at the first gateway, and consents at the second. */
async function codeFor(cookie: string): Promise<string> {
  const url = new URL('/oauth/authorize', origin);
  url.search = String(
    new URLSearchParams({
      ...{ response_type: 'code', client_id: cliClient.clientId, redirect_uri: loopback, state: 's' },
      ...{ code_challenge: challenge, code_challenge_method: 'S256', resource: `${origin}/v1` },
    }),
  );
  const page = await fetch(url, { headers: { cookie } });
  const fields = fieldsOf(await page.text());
  fields.set('decision', 'allow');
  const answer = await fetch(`${other}/oauth/authorize`, {
    ...{ method: 'POST', body: fields, redirect: 'manual' },
    headers: { cookie, origin },
  });
  return new URL(answer.headers.get('location') ?? '').searchParams.get('code') as string;
}

async function askForTokens(gateway: string, members: Record<string, string>) {
  const response = await fetch(`${gateway}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams({ client_id: cliClient.clientId, resource: `${origin}/v1`, ...members }),
  });
  return { status: response.status, body: (await response.json()) as Record<string, string> };
}
const redeem = (gateway: string, code: string) =>
  askForTokens(gateway, {
    ...{ grant_type: 'authorization_code', code, redirect_uri: loopback, code_verifier: verifier },
  });

it('signs in over two gateways, and out of both', async () => {
  const cookie = await signIn();
  for (const gateway of [origin, other]) expect(await statusOf(gateway, own(cookie))).toBe(200);
  const out = await fetch(`${origin}/auth/logout`, { method: 'POST', headers: own(cookie) });
  expect(out.status).toBe(200);
  await expect.poll(() => statusOf(other, own(cookie))).toBe(401);
});

it('accepts what another gateway issued: codes, tokens and refresh tokens', async () => {
  const code = await codeFor(await signIn());
  const first = await redeem(origin, code);
  expect(first.status).toBe(200);
  const asKey = ({ access_token: token = '' }: Record<string, string>) => ({ 'x-service-api-key': token });
  for (const gateway of [other, origin]) expect(await statusOf(gateway, asKey(first.body))).toBe(200);
  const refreshed = { grant_type: 'refresh_token', refresh_token: first.body.refresh_token as string };
  const second = await askForTokens(other, refreshed);
  expect(await statusOf(origin, asKey(second.body))).toBe(200);
  await expect.poll(() => statusOf(origin, asKey(first.body))).toBe(401);
  // A code that is used again ends what it gave, wherever.
  expect((await redeem(other, code)).body.error).toBe('invalid_grant');
  await expect.poll(() => statusOf(origin, asKey(second.body))).toBe(401);
});

it('gives tokens for a code once, if both gateways get it at the same time', async () => {
  const code = await codeFor(await signIn());
  const answers = await Promise.all([origin, other, origin, other].map((gateway) => redeem(gateway, code)));
  const given = answers.filter(({ status }) => status === 200);
  expect(given.length).toBeLessThanOrEqual(1);
  for (const { body } of given) {
    const headers = { 'x-service-api-key': body.access_token as string };
    for (const gateway of [origin, other]) await expect.poll(() => statusOf(gateway, headers)).toBe(401);
  }
});
