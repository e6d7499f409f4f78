import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createProvider } from '../../src/people/provider.ts';

/** A provider on this machine, which answers each refresh for this subject. */
let answered = '';
/** What it says of the person beside the token. */
let userInfo: { status: number; body: string } | undefined;
let server: Server;
let issuer: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, sub: answered, aud: 'hub', iat: now, exp: now + 60, groups: ['readers'] };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${part({})}`;
    if (request.url === '/userinfo') {
      response.statusCode = userInfo?.status ?? 200;
      response.setHeader('content-type', 'application/json').end(userInfo?.body);
      return;
    }
    const body = request.url?.startsWith('/token')
      ? { access_token: 'a', token_type: 'bearer', id_token: idToken, refresh_token: 'next' }
      : {
          ...{ issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` },
          ...(userInfo && { userinfo_endpoint: `${issuer}/userinfo` }),
        };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const open = () =>
  createProvider({
    ...{ issuer, clientId: 'hub', clientSecret: 's', scopes: 'openid offline_access' },
    ...{
      groupsClaim: 'groups',
      account: '',
      refreshMs: 1_000,
      awayMs: 1_000,
      publicOrigin: 'http://localhost',
    },
  });
const keep = async () => {};

it('takes the answer to a refresh only for the person whom it asked for', async () => {
  const provider = open();
  answered = 'ann';
  expect(await provider.refresh('token', 'ann', keep)).toMatchObject({ subject: 'ann', groups: ['readers'] });
  answered = 'boss';
  await expect(provider.refresh('token', 'ann', keep)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

it('keeps the token that replaced the used one before it asks for more, of which it reads no more than a megabyte', async () => {
  answered = 'ann';
  const large = JSON.stringify({ sub: 'ann', groups: Array.from({ length: 300_000 }, (_, i) => `g${i}`) });
  for (const one of [
    { status: 503, body: '{}' },
    { status: 200, body: large },
  ]) {
    userInfo = one;
    const kept: string[] = [];
    const asked = open().refresh('token', 'ann', async (next) => void kept.push(next));
    await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(kept).toEqual(['next']);
  }
  userInfo = { status: 200, body: '{"sub": "ann"}' };
  expect(await open().refresh('token', 'ann', keep)).toMatchObject({ refreshToken: 'next' });
});
