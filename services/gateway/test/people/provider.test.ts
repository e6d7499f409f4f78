import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createProvider } from '../../src/people/provider.ts';

/** A provider on this machine, which answers each refresh for this subject. */
let answered = '';
let server: Server;
let issuer: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = { iss: issuer, sub: answered, aud: 'hub', iat: now, exp: now + 60, groups: ['readers'] };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${part({})}`;
    const body = request.url?.startsWith('/token')
      ? { access_token: 'a', token_type: 'bearer', id_token: idToken }
      : { issuer, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/keys` };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

it('takes the answer to a refresh only for the person whom it asked for', async () => {
  const provider = createProvider({
    ...{ issuer, clientId: 'hub', clientSecret: 's', scopes: 'openid offline_access' },
    ...{
      groupsClaim: 'groups',
      account: '',
      refreshMs: 1_000,
      awayMs: 1_000,
      publicOrigin: 'http://localhost',
    },
  });
  answered = 'ann';
  expect(await provider.refresh('token', 'ann')).toMatchObject({ subject: 'ann', groups: ['readers'] });
  answered = 'boss';
  await expect(provider.refresh('token', 'ann')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
