import type { KeyLimitValues } from '@datahub/contract/key-limits';
import { grantableScopes } from '@datahub/contract/scopes';
import type { UserLimit } from '@datahub/contract/user-limit';
import { hashApiKey, isPossibleKey } from '@datahub/service-kit/api-key';
import { describe, expect, it } from 'vitest';
import { type KeyPatch, makeKey, type NewKey, patchKey, toPrincipal } from '../src/key.ts';

const context = { accountId: 'a', nowMs: 1_000, createId: (kind: string) => `dh.${kind}.1` };
const make = (input: Partial<NewKey> = {}) =>
  makeKey({ name: 'n', scopes: [], limits: {}, expiresAt: null, ...input }, context);
const faultOf = (path: (string | number)[], detail: unknown) =>
  expect.objectContaining({ code: 'VALIDATION', errors: [{ path, detail }] });

describe('a key', () => {
  it('is kept as its hash and last characters alone', () => {
    const { doc, secret } = make({ scopes: ['hubs:read'], limits: { maxRows: 5 }, expiresAt: 2_000 });
    expect(secret).toMatch(/^dhk_/);
    expect(isPossibleKey(secret)).toBe(true);
    expect(doc).toEqual({
      id: 'dh.key.1',
      accountId: 'a',
      version: 1,
      hash: hashApiKey(secret),
      name: 'n',
      scopes: ['hubs:read'],
      limits: { maxRows: 5 },
      lastCharacters: secret.slice(-4),
      createdAt: 1_000,
      expiresAt: 2_000,
      lastUsedAt: null,
    });
    expect(JSON.stringify(doc)).not.toContain(secret.slice(0, -4));
    expect(make().secret).not.toBe(secret);
  });

  it('is refused if a newer version of the hub has limited it', () => {
    const { doc } = make({ limits: { maxRows: 5 } });
    expect(toPrincipal(doc).limits).toMatchObject({ maxRows: 5 });
    const limits = { ...doc.limits, weekdays: [1] } as KeyLimitValues;
    expect(() => toPrincipal({ ...doc, limits })).toThrow(
      expect.objectContaining({ code: 'KEY_INVALID', message: expect.stringContaining('weekdays') }),
    );
  });

  it('pins variables by valid names', () => {
    const contextJson = '{"tenant":7,"_a1":null}';
    expect(make({ limits: { contextJson } }).doc.limits).toEqual({ contextJson });
    for (const name of ['1a', 'tenant ', 'a-b', '', 'x'.repeat(65)]) {
      expect(() => make({ limits: { contextJson: JSON.stringify({ [name]: 1 }) } })).toThrow(
        faultOf(['limits', 'context'], 'holds a name that no variable can have'),
      );
    }
    for (const none of ['[]', 'null', '1', '{']) {
      expect(() => make({ limits: { contextJson: none } })).toThrow(
        faultOf(['limits', 'context'], 'must be a JSON object'),
      );
    }
  });

  it('may be one that the operator brings', () => {
    const secret = 'x'.repeat(40);
    expect(make({ secret })).toMatchObject({
      secret,
      doc: { hash: hashApiKey(secret), lastCharacters: 'xxxx' },
    });
  });

  it('may only execute if no scope is named, and has each scope once', () => {
    expect(make().doc.scopes).toEqual(['queries:execute']);
    expect(make({ scopes: ['hubs:read', 'hubs:read'] }).doc.scopes).toEqual(['hubs:read']);
    for (const scope of grantableScopes) expect(make({ scopes: [scope] }).doc.scopes).toEqual([scope]);
    expect([...grantableScopes].sort()).toEqual(
      [
        ...[
          '*',
          'ai:summarize',
          'keys:admin',
          'keys:read',
          'hubs:read',
          'hubs:write',
          'sources:read',
          'sources:write',
          'destinations:write',
          'watches:read',
          'watches:write',
        ],
        ...[
          'queries:read',
          'queries:check',
          'queries:write',
          'queries:execute',
          'queries:execute:write',
          'classifiers:read',
        ],
        ...['classifiers:write', 'classifiers:train', 'classifiers:predict'],
      ].sort(),
    );
    const detail = `must be one of ${grantableScopes.join(', ')}`;
    expect(() => make({ scopes: ['hubs:read', 'all'] })).toThrow(faultOf(['scopes', 1], detail));
  });

  it('has a name, and ends in the future or never', () => {
    expect(() => make({ name: ' ' })).toThrow(faultOf(['name'], 'must have 1 to 200 characters'));
    for (const expiresAt of [999, 1_000]) {
      expect(() => make({ expiresAt })).toThrow(faultOf(['expiresAt'], 'must lie in the future'));
    }
    expect(make({ expiresAt: 1_001 }).doc.expiresAt).toBe(1_001);
  });

  it.each(['hubIds', 'queryIds', 'origins'] as const)('has at most 200 %s', (list) => {
    const entries = (count: number) => ({ limits: { [list]: Array.from({ length: count }, String) } });
    expect(make(entries(200)).doc.limits[list]).toHaveLength(200);
    expect(() => make(entries(201))).toThrow(faultOf(['limits', list], 'must have at most 200 entries'));
  });

  it('pins no more, and names no longer origins, than can go along with every call', () => {
    const pins = (count: number) => ({ limits: { contextJson: `{"a":"${'x'.repeat(count - 8)}"}` } });
    expect(make(pins(16_384)).doc.limits.contextJson).toHaveLength(16_384);
    expect(() => make(pins(16_385))).toThrow(
      faultOf(['limits', 'context'], 'must have at most 16384 characters of JSON'),
    );
    const comesFrom = (count: number) => ({ limits: { origins: ['https://a', 'x'.repeat(count)] } });
    expect(make(comesFrom(300)).doc.limits.origins).toHaveLength(2);
    expect(() => make(comesFrom(301))).toThrow(
      faultOf(['limits', 'origins'], 'must be of at most 300 characters each'),
    );
  });
});

const user: UserLimit = {
  issuer: 'https://id.example/',
  audience: 'shop',
  claims: [{ variable: 'customer', path: 'sub' }],
  public: [],
};
const ofUsers = (changed: Partial<UserLimit> = {}, limits: KeyLimitValues = {}): Partial<NewKey> => ({
  limits: { queryIds: ['q1', 'q2'], user: { ...user, ...changed }, ...limits },
});

describe('a key for signed-in users', () => {
  const userScopes = ['queries:execute', 'queries:execute:write', 'classifiers:predict', 'ai:summarize'];

  it('has only scopes that cannot reach rows of other users', () => {
    expect(make({ ...ofUsers(), scopes: userScopes }).doc.scopes).toEqual(userScopes);
    const detail = `needs a key that has only scopes of ${userScopes.join(', ')}`;
    for (const scope of grantableScopes.filter((scope) => !userScopes.includes(scope)))
      expect(() => make({ ...ofUsers(), scopes: ['queries:execute', scope] })).toThrow(
        faultOf(['limits', 'user'], detail),
      );
  });

  it('lists its queries, and those that do not use the claims', () => {
    expect(make(ofUsers({ public: ['q2', 'q1'] })).doc.limits.user?.public).toEqual(['q2', 'q1']);
    for (const queryIds of [undefined, []])
      expect(() => make({ limits: { ...(queryIds && { queryIds }), user } })).toThrow(
        faultOf(['limits', 'queryIds'], 'must list the queries of the key, because it has limits.user'),
      );
    expect(() => make(ofUsers({ public: ['q1', 'q3'] }))).toThrow(
      faultOf(['limits', 'user', 'public', 1], 'is not among limits.queryIds'),
    );
  });

  it('pins a variable either to a value or to a claim', () => {
    expect(() => make(ofUsers({}, { contextJson: '{"customer":1}' }))).toThrow(
      faultOf(['limits', 'user', 'claims', 'customer'], 'is pinned by limits.context, too'),
    );
    const limits = make(ofUsers({}, { contextJson: '{"tenant":1}' })).doc.limits;
    expect(limits).toMatchObject({ contextJson: '{"tenant":1}', user });
  });

  it('pins 1 to 20 variables, by valid names', () => {
    const claims = (count: number) =>
      ofUsers({ claims: Array.from({ length: count }, (_, i) => ({ variable: `v${i}`, path: 'sub' })) });
    for (const count of [1, 20]) expect(make(claims(count)).doc.limits.user?.claims).toHaveLength(count);
    for (const count of [0, 21])
      expect(() => make(claims(count))).toThrow(
        faultOf(['limits', 'user', 'claims'], 'must have 1 to 20 variables'),
      );
    expect(() => make(ofUsers({ claims: [{ variable: 'a-b', path: 'sub' }] }))).toThrow(
      faultOf(['limits', 'user', 'claims'], 'holds a name that no variable can have'),
    );
  });

  const https = (length: number) => 'https://'.padEnd(length, 'x');
  it.each<[path: string[], max: number, of: (length: number) => Partial<UserLimit>]>([
    [['issuer'], 300, (length) => ({ issuer: https(length) })],
    [['audience'], 300, (length) => ({ audience: 'x'.repeat(length) })],
    [['jwks'], 1_000, (length) => ({ jwksUrl: https(length) })],
    [['claims', 'v'], 200, (length) => ({ claims: [{ variable: 'v', path: 'x'.repeat(length) }] })],
  ])('has %j of at most %i characters', (path, max, of) => {
    expect(make(ofUsers(of(max))).doc.limits.user).toMatchObject(of(max));
    expect(() => make(ofUsers(of(max + 1)))).toThrow(
      faultOf(['limits', 'user', ...path], `must have 1 to ${max} characters`),
    );
  });

  it('gets the keys of its issuer over https', () => {
    expect(() => make(ofUsers({ issuer: 'http://id.example/' }))).toThrow(
      faultOf(['limits', 'user', 'issuer'], expect.stringContaining('must be an https address')),
    );
    expect(make(ofUsers({ issuer: 'id', jwksUrl: 'https://id.example/keys' })).doc.limits.user).toMatchObject(
      {
        issuer: 'id',
      },
    );
  });
});

describe('a change of a key', () => {
  const limits: KeyLimitValues = { maxRows: 5, contextJson: '{"tenant":1}', hubIds: ['h1'] };
  const { doc } = make({ scopes: ['queries:execute'], limits, expiresAt: 2_000 });
  const change = (patch: Partial<KeyPatch>, key = doc) =>
    patchKey(key, { limits: {}, removedLimits: [], ...patch }, 1_500);

  it('leaves what it does not name', () => {
    expect(change({})).toEqual(doc);
    expect(change({ name: ' m ' })).toEqual({ ...doc, name: 'm' });
    expect(change({ expiresAt: 3_000 })).toEqual({ ...doc, expiresAt: 3_000 });
    expect(change({ expiresAt: null })).toEqual({ ...doc, expiresAt: null });
    expect(change({ limits: { maxRows: 9, strict: true } })).toEqual({
      ...doc,
      limits: { ...limits, maxRows: 9, strict: true },
    });
    const { contextJson: _, ...rest } = limits;
    expect(change({ removedLimits: ['context'] })).toEqual({ ...doc, limits: rest });
    expect(doc.limits).toEqual(limits);
  });

  it('is refused like a new key', () => {
    expect(() => change({ name: '' })).toThrow(faultOf(['name'], 'must have 1 to 200 characters'));
    expect(() => change({ expiresAt: 1_500 })).toThrow(faultOf(['expiresAt'], 'must lie in the future'));
    expect(() => change({ limits: { contextJson: '[]' } })).toThrow(
      faultOf(['limits', 'context'], 'must be a JSON object'),
    );
    expect(() => change({ removedLimits: ['maxRows', 'rows'] })).toThrow(
      faultOf(
        ['removedLimits', 1],
        expect.stringContaining('must be one of hubIds, queryIds, queries, classifierIds, origins, context'),
      ),
    );
  });

  it('leaves a key for signed-in users within its rules', () => {
    const ofUser = make(ofUsers({ public: ['q1'] })).doc;
    expect(() =>
      change({ removedLimits: ['queryIds'] }, { ...ofUser, limits: { queryIds: ['q1'], user } }),
    ).toThrow(faultOf(['limits', 'queryIds'], expect.stringContaining('must list the queries')));
    expect(() => change({ limits: { queryIds: ['q2'] } }, ofUser)).toThrow(
      faultOf(['limits', 'user', 'public', 0], 'is not among limits.queryIds'),
    );
    expect(() => change({ limits: { contextJson: '{"customer":2}' } }, ofUser)).toThrow(
      faultOf(['limits', 'user', 'claims', 'customer'], 'is pinned by limits.context, too'),
    );
    expect(() => change({ limits: { queryIds: ['q1'], user } }, { ...doc, scopes: ['hubs:read'] })).toThrow(
      faultOf(['limits', 'user'], expect.stringContaining('needs a key that has only scopes of')),
    );
    expect(change({ removedLimits: ['user'] }, ofUser).limits).toEqual({ queryIds: ['q1', 'q2'] });
  });
});
