/** Whether the caller of a request that is running may go on. */

import type { Principal } from '@datahub/proto/common/v1/principal';
import { createApiKey, hashApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import { describe, expect, it, vi } from 'vitest';
import { authenticateAgain, createKeyCache } from '../../src/access/authenticate.ts';

const noLimits = { hubIds: [], queryIds: [], classifierIds: [], queries: [], origins: [], contextJson: '' };
const principal: Principal = { accountId: 'a', keyId: 'k', scopes: ['queries:execute'], limits: noLimits };
const key = createApiKey();

/** A request that the key was let in with. */
async function open({ headers = { 'x-service-api-key': key }, bearer = false, deps = {} } = {}) {
  const authenticate = vi.fn(async () => ({ principal, expiresAt: undefined as Date | undefined }));
  let now = 0;
  const options = { catalog: { authenticate }, cacheMs: 60_000, awayMs: 60_000, nowMs: () => now };
  const keyCache = createKeyCache(options);
  const route = { scope: 'queries:execute', bearer };
  const context = { route, principal, refusedAs: undefined as HubError | undefined };
  const request = { method: 'POST', headers, context } as never;
  const ask = () => authenticateAgain(request, { keyCache, ...deps } as never);
  await ask();
  return {
    ask,
    authenticate,
    context,
    forget: () => keyCache.forget(hashApiKey(key)),
    later: (ms: number) => {
      now += ms;
    },
  };
}

const refused = (code: string) => expect.objectContaining({ code });

describe('a caller in the middle of a request', () => {
  it('goes on without a question to the catalog while the key is known', async () => {
    const { ask, authenticate } = await open();
    for (let i = 0; i < 10; i++) await ask();
    expect(authenticate).toHaveBeenCalledTimes(1);
  });

  it('whose key was revoked is refused, and looked up no more', async () => {
    const { ask, authenticate, forget } = await open();
    authenticate.mockRejectedValue(new HubError('KEY_INVALID', 'This key is unknown or was revoked.'));
    forget();
    for (let i = 0; i < 10; i++) await expect(ask()).rejects.toEqual(refused('KEY_INVALID'));
    expect(authenticate).toHaveBeenCalledTimes(2);
  });

  it('whose key has expired is refused from that moment', async () => {
    const { ask, authenticate, forget, later } = await open();
    authenticate.mockResolvedValue({ principal, expiresAt: new Date(1_000) });
    forget();
    later(999);
    await ask();
    later(1);
    await expect(ask()).rejects.toEqual(refused('KEY_EXPIRED'));
  });

  it('goes on after the catalog could not be reached', async () => {
    const { ask, authenticate, forget } = await open();
    authenticate.mockRejectedValueOnce(new HubError('UNAVAILABLE', 'The catalog is away.'));
    forget();
    await expect(ask()).rejects.toEqual(refused('UNAVAILABLE'));
    await ask();
  });

  it('may do what the key may do now', async () => {
    const { ask, authenticate, context, forget } = await open();
    const limited = { ...principal, limits: { ...noLimits, queryIds: ['q'] } };
    authenticate.mockResolvedValue({ principal: limited, expiresAt: undefined });
    forget();
    await ask();
    expect(context.principal).toEqual(limited);
    const reader = { ...principal, scopes: ['hubs:read'] };
    authenticate.mockResolvedValue({ principal: reader, expiresAt: undefined });
    forget();
    await expect(ask()).rejects.toEqual(refused('SCOPE_DENIED'));
  });

  it('is the session of a person, or who has a bearer token where it is a key', async () => {
    const session = await open({ headers: {} as never, deps: { sessionOf: () => key } });
    const bearer = await open({ headers: { authorization: `Bearer ${key}` } as never, bearer: true });
    for (const { ask, authenticate, forget } of [session, bearer]) {
      authenticate.mockRejectedValue(new HubError('KEY_INVALID', 'gone'));
      forget();
      await expect(ask()).rejects.toEqual(refused('KEY_INVALID'));
    }
  });

  it('is refused when the token of its signed-in user has ended', async () => {
    const user = { issuer: 'i', audience: 'a', jwksJson: '', claims: [], public: [] };
    const verify = vi.fn((one: Principal) => one);
    const { ask, authenticate, forget } = await open({ deps: { userTokens: { verify } } });
    authenticate.mockResolvedValue({
      principal: { ...principal, limits: { ...noLimits, user } },
      expiresAt: undefined,
    });
    forget();
    await ask();
    verify.mockImplementation(() => {
      throw new HubError('TOKEN_INVALID', 'The token has expired.');
    });
    await expect(ask()).rejects.toEqual(refused('TOKEN_INVALID'));
  });
});
