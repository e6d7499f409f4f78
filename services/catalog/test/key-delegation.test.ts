import type { KeyLimitValues } from '@datahub/contract/key-limits';
import { describe, expect, it } from 'vitest';
import { type KeyReach, requireNoMore, requireNoStronger } from '../src/key-delegation.ts';

const reach = (limits: KeyLimitValues = {}, rest: Partial<KeyReach> = {}): KeyReach => ({
  scopes: ['*'],
  limits,
  expiresAt: null,
  ...rest,
});
const makes = (maker: KeyReach, made: KeyReach) => () => requireNoMore(maker, made);
const refusedWith = (message: string) => expect.objectContaining({ code: 'SCOPE_DENIED', message });
const among = (limit: string) =>
  `A key with the limit ${limit} can create only keys whose ${limit} are among its own.`;
const pinned = 'A key that pins variables in context can create only keys that pin them to the same values.';
const atMost = (limit: string, max: number) =>
  `A key with ${limit} ${max} can create only keys with the same ${limit} or less.`;

const user = { issuer: 'i', audience: 'a', claims: [{ variable: 'customer', path: 'sub' }], public: [] };
const limits: KeyLimitValues = {
  hubIds: ['h1', 'h2'],
  queryIds: ['q1', 'q2'],
  origins: ['https://a.example', 'https://b.example'],
  contextJson: '{"tenant":9007199254740993,"region":"north"}',
  ratePerMinute: 10,
  maxRows: 100,
  strict: true,
  user,
};

describe('what a key hands on', () => {
  it('is anything if it has no limits, and its own limits otherwise', () => {
    expect(makes(reach(), reach(limits))).not.toThrow();
    expect(makes(reach(), reach({}, { scopes: ['hubs:read'], expiresAt: 5 }))).not.toThrow();
    expect(makes(reach(limits, { expiresAt: 9 }), reach(limits, { expiresAt: 9 }))).not.toThrow();
  });

  it('may be less', () => {
    const less = {
      hubIds: ['h2'],
      queryIds: ['q1'],
      origins: ['https://b.example'],
      contextJson: '{"more":1, "region":"north", "tenant":9007199254740993}',
      ratePerMinute: 1,
      maxRows: 99,
      strict: true,
      user: { ...user },
    };
    expect(makes(reach(limits, { expiresAt: 9 }), reach(less, { expiresAt: 8 }))).not.toThrow();
  });

  it.each([
    ['hubIds', ['h1', 'h3'], among('hubIds')],
    ['hubIds', [], among('hubIds')],
    ['queryIds', ['q3'], among('queryIds')],
    ['origins', ['https://c.example'], among('origins')],
    ['contextJson', '{"tenant":9007199254740992,"region":"north"}', pinned],
    ['contextJson', '{"tenant":"9007199254740993","region":"north"}', pinned],
    ['contextJson', '{"region":"north"}', pinned],
    ['ratePerMinute', 11, atMost('ratePerMinute', 10)],
    ['maxRows', 101, atMost('maxRows', 100)],
    ['strict', false, 'A key with the limit strict can create only keys with it.'],
    [
      'user',
      { ...user, audience: 'b' },
      'A key with the limit user can create only keys with the same user.',
    ],
    [
      'user',
      { ...user, public: ['q1'] },
      'A key with the limit user can create only keys with the same user.',
    ],
  ])('is not more of %s (%j), nor without', (name, value, message) => {
    const refused = refusedWith(message);
    expect(makes(reach(limits), reach({ ...limits, [name]: value }))).toThrow(refused);
    expect(makes(reach(limits), reach({ ...limits, [name]: undefined }))).toThrow(refused);
  });

  it('is no scope that it does not have', () => {
    const maker = reach({}, { scopes: ['keys:admin', 'hubs:read', 'queries:write'] });
    const refusedScope = (scope: string) =>
      refusedWith(`A key cannot give another key the scope ${scope}, which it does not have itself.`);
    expect(makes(maker, reach({}, { scopes: ['hubs:read'] }))).not.toThrow();
    expect(makes(maker, reach({}, { scopes: ['queries:check'] }))).not.toThrow();
    expect(makes(maker, reach({}, { scopes: ['hubs:read', 'hubs:write'] }))).toThrow(
      refusedScope('hubs:write'),
    );
    expect(makes(maker, reach())).toThrow(refusedScope('*'));
  });

  it('does not outlive it', () => {
    const refused = refusedWith(
      'A key that expires can create only keys that expire no later. Set expiresAt.',
    );
    expect(makes(reach({}, { expiresAt: 9 }), reach({}, { expiresAt: 10 }))).toThrow(refused);
    expect(makes(reach({}, { expiresAt: 9 }), reach())).toThrow(refused);
  });
});

describe('what a key ends', () => {
  it('is itself, and what it could have made', () => {
    const own = reach(limits, { scopes: ['keys:admin'], expiresAt: 9 });
    expect(() => requireNoStronger(own, own)).not.toThrow();
    expect(() => requireNoStronger(own, { ...own, expiresAt: 8 })).not.toThrow();
    expect(() => requireNoStronger(reach(), own)).not.toThrow();
  });

  it.each<[string, KeyReach]>([
    ['scopes', reach(limits, { expiresAt: 9 })],
    ['limits', reach({}, { scopes: ['keys:admin'], expiresAt: 9 })],
    ['time', reach(limits, { scopes: ['keys:admin'] })],
  ])('is none with more %s', (_, other) => {
    const own = reach(limits, { scopes: ['keys:admin'], expiresAt: 9 });
    expect(() => requireNoStronger(own, other)).toThrow(
      refusedWith(
        'A key can change or revoke only keys that may do no more than itself and expire no later.',
      ),
    );
  });
});
