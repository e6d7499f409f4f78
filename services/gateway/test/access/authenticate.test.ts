import { createApiKey } from '@datahub/service-kit/api-key';
import { HubError } from '@datahub/service-kit/call/error';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createKeyCache, type KeyCacheOptions } from '../../src/access/authenticate.ts';
import { requireGranted, requireScope } from '../../src/http/route.ts';

const principal = { accountId: 'a', keyId: 'k', scopes: ['*'], limits: undefined };
const key = createApiKey();

const free = () => {};

describe('a key', () => {
  const authenticate = vi.fn();
  const create = (cacheMs = 1_000, awayMs = 60_000) =>
    createKeyCache({ catalog: { authenticate }, cacheMs, awayMs });

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    vi.advanceTimersByTime(60_000);
    authenticate.mockReset();
    authenticate.mockResolvedValue({ principal, expiresAt: undefined });
  });
  afterEach(() => {
    vi.useRealTimers();
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
    vi.advanceTimersByTime(40);
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('that is known goes on while the catalog is away, but not for ever', async () => {
    const auth = create(10, 60);
    await auth.principalOf(key, free);
    authenticate.mockRejectedValue(new HubError('UNAVAILABLE', 'away'));
    vi.advanceTimersByTime(20);
    expect(await auth.principalOf(key, free)).toEqual(principal);
    vi.advanceTimersByTime(60);
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('is refused from the moment it expires, without asking', async () => {
    const auth = create();
    authenticate.mockResolvedValue({ principal, expiresAt: new Date(Date.now() + 20) });
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(30);
    expect(() => auth.principalOf(key, free)).toThrow(expect.objectContaining({ code: 'KEY_EXPIRED' }));
  });

  it('looks an unknown key up only within its rate, and a known one always', async () => {
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

  it('gets an error that names the fault', async () => {
    const auth = create();
    const missing = { code: 'KEY_MISSING', message: 'Send your key in the header x-service-api-key.' };
    for (const header of [undefined, '']) {
      expect(() => auth.principalOf(header, free)).toThrow(expect.objectContaining(missing));
    }
    const invalid = { code: 'KEY_INVALID', message: 'This key is unknown or was revoked.' };
    expect(() => auth.principalOf('x', free)).toThrow(expect.objectContaining(invalid));
    authenticate.mockResolvedValue({ principal: undefined });
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({
      code: 'INTERNAL',
      message: 'The catalog returned no principal.',
    });
  });

  it('with long limits is dropped for others once they take too much memory', async () => {
    const auth = create();
    const origins = Array.from({ length: 200 }, (_, i) => `https://${i}.${'a'.repeat(280)}.example`);
    authenticate.mockResolvedValue({ principal: { ...principal, limits: { origins } } });
    const keys = Array.from({ length: 600 }, createApiKey);
    for (const each of keys) await auth.principalOf(each, free);
    expect(auth.principalOf(keys.at(-1), free)).not.toBeInstanceOf(Promise);
    expect(auth.principalOf(keys[0], free)).toBeInstanceOf(Promise);
  });

  it('that was refused once is asked for again', async () => {
    const auth = create();
    authenticate.mockRejectedValueOnce(new HubError('KEY_INVALID', 'not yet'));
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'KEY_INVALID' });
    expect(await auth.principalOf(key, free)).toEqual(principal);
  });
});

describe('what is known of a key', () => {
  const authenticate = vi.fn();
  const changed = { ...principal, scopes: ['hubs:read'] };
  const settle = () => vi.advanceTimersByTimeAsync(0);

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance', 'Date', 'setTimeout', 'clearTimeout'] });
    vi.advanceTimersByTime(60_000);
    authenticate.mockReset();
    authenticate.mockResolvedValue({ principal, expiresAt: undefined });
  });
  afterEach(() => void vi.useRealTimers());

  const create = (options: Partial<KeyCacheOptions> = {}) =>
    createKeyCache({ catalog: { authenticate }, cacheMs: 1_000, awayMs: 5_000, ...options });

  it('is asked for anew from half of its time on, once and without anybody waiting', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(499);
    expect(auth.principalOf(key, free)).toEqual(principal);
    expect(authenticate).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(1);
    authenticate.mockResolvedValue({ principal: changed, expiresAt: undefined });
    for (let i = 0; i < 3; i++) expect(auth.principalOf(key, free)).toEqual(principal);
    expect(authenticate).toHaveBeenCalledTimes(2);
    await settle();
    vi.advanceTimersByTime(499);
    expect(auth.principalOf(key, free)).toEqual(changed);
    expect(authenticate).toHaveBeenCalledTimes(2);
    vi.advanceTimersByTime(1);
    expect(auth.principalOf(key, free)).toEqual(changed);
    expect(authenticate).toHaveBeenCalledTimes(3);
  });

  it('is good for its time and not a moment longer', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    authenticate.mockResolvedValue({ principal: changed, expiresAt: undefined });
    vi.advanceTimersByTime(1_000);
    const answer = auth.principalOf(key, free);
    expect(answer).toBeInstanceOf(Promise);
    expect(await answer).toEqual(changed);
  });

  it('is not used beyond its time while the catalog takes long to answer', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(600);
    const question = Promise.withResolvers<unknown>();
    authenticate.mockReturnValue(question.promise);
    expect(auth.principalOf(key, free)).toEqual(principal);
    vi.advanceTimersByTime(400);
    const answer = auth.principalOf(key, free);
    expect(answer).toBeInstanceOf(Promise);
    question.reject(new HubError('KEY_INVALID', 'gone'));
    await expect(answer).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('is forgotten when the catalog refuses the key behind a request’s back', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    authenticate.mockRejectedValue(new HubError('KEY_INVALID', 'gone'));
    vi.advanceTimersByTime(600);
    expect(auth.principalOf(key, free)).toEqual(principal);
    await settle();
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('holds while the catalog is away, for as long as that may be, and is refreshed as soon as it is back', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    authenticate.mockRejectedValue(new HubError('UNAVAILABLE', 'away'));
    vi.advanceTimersByTime(600);
    expect(auth.principalOf(key, free)).toEqual(principal);
    await settle();
    // A refresh that failed does not keep the next one from being tried.
    expect(auth.principalOf(key, free)).toEqual(principal);
    await settle();
    expect(authenticate).toHaveBeenCalledTimes(3);
    vi.advanceTimersByTime(4_399);
    expect(await auth.principalOf(key, free)).toEqual(principal);
    vi.advanceTimersByTime(1);
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    authenticate.mockResolvedValue({ principal: changed, expiresAt: undefined });
    expect(await auth.principalOf(key, free)).toEqual(changed);
  });

  it('delays no call for a catalog that was found away, and asks it again in the background', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(1_000);
    authenticate.mockRejectedValueOnce(new HubError('UNAVAILABLE', 'away'));
    expect(await auth.principalOf(key, free)).toEqual(principal);
    const question = Promise.withResolvers<unknown>();
    authenticate.mockReturnValue(question.promise);
    vi.advanceTimersByTime(999);
    expect(auth.principalOf(key, free)).toEqual(principal);
    vi.advanceTimersByTime(2_000);
    expect(auth.principalOf(key, free)).toEqual(principal);
    expect(authenticate).toHaveBeenCalledTimes(3);
    question.resolve({ principal: changed, expiresAt: undefined });
    await settle();
    expect(await auth.principalOf(key, free)).toEqual(changed);
  });

  it('has a request wait for the catalog when it was found away long ago', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(1_000);
    authenticate.mockRejectedValueOnce(new HubError('UNAVAILABLE', 'away'));
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(1_000);
    authenticate.mockRejectedValueOnce(new HubError('KEY_INVALID', 'gone'));
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'KEY_INVALID' });
  });

  it('is not trusted if the catalog failed in another way', async () => {
    const auth = create();
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(1_000);
    authenticate.mockRejectedValueOnce(new Error('broken'));
    await expect(auth.principalOf(key, free)).rejects.toThrow('broken');
    authenticate.mockRejectedValueOnce(new HubError('UNAVAILABLE', 'away'));
    await expect(auth.principalOf(key, free)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  it('counts from the question, however late the answer', async () => {
    const auth = create();
    authenticate.mockImplementation(async () => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      return { principal, expiresAt: undefined };
    });
    const asked = auth.principalOf(key, free);
    await vi.advanceTimersByTimeAsync(700);
    await asked;
    vi.advanceTimersByTime(300);
    expect(auth.principalOf(key, free)).toBeInstanceOf(Promise);
    await vi.advanceTimersByTimeAsync(700);
  });

  it('ends when the key does, to the millisecond', async () => {
    const at = Date.now();
    const auth = create();
    authenticate.mockResolvedValue({ principal, expiresAt: new Date(at + 100) });
    await auth.principalOf(key, free);
    vi.advanceTimersByTime(99);
    expect(auth.principalOf(key, free)).toEqual(principal);
    vi.advanceTimersByTime(1);
    expect(() => auth.principalOf(key, free)).toThrow(
      expect.objectContaining({ code: 'KEY_EXPIRED', message: 'This key has expired.' }),
    );
  });

  it('is kept for so many keys, the one asked for longest ago making way', async () => {
    const auth = create({ keysMax: 2 });
    const [a, b, c] = [createApiKey(), createApiKey(), createApiKey()] as [string, string, string];
    await auth.principalOf(a, free);
    await auth.principalOf(b, free);
    vi.advanceTimersByTime(600);
    auth.principalOf(a, free);
    await settle();
    await auth.principalOf(c, free);
    expect(auth.principalOf(a, free)).toEqual(principal);
    expect(auth.principalOf(c, free)).toEqual(principal);
    expect(auth.principalOf(b, free)).toBeInstanceOf(Promise);
  });
});

describe('the scopes of a key', () => {
  const requestOf = (scopes: string[] | undefined, scope?: string) =>
    ({ context: { principal: scopes && { scopes }, route: { scope } } }) as never;
  const denied = expect.objectContaining({ code: 'SCOPE_DENIED' });

  it('must have that of the route', () => {
    expect(() => requireScope(requestOf(['hubs:read'], 'hubs:read'))).not.toThrow();
    expect(() => requireScope(requestOf(['*'], 'hubs:read'))).not.toThrow();
    expect(() => requireScope(requestOf(['hubs:write'], 'hubs:read'))).toThrow(denied);
    expect(() => requireScope(requestOf(undefined, 'hubs:read'))).toThrow(denied);
    expect(() => requireScope(requestOf([]))).not.toThrow();
  });

  it('for writes call the routes for reads too, where the executor checks what the query does', () => {
    const writes = ['queries:execute:write'];
    expect(() => requireScope(requestOf(writes, 'queries:execute'))).not.toThrow();
    expect(() => requireGranted(requestOf(writes), 'queries:execute')).toThrow(
      'This needs a key with the scope queries:execute.',
    );
    expect(() => requireGranted(requestOf(writes), 'queries:execute:write')).not.toThrow();
    expect(() => requireScope(requestOf(writes, 'queries:read'))).toThrow(denied);
  });
});
