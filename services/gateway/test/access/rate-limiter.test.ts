import type { FastifyReply } from 'fastify';
import { describe, expect, it } from 'vitest';
import { heldBytes } from '../../../../tests/support/memory.ts';
import { createRateLimiter } from '../../src/access/rate-limiter.ts';

describe('limits', () => {
  const create = (options: { ratePerMinute?: number; bucketsMax?: number } = {}) => {
    let at = 0;
    const headers: Record<string, string> = {};
    const reply = {
      header: (name: string, value: string) => {
        headers[name] = value;
        return reply;
      },
    } as unknown as FastifyReply;
    const limits = createRateLimiter({
      ratePerMinute: 60,
      unknownKeysPerMinute: 5,
      now: () => at,
      ...options,
    });
    const admit = (keyId = 'k', ratePerMinute?: number) =>
      limits.admit(
        {
          accountId: 'a',
          keyId,
          scopes: [],
          limits: {
            hubIds: [],
            queryIds: [],
            classifierIds: [],
            queries: [],
            origins: [],
            contextJson: '',
            ratePerMinute,
          },
        },
        reply,
      );
    return { limits, admit, headers, pass: (ms: number) => (at += ms) };
  };

  it('admit a burst of one minute, then the rate', () => {
    const { admit, pass } = create();
    for (let i = 0; i < 60; i++) admit();
    expect(() => admit()).toThrow(expect.objectContaining({ code: 'RATE_LIMITED', retryAfterMs: 1_000 }));
    pass(1_000);
    admit();
    expect(() => admit()).toThrow();
  });

  it('count each user of a key by itself, in memory that does not depend on the length of names', () => {
    const { limits } = create();
    const reply = { header: () => reply, getHeader: () => undefined } as unknown as FastifyReply;
    const admit = (subject: string) => {
      const user = { issuer: 'https://id.example', subject, claimsJson: '{}' };
      limits.admitUser({ accountId: 'a', keyId: 'k', scopes: [], limits: undefined, user }, 1, reply);
    };
    admit('ada');
    admit('bob');
    expect(() => admit('ada')).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    const before = heldBytes();
    for (let i = 0; i < 1_000; i++) admit(`${i}${'ж'.repeat(4_400)}`);
    expect(heldBytes() - before).toBeLessThan(1_000_000);
  });

  it('count each key by itself, by its own rate if it has one', () => {
    const { admit } = create();
    admit('slow', 1);
    expect(() => admit('slow', 1)).toThrow();
    admit('other', 1);
  });

  it('say in the standard headers what is left', () => {
    const { admit, headers } = create();
    admit('k', 3);
    expect(headers).toEqual({ 'ratelimit-policy': '"default";q=3;w=60', ratelimit: '"default";r=2;t=20' });
  });

  it.each([
    ['malformed', 5, ['chosen', 'random']],
    ['chosen', 5, ['malformed', 'random']],
    ['random', 100, ['malformed', 'chosen']],
  ] as const)(
    'limit an address that sends keys that are %s, and no other keys or address',
    (form, max, others) => {
      const { limits, pass } = create();
      for (let i = 0; i < max; i++) {
        limits.requireFewRefusals('1.2.3.4', form);
        limits.noteRefusedKey('1.2.3.4', form);
      }
      const limited = expect.objectContaining({ code: 'RATE_LIMITED' });
      expect(() => limits.requireFewRefusals('1.2.3.4', form)).toThrow(limited);
      limits.requireFewRefusals('1.2.3.5', form);
      for (const other of others) limits.requireFewRefusals('1.2.3.4', other);
      pass(12_000);
      limits.requireFewRefusals('1.2.3.4', form);
    },
  );

  it('remember only so many keys', () => {
    const { admit } = create({ bucketsMax: 10 });
    for (let i = 0; i < 1_000; i++) admit(`k${i}`, 1);
    admit('k0', 1);
  });
});
