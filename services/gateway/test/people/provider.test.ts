import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import timers from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProvider } from '../../src/people/provider.ts';

/** A provider on this machine, which answers each refresh for this subject. */
let answered = '';
/** What its ID token says of the person beside that. */
let told: object = {};
/** How it answers at the token endpoint next, instead. */
let tokenAnswers: ((request: IncomingMessage, response: ServerResponse) => void)[] = [];
/** What it says of the person beside the token. */
let userInfo: { status: number; body: string } | undefined;
let server: Server;
let issuer: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const now = Math.floor(Date.now() / 1_000);
    const claims = {
      iss: issuer,
      sub: answered,
      aud: 'hub',
      iat: now,
      exp: now + 60,
      groups: ['readers'],
      ...told,
    };
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const idToken = `${part({ alg: 'RS256' })}.${part(claims)}.${part({})}`;
    if (request.url?.startsWith('/none')) {
      response.writeHead(404).end();
      return;
    }
    if (request.url === '/userinfo') {
      response.statusCode = userInfo?.status ?? 200;
      response.setHeader('content-type', 'application/json').end(userInfo?.body);
      return;
    }
    const isToken = request.url?.startsWith('/token');
    const answer = isToken ? tokenAnswers.shift() : undefined;
    if (answer !== undefined) return answer(request, response);
    const body = isToken
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
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

const open = (at = issuer) =>
  createProvider({
    ...{ issuer: at, clientId: 'hub', clientSecret: 's', scopes: 'openid offline_access' },
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

it('says which address is none of a provider', async () => {
  const refused = await open(`${issuer}/none`)
    .begin()
    .catch((err) => err);
  expect(refused).toMatchObject({ code: 'UNAVAILABLE' });
  expect(refused.cause.message).toContain(`${issuer}/none does not describe itself as a provider`);
  expect(refused.cause.message).toContain('HTTP 404');
});

it('takes an address only from the document that says that it is verified', async () => {
  answered = 'ann';
  const emailOf = async (idToken: object, userinfo: object) => {
    [told, userInfo] = [idToken, { status: 200, body: JSON.stringify({ sub: 'ann', ...userinfo }) }];
    return (await open().refresh('token', 'ann', keep))?.email;
  };
  const [boss, mine] = [{ email: 'boss@example.com' }, { email: 'ann@example.com' }];
  const [verified, unverified] = [{ email_verified: true }, { email_verified: false }];
  expect(await emailOf(boss, { ...mine, ...verified })).toBe('ann@example.com');
  expect(await emailOf({ ...mine, ...verified }, boss)).toBe('ann@example.com');
  expect(await emailOf({ ...mine, ...verified }, { ...boss, ...unverified })).toBe('ann@example.com');
  expect(await emailOf({ ...mine, ...unverified }, { ...boss, ...verified })).toBeUndefined();
  expect(await emailOf(verified, boss)).toBeUndefined();
  expect(await emailOf(boss, verified)).toBeUndefined();
  [told, userInfo] = [{}, undefined];
});

type Answer = (typeof tokenAnswers)[number];
const answer =
  (status: number, body: string, type = 'application/json'): Answer =>
  (_, response) =>
    void response.writeHead(status, { 'content-type': type }).end(body);
const refused = answer(400, '{"error":"invalid_grant"}');
const cut: Answer = ({ socket }, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': 500 });
  response.write('{"access_', () => socket.destroy());
};
const lost: [string, Answer][] = [
  ['no answer', ({ socket }) => void socket.destroy()],
  ['half of an answer', cut],
  ['the page of a proxy', answer(503, '<p>busy</p>', 'text/html')],
  ['a page in its place', answer(200, '<p>sign in to the network</p>', 'text/html')],
  ['the JSON of a proxy', answer(502, '{"error":"invalid_grant"}')],
];

describe.each(lost)('%s of the token endpoint', (_, one) => {
  it('is not the answer that it does not know somebody', async () => {
    tokenAnswers = [one];
    const state = { state: 's', nonce: 'n', verifier: 'v' };
    const signedIn = open().complete('/auth/callback?code=c&state=s', state);
    await expect(signedIn).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
  });

  it('is asked for again soon, while the provider may still accept the token', async () => {
    vi.spyOn(timers, 'setTimeout').mockImplementation(async () => undefined);
    syncBuiltinESMExports();
    [userInfo, answered] = [undefined, 'ann'];
    tokenAnswers = [one];
    expect(await open().refresh('token', 'ann', keep)).toMatchObject({ refreshToken: 'next' });
    tokenAnswers = [one, one];
    const asked = open().refresh('token', 'ann', keep);
    await expect(asked).rejects.toMatchObject({ code: 'UNAVAILABLE', retryable: true });
    tokenAnswers = [one, refused];
    expect(await open().refresh('token', 'ann', keep)).toBeUndefined();
  });
});

it('believes the provider that refuses somebody', async () => {
  tokenAnswers = [refused, refused];
  expect(await open().refresh('token', 'ann', keep)).toBeUndefined();
  const signedIn = open().complete('/auth/callback?code=c&state=s', {
    ...{ state: 's', nonce: 'n', verifier: 'v' },
  });
  await expect(signedIn).rejects.toMatchObject({ code: 'KEY_INVALID' });
});
