import { createApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/error';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createAuth } from './auth.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const key = createApiKey();

const free = () => {};

describe('a key', () => {
  const authenticate = vi.fn();
  const create = (cacheMs = 1_000, awayMs = 60_000) =>
    createAuth({ catalog: { authenticate }, cacheMs, awayMs });

  beforeEach(() => {
    authenticate.mockReset();
    authenticate.mockResolvedValue({ principal, expiresAt: undefined });
  });

  it('is asked for once, however many requests come with it', async () => {
    const auth = create();
    await Promise.all(Array.from({ length: 50 }, () => auth.principalOf(key, free)));
    expect(await auth.principalOf(key, free)).toEqual(principal);
    expect(authenticate).toHaveBeenCalledTimes(1);
    const { keySha256 } = authenticate.mock.calls[0]?.[0] ?? {};
    expect(keySha256).toHaveLength(32);
  });

  it('that no key can be is refused without asking', () => {
    const auth = create();
    for (const bad of ['x', `dhk_${'0'.repeat(38)}`, ['a', 'b'], `${key}\n`]) {
      expect(() => auth.principalOf(bad as string, free)).toThrow(
        expect.objectContaining({ code: 'KEY_INVALID' }),
      );
    }
    expect(() => auth.principalOf(undefined, free)).toThrow(expect.objectContaining({ code: 'KEY_MISSING' }));
    expect(authenticate).not.toHaveBeenCalled();
  });

  it('that was revoked stops working once the answer about it is old', async () => {
    const auth = create(30);
    await auth.principalOf(key, free);
    authenticate.mockRejectedValue(new HubError('KEY_INVALID', 'gone'));
    await new Promise((resolve) => setTimeout(resolve, 40));
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('that is known goes on while the catalog is away, but not for ever', async () => {
    const auth = create(10, 60);
    await auth.principalOf(key, free);
    authenticate.mockRejectedValue(new HubError('UNAVAILABLE', 'away'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await auth.principalOf(key, free)).toEqual(principal);
    await new Promise((resolve) => setTimeout(resolve, 60));
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is refused from the moment it expires, without asking', async () => {
    const auth = create();
    authenticate.mockResolvedValue({ principal, expiresAt: new Date(Date.now() + 20) });
    await auth.principalOf(key, free);
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(() => auth.principalOf(key, free)).toThrow(expect.objectContaining({ code: 'KEY_EXPIRED' }));
  });

  it('looks at an unknown key only where that is tolerated, and at a known one always', async () => {
    const auth = create();
    const held = () => {
      throw new HubError('RATE_LIMITED', 'Too many.');
    };
    for (const header of [undefined, 'x', key]) {
      expect(() => auth.principalOf(header, held)).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    }
    await auth.principalOf(key, free);
    expect(auth.principalOf(key, held)).toEqual(principal);
  });
});
